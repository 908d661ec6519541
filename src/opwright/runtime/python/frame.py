"""One call of a kernel: allocates the results, fills in ``opw_call``, and calls the entry without the GIL.

The leading axes of pointwise and batched kernels are broadcast.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from opwright.errors import KernelError
from opwright.runtime import abi, messages
from opwright.runtime.arguments import Arguments, memory_for
from opwright.runtime.binding import DTYPES, TORCH_TYPES
from opwright.runtime.layouts import Layout, batched_strides, folded, is_contiguous, loops, result_strides
from opwright.runtime.python.data_dependent import RESIZE, Decided, Lengths
from opwright.runtime.python.devices import accelerator, key_of, new_tensor
from opwright.runtime.python.host import Mark, note, signals_held, taken
from opwright.signature import Binding, DataAxis, Signature, TensorParam, output_shapes, output_types
from opwright.signature.binding import too_large

_LARGEST = 2**63 - 1
_FULL_RANGE = -(2**63)
_FAIL = ctypes.CFUNCTYPE(None, Mark, ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True)
class Instance:
    """A kernel for given element types, in an open library."""

    entry: Any
    strided: int  # bit i: the kernel accepts any strides for tensor i


class Frame:
    """The tensors of one call as a kernel sees them, with the copies made before and after the call."""

    _copied = "a contiguous copy"

    def __init__(
        self, signature: Signature, call: Arguments, binding: Binding, returned: int, device: torch.device
    ) -> None:
        """Prepare a call on tensors of `device`, which returns the first `returned` results."""
        self._signature, self._call, self._binding = signature, call, binding
        self._inputs: list[torch.Tensor | None] = []
        self._back: list[
            tuple[torch.Tensor, torch.Tensor]
        ] = []  # a mutated tensor, and the copy that the kernel overwrites
        self._results: list[torch.Tensor | None] = []
        self._decided: dict[int, Decided] = {}
        self._returned, self._device = returned, device

    def run(self, instance: Instance) -> list[torch.Tensor | int | None]:
        """Call the kernel; return its results, with None for those that the mask or a condition leaves out.

        Raises:
            KernelError: the kernel reported an error.
        """
        self._add_inputs(instance.strided)
        self._add_results()
        absent = [None] * (len(self._signature.results) - self._returned)
        tensors = [*self._inputs, *self._results, *absent]
        layouts = self._layouts(tensors)
        sizes = array("q", (n for layout in layouts if layout for n in (*layout.sizes, *layout.strides)))
        rows = _rows(tensors, layouts, sizes)
        given = self._signature.given_sizes(self._call.scalars)
        lengths = Lengths(self._signature, self._decided, rows, self._unwanted, given)
        for index, decided in self._decided.items():
            lengths.show(index, decided)
        calls_back = bool(self._decided) or any(tensor is None for tensor in tensors[len(self._inputs) :])
        with signals_held() if calls_back else contextlib.nullcontext():
            self._enter(instance.entry, rows, lengths)
        return self._finish(lengths)

    def _add_inputs(self, strided: int) -> None:
        for i, (param, tensor) in enumerate(zip(self._signature.tensors, self._call.tensors, strict=True)):
            if tensor is None or self._is_usable(param, tensor, bool(strided >> i & 1)):
                self._inputs.append(tensor)
                continue
            with memory_for(self._signature, f"{self._copied} of {param.name}", tensor.shape, tensor.dtype):
                copy = self._copy(param, _readable(tensor))
            self._inputs.append(copy)
            if param.mutated:
                self._back.append((tensor, copy))

    def _is_usable(self, param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        """Return whether the kernel can use the tensor itself: contiguous, unless `strided`, and aligned."""
        fits = tensor.is_contiguous() or (strided and self._seen(param, tensor) is not None)
        return fits and is_aligned(tensor)

    def _seen(self, param: TensorParam, tensor: torch.Tensor) -> Layout | None:
        """Return the tensor's axes as the kernel sees them; None if a group of axes has no single stride."""
        layout = Layout(tuple(tensor.shape), tensor.stride())
        grouping = self._signature.grouping
        return folded(layout, grouping.spans(param, self._binding.groups)) if grouping.has(param) else layout

    def _copy(self, _param: TensorParam, tensor: torch.Tensor) -> torch.Tensor:
        """Return the copy that the kernel gets instead of `tensor`."""
        return tensor.clone(memory_format=torch.contiguous_format)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Allocate a result."""
        return new_tensor(shape, dtype, self._device)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        """Return the axes of the inputs and results as the kernel sees them."""
        params = self._signature.tensors + self._signature.results
        return [t if t is None else self._seen(param, t) for param, t in zip(params, tensors, strict=True)]

    def _add_results(self) -> None:
        signature, everything = self._signature, self._returned > len(self._signature.outputs)
        shapes: Any = output_shapes(signature, self._without_given(), with_residuals=everything)
        types = output_types(signature, self._binding, with_residuals=everything)
        for i, (shape, dtype) in enumerate(zip(shapes, types, strict=True)):
            tensor, param = None, signature.results[i]
            if param.is_count:
                tensor = torch.zeros((), dtype=TORCH_TYPES[dtype])
            elif any(isinstance(dim, DataAxis) for dim in shape):
                grouping, groups = signature.grouping, self._binding.groups
                spans = grouping.spans(param, groups) if grouping.has(param) else ()
                made = Decided(signature, i, shape, dtype, self._binding, self._device, spans)
                self._decided[len(signature.tensors) + i] = made
            elif param.name not in self._binding.absent and (self._call.mask is None or self._call.mask[i]):
                if max(shape, default=0) > _LARGEST:
                    raise too_large(signature)
                with memory_for(signature, f"result number {i + 1}", shape, TORCH_TYPES[dtype]):
                    tensor = self._empty(shape, TORCH_TYPES[dtype])
            self._results.append(tensor)

    def _without_given(self) -> Binding:
        """Return the call's binding without the axes that optional ints decide: `Decided` has their lengths."""
        known = self._binding
        axes = {axis: size for axis, size in known.axes.items() if axis not in self._signature.optional_sizes}
        return Binding(axes, known.ellipsis, known.types, known.absent, known.groups)

    def _unwanted(self, index: int) -> Decided:
        """Allocate a result that nobody wants, for a kernel that writes it all the same."""
        i, signature = index - len(self._inputs), self._signature
        known = self._without_given()
        known = Binding(known.axes, known.ellipsis, known.types, groups=known.groups)  # nothing is absent
        shape: Any = output_shapes(signature, known, with_residuals=True)[i]
        if signature.grouping.has(signature.results[i]):
            axes, dims = known.axes, signature.results[i].dims  # as the kernel sees it: nobody else does
            shape = tuple(dim if isinstance(dim, DataAxis) else dim.evaluate(axes) for dim in dims)
        dtype = output_types(signature, known, with_residuals=True)[i]
        return Decided(signature, i, shape, dtype, self._binding, self._device)

    def _enter(self, entry: Any, rows: Any, lengths: Lengths) -> None:
        """Call the kernel's entry point; raise what it reports."""
        signature = self._signature
        axes = [int(self._binding.axes.get(axis, 0)) for axis in signature.axes]
        text: list[bytes] = []
        fail = _taking(text)  # keep `fail` and `resize` alive until the kernel has returned
        resize = RESIZE(lengths.resize) if signature.data_axes or signature.skippable else None
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
        taken()  # discard an error of an earlier call, which a second signal kept from being raised
        status = entry(ctypes.byref(call))
        if (error := taken()) is not None:
            raise error
        if status != 0:
            raise KernelError(f"{signature.shown_name}(): {b''.join(text).decode('utf-8', 'replace')}")
        del drawn  # PyTorch can reuse its memory now: later work on the stream runs after the kernel
        if self._device.type != "cpu":
            self._synchronize_if_asked()

    def _synchronize_if_asked(self) -> None:
        try:
            accelerator.synchronize_if_asked(self._device)
        except RuntimeError as error:
            raise KernelError(f"{self._signature.shown_name}(): {error}") from error

    def _finish(self, lengths: Lengths) -> list[torch.Tensor | int | None]:
        for tensor, copy in self._back:
            if _is_unreadable(tensor):
                torch.view_as_real(tensor).copy_(torch.view_as_real(copy))
            else:
                tensor.copy_(copy)
        for index, tensor in lengths.results().items() if self._decided else ():
            self._results[index - len(self._inputs)] = tensor
        return [self._count(i) if param.is_count else self._results[i] for i, param in enumerate(self._made())]

    def _made(self) -> Sequence[TensorParam]:
        return self._signature.results[: len(self._results)]

    def _count(self, i: int) -> int:
        """Return a count as the kernel left it.

        Raises:
            KernelError: it is negative.
        """
        count = int(self._results[i])  # type: ignore[arg-type]
        if count < 0:
            facts = {"name": self._signature.shown_name, "result": i + 1, "count": count}
            raise KernelError(messages.NEGATIVE_COUNT.format(**facts))
        return count


def is_aligned(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is aligned to its element size, as C++ requires."""
    return tensor.data_ptr() % tensor.element_size() == 0


def _is_unreadable(tensor: torch.Tensor) -> bool:
    """Return whether these are complex numbers that PyTorch's own functions can't read without a crash."""
    return tensor.is_complex() and not is_aligned(tensor)


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_complex(torch.view_as_real(tensor).clone()) if _is_unreadable(tensor) else tensor


def _taking(text: list[bytes]) -> Any:
    """Return a function for ``opw_call.fail`` that stores a copy of the error message in `text`."""

    def fail(context: Mark, first: int | None, length: int) -> None:
        try:
            text[:] = [ctypes.string_at(first, length)] if first else []
        except BaseException as error:  # noqa: BLE001 - called by the kernel, in C
            note(error)
        finally:
            context.reached_end = True

    return _FAIL(fail)


def _rows(tensors: Sequence[torch.Tensor | None], layouts: Sequence[Layout | None], sizes: array[int]) -> Any:
    """Return the ``opw_tensor`` of each tensor; `sizes` holds the sizes and strides of all tensors in order."""
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
        abi.Scalar(**{member: value})
        for scalar in signature.scalars
        for member, value in zip(scalar.kind.members, scalar.kind.pack(call.scalars[scalar.name]), strict=True)
    ]
    return abi.array_type(abi.Scalar, len(values))(*values)


def _draw(generator: torch.Generator | None, device: torch.device) -> tuple[abi.Rng, torch.Tensor | None]:
    """Return a random key for one call, from `generator` or the default one, and the tensor that holds it, if any.

    During the capture of a graph, the key is in device memory, so that each replay draws a new one.
    """
    if device.type == "cpu":
        return abi.Rng(seed=int(_random(generator, device)) & (2**64 - 1)), None
    generator = generator or accelerator.generator(device)
    if generator.device.type != device.type:
        raise RuntimeError(messages.GENERATOR_DEVICE.format(expected=device.type, device=generator.device.type))
    if not accelerator.is_capturing():
        return abi.Rng(seed=key_of(generator)), None
    seed = _random(generator, device)
    return abi.Rng(seed_pointer=seed.data_ptr()), seed


def _random(generator: torch.Generator | None, device: torch.device) -> torch.Tensor:
    """Return 64 random bits."""
    return torch.empty((), dtype=torch.int64, device=device).random_(_FULL_RANGE, None, generator=generator)


class BatchedFrame(Frame):
    """The frame of a batched kernel: tensors are expanded to all leading axes, with stride 0 along repeated ones."""

    def _is_usable(self, param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        first = tensor.dim() - len(param.dims)
        core = Layout(tuple(tensor.shape[first:]), tensor.stride()[first:])
        return (strided or is_contiguous(core)) and is_aligned(tensor)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        pairs = zip(self._signature.tensors, self._call.tensors, strict=True)
        given = [(Layout(tuple(t.shape), t.stride()), len(param.dims)) for param, t in pairs if t is not None]
        strides = batched_strides(shape, len(shape) - len(self._binding.ellipsis or ()), given)
        if strides is None:
            return super()._empty(shape, dtype)
        return new_tensor(shape, dtype, self._device, strides)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        params = self._signature.tensors + self._signature.results
        return [t if t is None else self._expanded(param, t) for param, t in zip(params, tensors, strict=True)]

    def _expanded(self, param: TensorParam, tensor: torch.Tensor) -> Layout:
        core = tensor.shape[tensor.dim() - len(param.dims) :]
        return Layout(tuple(tensor.shape), tensor.stride()).expanded((*(self._binding.ellipsis or ()), *core))


class PointwiseFrame(BatchedFrame):
    """The frame of a pointwise kernel: tensors are cast to their type variable's type, and axes are merged."""

    _copied = "a copy"

    def _is_usable(self, param: TensorParam, tensor: torch.Tensor, strided: bool) -> bool:
        return tensor.dtype == self._type(param) and super()._is_usable(param, tensor, strided)

    def _copy(self, param: TensorParam, tensor: torch.Tensor) -> torch.Tensor:
        """Return a copy in which axes of stride 0 have size 1, to be broadcast again."""
        for axis, stride in enumerate(tensor.stride()):
            tensor = tensor.narrow(axis, 0, min(1, tensor.shape[axis])) if stride == 0 else tensor
        return tensor.to(self._type(param), copy=True)

    def _empty(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return new_tensor(shape, dtype, self._device, self._strides)

    def _layouts(self, tensors: Sequence[torch.Tensor | None]) -> list[Layout | None]:
        expanded = super()._layouts(tensors)
        merged = iter(loops(self._binding.ellipsis or (), [layout for layout in expanded if layout is not None]))
        return [layout if layout is None else next(merged) for layout in expanded]

    def _type(self, param: TensorParam) -> torch.dtype:
        dtype: torch.dtype = TORCH_TYPES[param.type.resolve(self._binding.types)]
        return dtype

    @cached_property
    def _strides(self) -> tuple[int, ...]:
        """The strides of all results, which follow from the arguments' layouts, as they came, before any copy."""
        given = [Layout(tuple(t.shape), t.stride()) for t in self._call.tensors if t is not None]
        return result_strides(self._binding.ellipsis or (), given)
