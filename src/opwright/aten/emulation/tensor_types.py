"""The types ``torch.cuda.FloatTensor`` and its kin: older tests make tensors by them, and set them as the default type.

PyTorch's build for the CPU has these types and refuses to call them. It asks a flag in each type's object, which says
that the type is CUDA's; everything else about the types is as in a build with CUDA.
"""

from __future__ import annotations

import ctypes
import gc
from types import ModuleType

_WORDS = 64
"""How far a type's object is searched, in words: PyTorch's fields follow those of ``PyTypeObject``, about 53 words."""


def complete_tensor_types(torch: ModuleType) -> None:
    """Let the types of dense tensors of `torch.cuda` be called. ``is_cuda`` and their other answers stay."""
    meta = type(torch.FloatTensor)
    kinds = [kind for kind in vars(torch.cuda).values() if type(kind) is meta]
    for kind in kinds:
        if (flag := _flag(kind)) is not None:
            flag.value = False
    # is_cuda would tell the flag: it tells by the name. Python has no other way to the attributes of a static type.
    gc.get_referents(meta.__dict__)[0]["is_cuda"] = property(lambda kind: kind.__module__.startswith("torch.cuda"))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(meta))


def _flag(kind: type) -> ctypes.c_bool | None:
    """Find the flag behind two known fields, the element type and the layout, and before another flag and the name.

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
