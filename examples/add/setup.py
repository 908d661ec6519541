"""A setup.py in the style of 2017: `opwright run setup.py install`, or `opwright run -m pip install .`."""

import os

from setuptools import find_packages, setup

here = os.path.dirname(os.path.abspath(__file__))

setup(
    name="adding",
    version="0.1",
    description="Two tensors, added in C",
    packages=find_packages(include=["adding", "adding.*"]),
    setup_requires=["cffi>=1.0.0"],
    install_requires=["cffi>=1.0.0"],
    ext_package="",
    cffi_modules=[os.path.join(here, "build_package.py:ffi")],
)
