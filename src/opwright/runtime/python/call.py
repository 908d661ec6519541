"""One call of a kernel: results allocated, ``opw_call`` filled in, the entry called without the GIL."""

from __future__ import annotations

import contextlib
import ctypes
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opwright.errors import KernelError
from opwright.runtime import abi
from opwright.runtime.fake import DTYPES, TORCH_TYPES
from opwright.runtime.layouts import Layout
from opwright.runtime.python.accelerator import accelerator, key_of
from opwright.runtime.python.arguments import Arguments
from opwright.runtime.python.decided import RESIZE, Decided, Lengths
from opwright.runtime.python.interrupts import Mark, note, signals_held, taken
from opwright.runtime.python.values import memory_for, too_large
from opwright.signature import Binding, DataAxis, Signature, TensorParam, output_shapes, output_types

_LARGEST = 2**63 - 1
_FULL_RANGE = -(2**63)
_FAIL = ctypes.CFUNCTYPE(None, Mark, ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True)
class Instance:
    """A kernel for given element types, in an open library."""

    entry: Any
    strided: int  # bit i: tensor i may have any strides


class Frame:
    """The tensors of one call as a kernel sees them, and what is done to them before and after it."""

    _copied = "a contiguous copy"

    def __init__(
        self, signature: Signature, call: Arguments, binding: Binding, returned: int, device: torch.device
    ) -> None:
        """`returned`: how many of the results the operator returns; `device`: where the tensors are."""
        self._signature, self._call, self._binding = signature, call, binding
        self._inputs: list[torch.Tensor | None] = []
        self._back: list[tuple[torch.Tensor, torch.Tensor]] = []  # mutated, and the copy that the kernel overwrites
        self._results: list[torch.Tensor | None] = []
        self._decided: dict[int, Decided] = {}
        self._returned, self._device = returned, device

    def run(self, instance: Instance) -> list[torch.Tensor | None]:
        """Call the kernel; its results, None where the mask leaves one out.

        Raises:
            KernelError: the kernel said so.
        """
        self._add_inputs(instance.strided)
        self._add_results()
        absent = [None] * (len(self._signature.results) - self._returned)
        tensors = [*self._inputs, *self._results, *absent]
        layouts = self._layouts(tensors)
        sizes = array("q", (n for layout in layouts if layout for n in (*layout.sizes, *layout.strides)))
        rows = _rows(tensors, layouts, sizes)
        lengths = Lengths(self._signature, self._decided, rows)
        for index, decided in self._decided.items():
            rows[index].present, rows[index].dtype = 1, DTYPES[decided.dtype].code
            lengths.show(index, decided)
        with signals_held() if self._decided else contextlib.nullcontext():
            self._enter(instance.entry, rows, lengths)
        return self._finish(lengths)

    def _add_inputs(self, strided: int) -> None:
        for i, (param, tensor) in enumerate(zip(self._signature.tensors, self._call.tensors, strict=True)):
            if tensor is None or self._is_usable(param, tensor, bool(strided >> i & 1)):
                self._inputs.append(tensor)
                continue
            with memory_for(self._signature, f"{self._copied} of {param.name}", tensor.shape, tensor.dtype):
                copy = self._copy(param, tensor)
            self._inputs.append(copy)
            if param.mutated:
                self._back.append((tensor, copy))

    def _is_usable(self, _param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        """Whether a kernel may read it where it is: dense, if need be, and each element at a multiple of its size."""
        return (strided or tensor.is_contiguous()) and is_aligned(tensor)

    def _copy(self, _param: TensorParam, tensor: torch.Tensor) -> torch.Tensor:
        """What the kernel gets instead."""
        return tensor.clone(memory_format=torch.contiguous_format)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Memory for a result."""
        return torch.empty(shape, dtype=dtype, device=self._device)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        """The axes of the inputs and results as the kernel sees them."""
        return [t if t is None else Layout(tuple(t.shape), t.stride()) for t in tensors]

    def _add_results(self) -> None:
        signature, everything = self._signature, self._returned > len(self._signature.outputs)
        shapes: Any = output_shapes(signature, self._binding, with_residuals=everything)
        types = output_types(signature, self._binding, with_residuals=everything)
        for i, (shape, dtype) in enumerate(zip(shapes, types, strict=True)):
            tensor = None
            if any(isinstance(dim, DataAxis) for dim in shape):
                self._decided[len(signature.tensors) + i] = Decided(
                    signature, i, shape, dtype, self._binding, self._device
                )
            elif self._call.mask is None or self._call.mask[i]:
                if max(shape, default=0) > _LARGEST:
                    raise too_large(signature)
                with memory_for(signature, f"result number {i + 1}", shape, TORCH_TYPES[dtype]):
                    tensor = self._empty(shape, TORCH_TYPES[dtype])
            self._results.append(tensor)

    def _enter(self, entry: Any, rows: Any, lengths: Lengths) -> None:
        signature = self._signature
        axes = [int(self._binding.axes.get(axis, 0)) for axis in signature.axes]
        text: list[bytes] = []
        fail = _taking(text)  # these two are to be kept until the kernel has returned
        resize = RESIZE(lengths.resize) if signature.data_axes else None
        call = abi.Call(
            size=ctypes.sizeof(abi.Call),
            tensors=rows,
            scalars=_scalars(signature, self._call),
            axes=abi.array_type(ctypes.c_int64, len(axes))(*axes),
            stream=accelerator.stream(self._device) if self._device.type != "cpu" else None,
            device_index=abi.WITHOUT_DEVICE if self._device.type == "cpu" else self._device.index,
            fail=abi.address(fail),
            resize=abi.address(resize) if resize else None,
        )
        drawn = None
        if signature.generator:
            state, drawn = _draw(self._call.generator, self._device)
            call.rng = ctypes.pointer(state)
        taken()  # of an earlier call, which another signal kept from seeing it
        status = entry(ctypes.byref(call))
        if (error := taken()) is not None:
            raise error
        if status != 0:
            raise KernelError(f"{signature.name}(): {b''.join(text).decode('utf-8', 'replace')}")
        del drawn  # from here on PyTorch may use its memory for something else, which the stream comes to later
        if self._device.type != "cpu":
            self._synchronize_if_asked()

    def _synchronize_if_asked(self) -> None:
        try:
            accelerator.synchronize_if_asked(self._device)
        except RuntimeError as error:
            raise KernelError(f"{self._signature.name}(): {error}") from error

    def _finish(self, lengths: Lengths) -> list[torch.Tensor | None]:
        for tensor, copy in self._back:
            tensor.copy_(copy)
        for index, tensor in lengths.results().items() if self._decided else ():
            self._results[index - len(self._inputs)] = tensor
        return self._results


def is_aligned(tensor: torch.Tensor) -> bool:
    """Whether each element is at a multiple of its size, as C++ takes for granted."""
    return tensor.data_ptr() % tensor.element_size() == 0


def _taking(text: list[bytes]) -> Any:
    """``opw_call.fail``: keeps a copy of the text."""

    def fail(context: Mark, first: int | None, length: int) -> None:
        try:
            text[:] = [ctypes.string_at(first, length)] if first else []
        except BaseException as error:  # noqa: BLE001 - the kernel is the caller
            note(error)
        finally:
            context.reached_end = True

    return _FAIL(fail)


def _rows(tensors: Sequence[torch.Tensor | None], layouts: Sequence[Layout | None], sizes: array[int]) -> Any:
    """The tensors, whose sizes and strides stand in `sizes` one after another."""
    rows, (at, _) = [], sizes.buffer_info()
    for tensor, layout in zip(tensors, layouts, strict=True):
        if tensor is None or layout is None:
            rows.append(abi.TensorRow())
            continue
        numel, rank = math.prod(layout.sizes), len(layout.sizes)
        data = tensor.data_ptr() if numel else None
        rows.append(abi.TensorRow(data, at, at + 8 * rank, numel, rank, DTYPES[tensor.dtype].code, present=1))
        at += 16 * rank
    return abi.array_type(abi.TensorRow, len(rows))(*rows)


def _scalars(signature: Signature, call: Arguments) -> Any:
    values = [
        abi.Scalar(f=float(call.scalars[p.name])) if p.kind == "float" else abi.Scalar(i=int(call.scalars[p.name]))
        for p in signature.scalars
    ]
    return abi.array_type(abi.Scalar, len(values))(*values)


def _draw(generator: torch.Generator | None, device: torch.device) -> tuple[abi.Rng, torch.Tensor | None]:
    """A key for one call, from the generator given or the one that torch.manual_seed seeds; and who holds it.

    A graph draws anew each time it is replayed: then the key is a number on the device.
    """
    if device.type == "cpu":
        return abi.Rng(seed=int(_random(generator, device)) & (2**64 - 1)), None
    generator = generator or accelerator.generator(device)
    if generator.device.type != device.type:
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device.type}'")
    if not accelerator.is_capturing():
        return abi.Rng(seed=key_of(generator)), None
    seed = _random(generator, device)
    return abi.Rng(seed_pointer=seed.data_ptr()), seed


def _random(generator: torch.Generator | None, device: torch.device) -> torch.Tensor:
    """64 bits, as they come."""
    return torch.empty((), dtype=torch.int64, device=device).random_(_FULL_RANGE, None, generator=generator)
