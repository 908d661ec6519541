"""Memory of results whose length the kernel decides (``?K``), and of those that it writes though nobody wants them.

An axis that an optional int decides (``?S = size``) has its length before the kernel runs where that is given.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opwright.errors import KernelError
from opwright.runtime import messages
from opwright.runtime.arguments import memory_for
from opwright.runtime.binding import DTYPES, TORCH_TYPES
from opwright.runtime.layouts import Layout, folded
from opwright.runtime.python.devices import new_tensor
from opwright.signature import Binding, DataAxis, DType, Signature
from opwright.signature.binding import too_large

RESIZE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int64))
BAD_LENGTH, OTHER_LENGTH, NO_MEMORY = 1, 2, 3  # errors that opw_call.resize can return


class Decided:
    """A result whose length the kernel decides, or one that nobody wants.

    Before the kernel calls ``resize``, its sizes are what is given, bounds, or -1.
    """

    def __init__(
        self,
        signature: Signature,
        index: int,
        shape: Sequence[int | DataAxis],
        dtype: DType,
        binding: Binding,
        device: torch.device,
        spans: Sequence[tuple[int, bool]] = (),
    ) -> None:
        """Allocate its memory if all lengths or bounds are known.

        Args:
            signature: the operator's.
            index: its index among the results.
            shape: from `output_shapes`, with all axes that the kernel or an optional int decides.
            dtype: its element type.
            binding: the call's.
            device: where it is.
            spans: if it has groups of axes, those that a kernel's axes stand for, as `folded` takes them.
        """
        self._device, self._spans = device, spans
        self.dtype, self.dims = TORCH_TYPES[dtype], list(shape)
        self.sizes = [_most(dim, binding) if isinstance(dim, DataAxis) else dim for dim in shape]
        if any(size < 0 and not _is_open(dim) for dim, size in zip(shape, self.sizes, strict=True)):
            raise too_large(signature)
        self.resized = False
        self.tensor = None
        if -1 not in self.sizes:
            with memory_for(signature, f"result number {index + 1}", self.sizes, self.dtype):
                self.tensor = self._empty()
        self.is_bounded = self.tensor is not None
        self.is_given = all(dim.name in binding.axes for dim in shape if isinstance(dim, DataAxis) and dim.given)
        self.is_given &= all(dim.given for dim in shape if isinstance(dim, DataAxis))

    def decide(self, given: Sequence[int], known: dict[str, int]) -> int:
        """Set the lengths, one for each decided axis, and add them to `known`; return 0 or an error code."""
        lengths = iter(given)
        for dim, most in zip(self.dims, self.sizes, strict=True):
            if not isinstance(dim, DataAxis):
                continue
            length = next(lengths)
            if length < 0 or (dim.limit is not None and length > most):
                return BAD_LENGTH
            if known.setdefault(dim.name, length) != length:
                return OTHER_LENGTH
        if not self.is_bounded and not self.resized:
            self.sizes = [known[dim.name] if isinstance(dim, DataAxis) else dim for dim in self.dims]
            self.tensor = self._empty()
        self.resized = True
        return 0

    def seen(self) -> Layout:
        """Return its axes as the kernel sees them."""
        strides = self.tensor.stride() if self.tensor is not None else [0] * len(self.sizes)
        layout = Layout(tuple(self.sizes), tuple(strides))
        merged = folded(layout, self._spans) if self._spans else layout
        assert merged is not None  # noqa: S101 - it is row-major
        return merged

    def _empty(self) -> torch.Tensor:
        return new_tensor(self.sizes, self.dtype, self._device)

    def result(self, known: dict[str, int]) -> torch.Tensor:
        """Return the part that the kernel has filled."""
        assert self.tensor is not None  # noqa: S101 - it has been resized
        rest = self.tensor
        for axis, dim in enumerate(self.dims):
            if isinstance(dim, DataAxis):
                rest = rest.narrow(axis, 0, known[dim.name])
        return self.tensor if rest.shape == self.tensor.shape else rest.clone(memory_format=torch.contiguous_format)


class Lengths:
    """The data-dependent results of one call, by their index among all tensors."""

    def __init__(
        self,
        signature: Signature,
        decided: dict[int, Decided],
        rows: Any,
        unwanted: Callable[[int], Decided],
        given: Mapping[str, int],
    ) -> None:
        """Store the call's tensors.

        `rows`: the ``opw_tensor`` of each, updated when a result gets its memory; `unwanted`: allocates a result that
        nobody wants, by its index among all tensors; `given`: the lengths that arguments decide.
        """
        self._signature, self._decided, self._rows = signature, decided, rows
        self._allocate, self._unwanted = unwanted, dict[int, Decided]()
        self._known = dict(given)
        self._sizes: list[array[int]] = []  # the rows point into these

    def resize(self, _context: int | None, index: int, lengths: Any) -> int:
        """Implement ``opw_call.resize``."""
        try:
            if not lengths:
                self._unwanted[index] = self._allocate(index)
                self.show(index, self._unwanted[index])
                return 0
            decided = self._decided.get(index) or self._unwanted.get(index)
            if decided is None:  # a result that isn't wanted
                return 0
            count = sum(isinstance(dim, DataAxis) for dim in decided.dims)
            had = decided.tensor
            status = decided.decide(lengths[:count], self._known)
            if decided.tensor is not None and decided.tensor is not had:
                self.show(index, decided)
        except Exception:  # noqa: BLE001 - the caller is the kernel, which raises its own error
            return NO_MEMORY
        return status

    def show(self, index: int, decided: Decided) -> None:
        """Write a result's memory and sizes into its row."""
        row, tensor = self._rows[index], decided.tensor
        layout = decided.seen()
        sizes = array("q", [*layout.sizes, *layout.strides])
        self._sizes.append(sizes)
        at, rank = sizes.buffer_info()[0], len(layout.sizes)
        row.present, row.dtype = 1, DTYPES[decided.dtype].code
        row.ndim, row.sizes, row.strides = rank, at, at + 8 * rank
        row.numel = tensor.numel() if tensor is not None else 0
        row.data = tensor.data_ptr() if tensor is not None and row.numel else None

    def results(self) -> dict[int, torch.Tensor]:
        """Return the results by index, after the kernel has run; raise KernelError if it didn't resize one."""
        first = len(self._signature.tensors)
        for index, decided in self._decided.items():
            if not (decided.resized or decided.is_given):
                text = messages.NOT_RESIZED.format(name=self._signature.shown_name, result=index - first + 1)
                raise KernelError(text)
        return {index: decided.result(self._known) for index, decided in self._decided.items()}


def _is_open(dim: int | DataAxis) -> bool:
    return isinstance(dim, DataAxis) and dim.limit is None


def _most(dim: DataAxis, binding: Binding) -> int:
    if dim.given:
        return binding.axes.get(dim.name, -1)
    return -1 if dim.limit is None else dim.limit.evaluate(binding.axes)
