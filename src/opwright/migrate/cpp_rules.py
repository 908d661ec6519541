"""Rewriting rules for renamed and removed C++ names.

A rule takes the source, the name, and the range of tokens that matches the name's pattern (start, exclusive end). It
yields edits, or nothing if it doesn't understand the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from opwright.aten.compat.api_changes import Name
from opwright.migrate import blas
from opwright.migrate.cpp_text import CppText
from opwright.sources.cpp.edits import Edit

Rule = Callable[[CppText, Name, int, int], Iterator[Edit]]
_BLAS = re.compile(r"THCudaBlas_([SDH])(gemm|gemv|gemmStridedBatched)(?<!Hgemv)")
_NUMBER = {"S": "float", "D": "double", "H": "at::Half"}


def renamed(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace the last word of the name."""
    del first
    yield source.replaced(behind - 1, behind, name.rename)


def _check(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace an assertion with a condition by ``TORCH_CHECK``."""
    del name, behind
    if source.stream.arguments(first + 1) or not source.is_(first + 1, "("):
        yield source.replaced(first, first + 1, "TORCH_CHECK")


def _fail(macro: str, source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace a macro that always fails by a check of ``false``."""
    del name, behind
    if source.is_(first + 1, "("):
        separator = ", " if source.stream.arguments(first + 1) else ""
        yield source.replaced(first, first + 1, macro)
        yield source.inserted(first + 1, f"false{separator}")


def _data(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Rename ``x.data<T>()`` of a tensor; storages no longer have such a function, so they stay unchanged."""
    del name
    word = behind - 2
    closed = source.behind_template(behind - 1)
    if closed > 0 and source.is_(closed, "(", ")") and not source.is_(first - 3, "storage", "(", ")"):
        yield source.replaced(word, word + 1, "data_ptr")


def _type_of(method: str, source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``type().scalarType()`` in ``x.type().scalarType()``, and similar calls."""
    del name
    if not source.is_(first - 3, "device", "(", ")"):
        yield source.replaced(first + 1, behind, f"{method}()")


def _dispatch(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``x.type()`` by ``x.scalar_type()`` in the arguments of a dispatch macro."""
    del name, behind
    for index in source.dispatched(first):
        yield source.replaced(index, index + 1, "scalar_type")


def _with_half(macro: str, source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace a dispatch macro for half by one that takes ``at::kHalf`` as an argument."""
    del name, behind
    if source.stream.arguments(first + 1):
        yield source.replaced(first, first + 1, macro)
        yield source.inserted(first + 1, "at::kHalf, ")


def _item(kind: str, source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``x.toCInt()`` and similar calls by ``x.item<int>()``."""
    del name
    if source.is_(behind, ")") and source.tokens[first - 1].text in {".", "->"}:
        yield source.replaced(first, first + 1, f"item<{kind}>")


def _to(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``x.toLongTensor()`` and similar calls by ``x.to(at::kLong)``."""
    del name
    kind = source.tokens[first + 1].text.removeprefix("to").removesuffix("Tensor")
    yield source.replaced(first + 1, behind, f"to(at::k{kind})")


def _standard(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace a name by its replacement of today, such as one of the standard library."""
    yield source.replaced(first, behind, name.today)


def _without_state(text: str, source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Rename a function in a call, and remove the call's first argument, the state."""
    del name, behind
    arguments = source.stream.arguments(first + 1)
    if arguments:
        yield source.replaced(first, first + 1, text)
        yield _dropped_first(source, arguments)


def _dropped_first(source: CppText, arguments: list[tuple[int, int]]) -> Edit:
    """Return an edit that removes the first argument of a call, with the comma and the space after it."""
    end = arguments[1][0] if len(arguments) > 1 else arguments[0][1]
    return Edit(source.tokens[arguments[0][0]].start, source.tokens[end].start, "")


def _blas(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    match = _BLAS.fullmatch(source.tokens[first].text)
    if match:
        function = match[2].replace("gemmStridedBatched", "bgemm")
        text = f"at::cuda::blas::{function}<{_NUMBER[match[1]]}>"
        yield from _without_state(text, source, name, first, behind)


def _thrust(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``THCThrustAllocator a(state);`` and ``auto a = THCThrustAllocator(state);``."""
    del name, behind
    opening = first + 1 + (source.tokens[first + 1].kind == "word") if first + 1 < len(source.tokens) else first
    arguments = source.stream.arguments(opening) if source.is_(opening, "(") else []
    if len(arguments) == 1:
        yield source.replaced(first, first + 1, "at::cuda::ThrustAllocator")
        closing = arguments[0][1]
        if opening == first + 1:
            yield _dropped_first(source, arguments)
        else:  # empty parentheses would declare a function
            yield source.replaced(opening, closing + 1, "")


def _extension(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``<torch/torch.h>`` by ``<torch/extension.h>``, which includes pybind11."""
    del name, first, behind
    for index, header in source.includes():
        if header == "torch/torch.h":
            yield source.replaced(index, index + 1, "#include <torch/extension.h>")
            return


def _stream(source: CppText, name: Name, first: int, behind: int) -> Iterator[Edit]:
    """Replace ``at::globalContext().getCurrentCUDAStream()``, including its namespace."""
    if source.is_(first - 1, "::") and source.tokens[first - 2].text in {"at", "torch"}:
        yield source.replaced(first - 2, behind, name.today)


RULES: Mapping[str, Rule] = {
    "AT_ASSERTM": _check,
    "AT_ASSERT": _check,
    "AT_ERROR": partial(_fail, "TORCH_CHECK"),
    "AT_INDEX_ERROR": partial(_fail, "TORCH_CHECK_INDEX"),
    "AT_DISPATCH_*(x.type(), ...)": _dispatch,
    "AT_DISPATCH_ALL_TYPES_AND_HALF": partial(_with_half, "AT_DISPATCH_ALL_TYPES_AND"),
    "AT_DISPATCH_ALL_TYPES_AND_HALF_AND_COMPLEX": partial(_with_half, "AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND"),
    ".data<T>()": _data,
    ".type().is_cuda()": partial(_type_of, "is_cuda"),
    ".type().is_sparse()": partial(_type_of, "is_sparse"),
    ".type().scalarType()": partial(_type_of, "scalar_type"),
    "toCByte": partial(_item, "uint8_t"),
    "toCInt": partial(_item, "int"),
    "toCLong": partial(_item, "int64_t"),
    "toCFloat": partial(_item, "float"),
    "toCDouble": partial(_item, "double"),
    ".toLongTensor()": _to,
    "c10::optional": _standard,
    "c10::nullopt": _standard,
    "c10::make_optional": _standard,
    "c10::guts::make_unique": _standard,
    "c10::guts::to_string": _standard,
    "PYBIND11_MODULE after <torch/torch.h>": _extension,
    "at::globalContext().getCurrentCUDAStream()": _stream,
    "AutoNoGIL": _standard,
    "AutoGIL": _standard,
    "THCState_getCurrentStream": partial(_without_state, "at::cuda::getCurrentCUDAStream"),
    "THCState_getCurrentDeviceProperties": partial(_without_state, "at::cuda::getCurrentDeviceProperties"),
    "THCState_getCurrentBlasHandle": partial(_without_state, "at::cuda::getCurrentCUDABlasHandle"),
    "THCState_getCurrentSparseHandle": partial(_without_state, "at::cuda::getCurrentCUDASparseHandle"),
    "THCState_getNumDevices": partial(_without_state, "c10::cuda::device_count"),
    "THCudaMalloc": partial(_without_state, "c10::cuda::CUDACachingAllocator::raw_alloc"),
    "THCudaFree": partial(_without_state, "c10::cuda::CUDACachingAllocator::raw_delete"),
    "TH<T>Blas_*": blas.gemm,
    "THCudaBlas_*": _blas,
    "THCThrustAllocator": _thrust,
}
