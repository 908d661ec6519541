"""Addition of two tensors in C."""

from ._ext import my_lib
from .functional import Add, add
from .modules import MyAddModule

__all__ = ["Add", "MyAddModule", "add", "my_lib"]
