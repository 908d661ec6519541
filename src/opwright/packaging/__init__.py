"""From a project's kernels to a wheel: a plug-in of setuptools, and what looks into the wheels that come of it.

Nothing here imports PyTorch: a package of kernels is built without it. What such a package does when it is imported is
in `opwright.runtime.shipped`.
"""
