"""Kernels that are Python callables, such as functions that pybind11 has bound: what they get, what they give.

They are registered with the dispatcher below autograd, for every device; which devices they work on is their affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import torch

from opwright.errors import ArgumentError, KernelError, OpwrightError
from opwright.runtime.fake import DTYPES, TORCH_TYPES
from opwright.runtime.interface import CPU_ONLY, KernelState
from opwright.signature import Binding, DataAxis, DType, Signature, TensorParam, output_shapes, output_types
from opwright.signature.binding import Report, shown

Shape = tuple[int | DataAxis, ...]

_MOST_KNOWN = 256


@dataclass(frozen=True)
class Bound:
    """A provider without machine code: the kernel is a function on tensors, which returns new ones.

    Attributes:
        function: takes the tensors and scalars of its signature, in order; returns its outputs, then its residuals.
        contiguous: places of the arguments that are made contiguous for it.
        takes_mask: whether it is a backward that is also told, last, which gradients are wanted.
    """

    function: Callable[..., Any]
    contiguous: tuple[int, ...] = ()
    takes_mask: bool = False
    masked = False
    ahead = None
    devices = CPU_ONLY  # it is asked on every device, and knows itself where it works

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> NoReturn:
        """See `Provider`: there is none."""
        del types, wanted, device, rebuild
        raise OpwrightError(f"{self.label} is a Python function: no library holds it")

    def call(self, given: list[Any], mask: Sequence[bool] | None) -> Any:
        """What the function answers; `given`: all that its signature names."""
        for place in self.contiguous:
            if given[place] is not None:
                given[place] = given[place].contiguous()
        return self.function(*given, list(mask)) if self.takes_mask and mask is not None else self.function(*given)

    @property
    def label(self) -> str:
        """What the function is called."""
        function = self.function
        return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)


class _Expected(NamedTuple):
    """What is known of all calls whose arguments have the same sizes, types and places."""

    binding: Binding
    device: torch.device
    shapes: list[Shape]
    dtypes: list[torch.dtype]
    mask: list[bool] | None


class BoundKernel:
    """What is registered for an operator; the function is asked for at each call: another may have taken its place."""

    def __init__(self, state: KernelState, op: torch._ops.OpOverload, *, residuals: bool, mask: bool) -> None:
        """`residuals`: whether it returns them; `mask`: whether it takes an output mask."""
        from opwright.runtime.python.operators import Operator

        self._state, self._signature = state, state.signature
        # knows how arguments and results lie in the schema; nothing is ever built for it
        self._known = Operator(state, op, lambda _state, _key: None, residuals=residuals, mask=mask)
        self._has_indices = any(param.index_range for param in self._signature.tensors)
        self._plans: dict[Any, _Expected] = {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The kernel."""
        values = self._known.filled(given, named)
        key = tuple(map(_known_by, values))
        expected = self._plans.get(key) or self._judge(values, key)
        if self._has_indices:
            self._check_indices(values, expected)
        mask = expected.mask
        if mask is not None and not any(mask):
            return self._known.answer([None] * len(self._known.returned))
        provider: Any = self._state.provider
        answer = provider.call(values[: len(self._signature.inputs)], mask)
        taken = {_memory(value) for value in values if isinstance(value, torch.Tensor)}
        return self._known.answer(_Results(self._signature, expected, provider.label, taken).of(answer))

    def _judge(self, values: list[Any], key: Any) -> _Expected:
        """Checks the arguments, and says what is expected of the results."""
        from opwright.runtime.python.devices import check_dense

        signature, call = self._signature, self._known.arguments(values)
        check_dense(signature, call.tensors)
        device, binding = _device(signature, call.tensors), call.bind()
        shapes: Any = output_shapes(signature, binding, with_residuals=True)
        types = [TORCH_TYPES[dtype] for dtype in output_types(signature, binding, with_residuals=True)]
        if len(self._plans) >= _MOST_KNOWN:
            self._plans.clear()
        self._plans[key] = expected = _Expected(binding, device, shapes, types, call.mask)
        return expected

    def _check_indices(self, values: list[Any], expected: _Expected) -> None:
        from opwright.runtime.python.values import check_values

        check_values(self._signature, self._known.arguments(values), expected.binding)


def _known_by(value: Any) -> Any:
    """What of an argument the checks and the results' sizes depend on."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.device, value.layout
    if isinstance(value, float):  # no size can be one
        return None
    return tuple(value) if isinstance(value, list) else value


def _device(signature: Signature, tensors: Sequence[torch.Tensor | None]) -> torch.device:
    """Where all tensors of a call are."""
    first: tuple[str, torch.device] | None = None
    for param, tensor in zip(signature.tensors, tensors, strict=True):
        if tensor is None:
            continue
        if first and tensor.device != first[1]:
            raise ArgumentError(
                f"{signature.name}(): {param.name} is on {tensor.device}, {first[0]} on {first[1]}; "
                "all tensors of a call must be on one device"
            )
        first = first or (param.name, tensor.device)
    return first[1] if first else torch.device("cpu")


class _Results:
    """What a function returned in one call, judged by its signature."""

    def __init__(self, signature: Signature, expected: _Expected, label: str, taken: set[int]) -> None:
        """`taken`: the memory that no result may have."""
        self._signature, self._expected, self._label, self._taken = signature, expected, label, taken
        self._decided: dict[str, int] = {}

    def of(self, answer: Any) -> list[torch.Tensor | None]:
        """One tensor for each result; None where the mask leaves one out.

        Raises:
            KernelError: they aren't what the signature says.
        """
        params, found = self._signature.results, self._listed(answer)
        mask, device = self._expected.mask, self._expected.device
        results: list[torch.Tensor | None] = []
        for i, (value, shape, dtype) in enumerate(
            zip(found, self._expected.shapes, self._expected.dtypes, strict=True)
        ):
            if mask is not None and not mask[i]:
                results.append(None)
            elif mask is not None and value is None:  # as in autograd.Function: there is no such gradient
                results.append(torch.zeros([int(str(size)) for size in shape], dtype=dtype, device=device))
            else:
                self._check(params[i], value, shape, dtype)
                results.append(self._own(value))
        return results

    def _listed(self, answer: Any) -> list[Any] | tuple[Any, ...]:
        results = self._signature.results
        found = answer if isinstance(answer, tuple | list) else (answer,)
        if len(found) == len(results):
            return found
        what = "tensor" if self._expected.mask is None else "gradient"
        outputs, residuals = (", ".join(p.name for p in group) for group in (results, self._signature.residuals))
        raise self._error(
            f"returned {len(found)} {what}{'s' * (len(found) != 1)}, expected {len(results)}: {outputs}"
            + (f" ({residuals} after the ';', kept for the backward)" if residuals else ""),
            "return one for each name of the signature, in its order",
        )

    def _check(self, param: TensorParam, value: Any, shape: Shape, dtype: torch.dtype) -> None:
        if not isinstance(value, torch.Tensor):
            raise self._error(f"returned {type(value).__name__} for {param.name}, expected a tensor")
        if value.dtype != dtype:
            expected = f"{param.type} = {DTYPES[dtype]}" if param.type.kind != "dtype" else str(param.type)
            raise self._error(f"returned {param.name} as {value.dtype}, expected {expected}")
        if value.device != self._expected.device:
            raise self._error(f"returned {param.name} on {value.device}, expected {self._expected.device}")
        if value.layout is not torch.strided:
            raise self._error(f"returned {param.name} as a sparse tensor, expected a dense one")
        if value.shape != shape and not self._fits(value.shape, shape):
            sizes = [self._decided.get(size.name, "?") if isinstance(size, DataAxis) else size for size in shape]
            raise self._error(
                f"returned {param.name} with shape {shown(value.shape)}, expected {param.shape} = {shown(sizes)}"
            )

    def _fits(self, found: Sequence[int], shape: Shape) -> bool:
        """Where the function decides lengths: within their bounds, and the same wherever they stand."""
        return len(found) == len(shape) and all(map(self._fits_axis, shape, found))

    def _fits_axis(self, expected: int | DataAxis, size: int) -> bool:
        if not isinstance(expected, DataAxis):
            return expected == size
        within = expected.bound is None or size <= expected.bound.evaluate(self._expected.binding.axes)
        return within and self._decided.setdefault(expected.name, size) == size

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor as a fake one would be: row-major, and in memory that no argument and no other result has."""
        if tensor.is_neg() or tensor.is_conj():
            tensor = tensor.resolve_conj().resolve_neg()
        tensor = tensor.contiguous()
        if tensor.numel() and _memory(tensor) in self._taken:
            tensor = tensor.clone(memory_format=torch.contiguous_format)
        self._taken.add(_memory(tensor))
        return tensor

    def _error(self, what: str, fix: str = "") -> KernelError:
        report, binding = Report(self._signature), self._expected.binding
        report.sizes.update(binding.axes)
        report.ellipsis = binding.ellipsis
        report.origins.update(dict.fromkeys([*binding.axes, *["..."] * (binding.ellipsis is not None)], ""))
        return KernelError(report.text(f"{self._label} {what}", fix))


def _memory(tensor: torch.Tensor) -> int:
    address: int = tensor.untyped_storage()._cdata  # noqa: SLF001 - data_ptr() would copy what is cloned lazily
    return address
