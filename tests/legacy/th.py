"""Calling any function of the TH library from Python, on tensors of its own; what it throws becomes `THError`.

What C sees is compared with PyTorch, so nothing here goes through the callables that extensions get. A small C++
library, made of the headers' prototypes, calls through a pointer and catches.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable
from typing import Any

import cffi
import torch
from torch import Tensor

from opwright.legacy.th_library import load_library
from opwright.toolchain import Options, Unit, build
from tests.legacy.headers import declarations

DTYPES = {
    torch.float64: "Double",
    torch.float32: "Float",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
}
_SHIM = r"""
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

template <class R, class... A, std::size_t... I>
void apply(R (*f)(A...), void **arguments, void *result, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) f(*static_cast<A *>(arguments[I])...);
  else *static_cast<R *>(result) = f(*static_cast<A *>(arguments[I])...);
}

template <class R, class... A>
int attempt(void *f, void **arguments, void *result, char *text) {
  try {
    apply(reinterpret_cast<R (*)(A...)>(f), arguments, result, std::index_sequence_for<A...>());
    return 0;
  } catch (const std::exception &error) {
    std::snprintf(text, 1000, "%s", error.what());
    return 1;
  }
}

extern "C" {
"""


class THError(Exception):
    """What TH threw, with its text."""


def _plain(kind: Any) -> str:
    """The C++ type of an argument; all pointers are the same to a call."""
    return "void *" if kind.kind == "pointer" else str(kind.cname)


class TH:
    """The library's functions, each with the prototype that the headers give it."""

    def __init__(self, text: str = "") -> None:
        text = text or declarations()
        self.ffi = cffi.FFI()
        self.ffi.cdef(text)
        self.functions = self.ffi.dlopen(str(load_library().path))
        names = re.findall(r"\b(\w+)\s*\(", text)
        self._types = {name: self.ffi.typeof(function) for name in set(names) if (function := self._pointer(name))}
        signatures = sorted({_signature(kind) for kind in self._types.values() if _can_be_called(kind)})
        self._index = {signature: f"attempt_{number}" for number, signature in enumerate(signatures)}
        shim = build(Unit("th-shim", _shim_text(self._index)), Options(std="c++20", extra_cflags=("-O0",)))
        self._shim_ffi = cffi.FFI()
        self._shim_ffi.cdef("".join(f"int {name}(void *, void **, void *, char *);" for name in self._index.values()))
        self._shim = self._shim_ffi.dlopen(str(shim.path))

    def _pointer(self, name: str) -> Any:
        try:
            function = getattr(self.functions, name)
        except AttributeError:
            return None
        return function if self.ffi.typeof(function).kind == "function" else None

    def call(self, name: str, *arguments: Any) -> Any:
        """Call it; what it returns.

        Raises:
            THError: it threw.
        """
        return self._call(self.ffi, getattr(self.functions, name), self._types[name], arguments)

    def call_pointer(self, ffi: Any, function: Any, *arguments: Any) -> Any:
        """Call a function of another library; one of TH's must have a prototype like its own.

        Raises:
            THError: it threw.
        """
        return self._call(ffi, function, ffi.typeof(function), arguments)

    def _call(self, ffi: Any, function: Any, kind: Any, arguments: tuple[Any, ...]) -> Any:
        assert len(arguments) == len(kind.args), f"{kind} doesn't take {len(arguments)} arguments"
        cells = [self._cell(wanted, value) for wanted, value in zip(kind.args, arguments, strict=True)]
        result = None if kind.result.kind == "void" else self.ffi.new(f"{kind.result.cname}[1]")
        text = self.ffi.new("char[1000]")
        pointers = self.ffi.new("void *[]", cells or 1)
        attempt = getattr(self._shim, self._index[_signature(kind)])
        address = self.ffi.cast("void *", int(ffi.cast("uintptr_t", function)))
        if attempt(address, pointers, result if result is not None else self.ffi.NULL, text):
            raise THError(self.ffi.string(text).decode())
        return None if result is None else result[0]

    def _cell(self, wanted: Any, value: Any) -> Any:
        if isinstance(value, Held):
            value = value.pointer
        if wanted.kind != "pointer":
            return self.ffi.new(f"{wanted.cname}[1]", [value])
        return self.ffi.new("void *[1]", [self.ffi.NULL if value is None else self.ffi.cast("void *", value)])

    def tensor(self, value: Tensor) -> Held:
        """A tensor of TH's own with the layout and all the memory of `value`."""
        return Held(self, value)

    def sizes(self, sizes: Iterable[int]) -> Any:
        """A THLongStorage of these sizes."""
        numbers = list(sizes)
        made = self.call("THLongStorage_newWithSize", len(numbers))
        for position, number in enumerate(numbers):
            made.data[position] = number
        return made


class Held:
    """A tensor in C: made of one of PyTorch's, freed with this object."""

    def __init__(self, th: TH, value: Tensor | None, pointer: Any = None, dtype: torch.dtype | None = None) -> None:
        self.th, self.dtype = th, dtype or (value.dtype if value is not None else torch.float32)
        self.name = f"TH{DTYPES[self.dtype]}Tensor"
        self.pointer = pointer if pointer is not None else self._made(value)

    def _made(self, value: Tensor | None) -> Any:
        if value is None or (value.numel() == 0 and value.shape == (0,)):
            return self.th.call(f"{self.name}_new")
        memory = _memory_of(value)
        storage = self.th.call(f"{self.name[:-6]}Storage_newWithSize", memory.numel())
        if memory.numel():
            self.th.ffi.memmove(storage.data, memory.numpy(), memory.numel() * memory.element_size())
        shape, strides = (
            self.th.ffi.new("int64_t[]", list(value.shape)),
            self.th.ffi.new("int64_t[]", list(value.stride())),
        )
        made = self.th.call(
            f"{self.name}_newWithStorageNd", storage, value.storage_offset(), value.dim(), shape, strides
        )
        self.th.call(f"{self.name[:-6]}Storage_free", storage)
        return made

    def memory(self) -> Tensor:
        """A copy of all of its storage."""
        storage = self.pointer.storage
        if not storage.size:
            return torch.empty(0, dtype=self.dtype)
        count = storage.size * self.dtype.itemsize
        return torch.frombuffer(bytearray(self.th.ffi.buffer(storage.data, count)), dtype=self.dtype)

    def value(self) -> Tensor:
        """What C sees, copied; a tensor of no dimension is the empty one."""
        rank = self.pointer.nDimension
        shape, strides = list(self.pointer.size[0:rank]), list(self.pointer.stride[0:rank])
        if rank == 0 or 0 in shape:
            return torch.empty(shape or (0,), dtype=self.dtype)
        return self.memory().as_strided(shape, strides, self.pointer.storageOffset)

    def __del__(self) -> None:
        # Of THC, one in a reference cycle may be left until CUDA's memory isn't the CPU's any more.
        with contextlib.suppress(THError):
            self.th.call(f"{self.name}_free", self.pointer)


def _memory_of(value: Tensor) -> Tensor:
    return torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())


def _can_be_called(kind: Any) -> bool:
    return not kind.ellipsis and all(
        each.kind in {"pointer", "primitive", "void"} for each in (*kind.args, kind.result)
    )


def _signature(kind: Any) -> str:
    return ", ".join(_plain(each) for each in (kind.result, *kind.args))


def _shim_text(index: dict[str, str]) -> str:
    calls = [
        f"int {name}(void *f, void **a, void *r, char *t) {{ return attempt<{signature}>(f, a, r, t); }}\n"
        for signature, name in index.items()
    ]
    visible = '__attribute__((visibility("default"))) '
    return _SHIM + "".join(visible + each for each in calls) + "}\n"


@functools.cache
def th() -> TH:
    """The library, loaded once."""
    return TH()
