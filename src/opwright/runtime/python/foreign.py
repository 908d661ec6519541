"""Tensors over memory of a device that only its address is known of: by DLPack's structures, which PyTorch reads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

import torch

_KINDS = {torch.float16: 2, torch.float32: 2, torch.float64: 2, torch.bfloat16: 4}
_CUDA, _PRIVATE = 2, 12  # kDLCUDA; kDLExtDev, by which PyTorch means PrivateUse1
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """``DLTensor`` and, behind it, the rest of ``DLManagedTensor``."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
    )


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]


def tensor_at(
    address: int, sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A tensor over memory that somebody else keeps, for as long as the call that this belongs to."""
    axes = c_int64 * len(sizes)
    kept = _Tensor(
        data=address,
        device_type=_CUDA if device.type == "cuda" else _PRIVATE,
        device_id=device.index or 0,
        ndim=len(sizes),
        code=_KINDS[dtype],
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=axes(*sizes),
        strides=axes(*strides),
    )
    found: Any = torch.utils.dlpack.from_dlpack(_capsule(ctypes.addressof(kept), _NAME, None))
    found.kept = kept  # PyTorch reads sizes once; the structure has no deleter, and lives as long as the tensor
    tensor: torch.Tensor = found
    return tensor
