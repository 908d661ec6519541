"""Building wheels of kernels: a plug-in for setuptools, and an audit of wheels.

Nothing here imports PyTorch: a package of kernels is built without it. The code that runs when such a package is
imported is in `opwright.runtime.load.installed`.
"""
