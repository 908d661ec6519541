"""The types ``torch.cuda.FloatTensor`` and its kin: older tests make tensors by them, and set them as the default type.

PyTorch's build for the CPU has these types and refuses to call them. It asks a flag in each type's object, which says that
the type is CUDA's; everything else about the types is as in a build with CUDA.
"""

from __future__ import annotations

import ctypes
import gc
from types import ModuleType

_WORDS = 128
"""How far a type's object is searched, in words: PyTorch's fields follow those of Python's ``PyTypeObject``, about 52 words."""


def complete_tensor_types(torch: ModuleType) -> None:
    """Let the types of dense tensors of `torch.cuda` be called. They keep their answers, that of ``is_cuda`` among them."""
    meta = type(torch.FloatTensor)
    kinds = [kind for kind in vars(torch.cuda).values() if type(kind) is meta]
    for kind in kinds:
        if (flag := _flag(kind)) is not None:
            flag.value = False
    # The flag is what is_cuda tells, so is_cuda tells by the name. Python has no other way to an extension's static type.
    gc.get_referents(meta.__dict__)[0]["is_cuda"] = property(lambda kind: kind.__module__.startswith("torch.cuda"))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(meta))


def _flag(kind: type) -> ctypes.c_bool | None:
    """Find the flag between two known fields: the element type and the layout before it, the name after it and another flag.

    Return None where they don't stand so: then PyTorch goes on refusing the type.
    """
    words = (ctypes.c_size_t * _WORDS).from_address(id(kind))
    before = (id(kind.dtype), id(kind.layout))  # type: ignore[attr-defined]
    for i in range(_WORDS - 2):
        if (words[i], words[i + 1]) == before:
            at = id(kind) + (i + 2) * ctypes.sizeof(ctypes.c_size_t)
            name = f"{kind.__module__}.{kind.__name__}".encode()
            return ctypes.c_bool.from_address(at) if ctypes.string_at(at + 2) == name else None
    return None
