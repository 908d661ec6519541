"""The extension; everything else stands in pyproject.toml."""

from __future__ import annotations

from opwright.cpp_extension import BuildExtension, CppExtension
from setuptools import setup

setup(
    ext_modules=[CppExtension("my_op._C", ["csrc/my_op.cpp"])],
    cmdclass={"build_ext": BuildExtension},
)
