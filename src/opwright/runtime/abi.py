"""The structures of ``include/opwright/abi.h``, for ctypes."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

VERSION = 1
WITHOUT_DEVICE = -1

ENTRY = ctypes.CFUNCTYPE(c_int32, c_void_p)


@functools.cache
def array_type(of: Any, length: int) -> Any:
    """Return a cached array type: creating one, which ctypes does unless it is kept, takes longer than a call."""
    return of * length


def address(function: Any) -> int | None:
    """Return the address of a C function; `ctypes.cast` would make a reference cycle."""
    return c_void_p.from_buffer(function).value


class KernelRow(ctypes.Structure):
    """``opw_kernel``."""

    _fields_ = (
        ("name", c_char_p),
        ("instance", c_char_p),
        ("device", c_char_p),
        ("entry", c_void_p),
        ("strided", c_uint64),
    )


class LibraryTable(ctypes.Structure):
    """``opw_library``."""

    _fields_ = (
        ("size", c_size_t),
        ("abi_version", c_int32),
        ("count", c_int32),
        ("kernels", ctypes.POINTER(KernelRow)),
    )


class TensorRow(ctypes.Structure):
    """``opw_tensor``."""

    _fields_ = (
        ("data", c_void_p),
        ("sizes", c_void_p),
        ("strides", c_void_p),
        ("numel", c_int64),
        ("ndim", c_int32),
        ("dtype", c_int32),
        ("present", c_int32),
        ("is_list", c_int32),
    )


class Scalar(ctypes.Union):
    """``opw_scalar``."""

    _fields_ = (("f", c_double), ("i", c_int64), ("s", c_char_p))


class Rng(ctypes.Structure):
    """``opw_rng``."""

    _fields_ = (("seed", c_uint64), ("offset", c_uint64), ("seed_pointer", c_void_p), ("offset_pointer", c_void_p))


class Call(ctypes.Structure):
    """``opw_call``, with functions as addresses."""

    _fields_ = (
        ("size", c_size_t),
        ("tensors", ctypes.POINTER(TensorRow)),
        ("scalars", ctypes.POINTER(Scalar)),
        ("axes", ctypes.POINTER(c_int64)),
        ("stream", c_void_p),
        ("device_index", c_int32),
        ("reserved", c_int32),
        ("fail", c_void_p),
        ("fail_context", c_void_p),
        ("rng", ctypes.POINTER(Rng)),
        ("resize", c_void_p),
        ("resize_context", c_void_p),
    )


class Host(ctypes.Structure):
    """``opw_host``, with functions as addresses."""

    _fields_ = (
        ("size", c_size_t),
        ("abi_version", c_int32),
        ("reserved", c_int32),
        ("parallel_for", c_void_p),
        ("num_threads", c_void_p),
        ("allocate", c_void_p),
        ("release", c_void_p),
        ("gemm", c_void_p),
    )
