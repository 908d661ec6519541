"""Kernels that are Python callables, such as functions bound by pybind11; checks of their arguments and results.

They are registered with the dispatcher below autograd, for every device; the callable itself refuses devices that it
doesn't support.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import torch

from opwright.errors import KernelError, OpwrightError
from opwright.runtime.arguments import Arguments, CallingConvention, check_dense, check_values
from opwright.runtime.binding import DTYPES, TORCH_TYPES, check_asked, two_devices
from opwright.runtime.interface import CPU_ONLY, KernelState
from opwright.runtime.torch_internals import OpOverload, storage_identity
from opwright.signature import (
    Binding,
    DataAxis,
    DType,
    ScalarParam,
    Signature,
    TensorParam,
    output_shapes,
    output_types,
)
from opwright.signature.binding import Report, shown

Shape = tuple[int | DataAxis, ...]

_MOST_KNOWN = 256


@dataclass(frozen=True)
class PythonFunction:
    """A provider without machine code: the kernel is a function on tensors, which returns new ones.

    Attributes:
        function: takes the tensors and scalars of its signature, in order; returns its outputs, then its residuals.
        contiguous: indices of the arguments that are made contiguous for it.
        takes_mask: whether it is a backward that takes the mask of wanted gradients as its last argument.
    """

    function: Callable[..., Any]
    contiguous: tuple[int, ...] = ()
    takes_mask: bool = False
    masked = False
    ahead = None
    devices = CPU_ONLY  # not used: the function is called on every device

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> NoReturn:
        """Raise OpwrightError: there is no library (see `Provider`)."""
        del types, wanted, device, rebuild
        raise OpwrightError(f"{self.label} is a Python function: no library holds it")

    def call(self, given: list[Any], mask: Sequence[bool] | None) -> Any:
        """Call the function with all arguments of its signature."""
        for place in self.contiguous:
            if given[place] is not None:
                given[place] = given[place].contiguous()
        return self.function(*given, list(mask)) if self.takes_mask and mask is not None else self.function(*given)

    @property
    def label(self) -> str:
        """The function's name for messages."""
        function = self.function
        return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)


class _Expected(NamedTuple):
    """The cached facts of all calls whose arguments have the same sizes, types and devices."""

    binding: Binding
    device: torch.device
    shapes: list[Shape]
    dtypes: list[torch.dtype]
    mask: list[bool] | None


class PythonKernel:
    """The dispatcher kernel of an operator; each call looks up the function, which can have been replaced."""

    def __init__(self, state: KernelState, op: OpOverload, *, residuals: bool, mask: bool) -> None:
        """Prepare the kernel of `op`; `residuals`: it also returns the residuals; `mask`: it takes an output mask."""
        self._state, self._signature = state, state.signature
        self._convention = CallingConvention(state, op, residuals=residuals, mask=mask)
        self._has_domains = any(param.domain for param in self._signature.tensors)
        self._with_domain = {i for i, p in enumerate(self._signature.inputs) if isinstance(p, ScalarParam) and p.domain}
        self._plans: dict[Any, _Expected] = {}

    def __call__(self, /, *given: Any, **named: Any) -> Any:
        """Run the kernel."""
        values = self._convention.with_defaults(given, named)
        key = tuple(_known_by(value, whole=i in self._with_domain) for i, value in enumerate(values))
        expected = self._plans.get(key) or self._judge(values, key)
        if self._has_domains:
            check_values(self._signature, self._convention.arguments(values), expected.binding)
        mask = expected.mask
        if mask is not None and not any(mask):
            return self._convention.pack([None] * len(self._convention.returned), values)
        provider: Any = self._state.provider
        answer = provider.call(values[: len(self._signature.inputs)], mask)
        taken = {storage_identity(value) for value in values if isinstance(value, torch.Tensor)}
        return self._convention.pack(_Results(self._signature, expected, provider.label, taken).of(answer), values)

    def _judge(self, values: list[Any], key: Any) -> _Expected:
        """Check the arguments; return the expected shapes and types of the results."""
        signature, call = self._signature, self._convention.arguments(values)
        check_dense(signature, call.tensors)
        device, binding = _device(signature, call), call.bind()
        shapes: Any = output_shapes(signature, binding, with_residuals=True)
        types = [TORCH_TYPES[dtype] for dtype in output_types(signature, binding, with_residuals=True)]
        if len(self._plans) >= _MOST_KNOWN:
            self._plans.clear()
        self._plans[key] = expected = _Expected(binding, device, shapes, types, call.mask)
        return expected


def _known_by(value: Any, *, whole: bool) -> Any:
    """Return the part of an argument that the checks and the results' sizes depend on, as a cache key.

    `whole`: whether a domain is checked, so that the value of a float matters.
    """
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.device, value.layout
    if isinstance(value, float) and not whole:  # sizes don't depend on it, but results may on whether it is given
        return float
    return tuple(value) if isinstance(value, list) else value


def _device(signature: Signature, call: Arguments) -> torch.device:
    """Return the device of all tensors of a call."""
    first: tuple[str, torch.device] | None = None
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if tensor is None:
            continue
        if call.device and signature.device:
            check_asked(signature, call.device, param, tensor)
        if first and tensor.device != first[1]:
            raise two_devices(signature, param.name, tensor.device, *first)
        first = first or (param.name, tensor.device)
    return first[1] if first else torch.device("cpu")


class _Results:
    """The check of a function's results in one call against its signature."""

    def __init__(self, signature: Signature, expected: _Expected, label: str, taken: set[int]) -> None:
        """Prepare the check; `taken`: storages that no result is allowed to share."""
        self._signature, self._expected, self._label, self._taken = signature, expected, label, taken
        self._decided: dict[str, int] = {}

    def of(self, answer: Any) -> list[torch.Tensor | int | None]:
        """Return each result, or None if the mask or its condition leaves it out.

        Raises:
            KernelError: the results don't fit the signature.
        """
        params, values = self._signature.results, self._listed(answer)
        mask, device = self._expected.mask, self._expected.device
        results: list[torch.Tensor | int | None] = []
        for i, (value, shape, dtype) in enumerate(
            zip(values, self._expected.shapes, self._expected.dtypes, strict=True)
        ):
            if (mask is not None and not mask[i]) or self._is_absent(params[i], value):
                results.append(None)
            elif params[i].is_count:
                results.append(self._counted(params[i], value))
            elif mask is not None and value is None:  # as in autograd.Function: the gradient is zero
                results.append(torch.zeros([int(str(size)) for size in shape], dtype=dtype, device=device))
            else:
                self._check(params[i], value, shape, dtype)
                results.append(self._own(value))
        return results

    def _listed(self, answer: Any) -> list[Any] | tuple[Any, ...]:
        results = self._signature.results
        values = answer if isinstance(answer, tuple | list) else (answer,)
        if len(values) == len(results):
            return values
        what = "tensor" if self._expected.mask is None else "gradient"
        outputs, residuals = (", ".join(p.name for p in group) for group in (results, self._signature.residuals))
        raise self._error(
            f"returned {len(values)} {what}{'s' * (len(values) != 1)}, expected {len(results)}: {outputs}"
            + (f" ({residuals} after the ';', kept for the backward)" if residuals else ""),
            "return one for each name of the signature, in its order",
        )

    def _is_absent(self, param: TensorParam, value: Any) -> bool:
        """Return whether an optional result isn't returned; raise KernelError if the function has it otherwise."""
        absent = param.name in self._expected.binding.absent
        if param.condition and absent is not (value is None):
            returned = "None" if value is None else type(value).__name__
            expected = "None" if absent else "a tensor"
            raise self._error(
                f"returned {returned} for {param.name}, which is optional ({param.condition}): expected {expected}"
            )
        return absent

    def _counted(self, param: TensorParam, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._error(f"returned {value!r} for {param.name}, expected a count: an int that is at least 0")
        return value

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
        """Return whether data-dependent lengths are within their bounds and agree, and all other sizes match."""
        return len(found) == len(shape) and all(map(self._fits_axis, shape, found))

    def _fits_axis(self, expected: int | DataAxis, size: int) -> bool:
        if not isinstance(expected, DataAxis):
            return expected == size
        within = expected.limit is None or size <= expected.limit.evaluate(self._expected.binding.axes)
        return within and self._decided.setdefault(expected.name, size) == size

    def _own(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the tensor in the fake kernel's layout: row-major, not sharing memory with other tensors."""
        if tensor.is_neg() or tensor.is_conj():
            tensor = tensor.resolve_conj().resolve_neg()
        tensor = tensor.contiguous()
        if tensor.numel() and storage_identity(tensor) in self._taken:
            tensor = tensor.clone(memory_format=torch.contiguous_format)
        self._taken.add(storage_identity(tensor))
        return tensor

    def _error(self, what: str, fix: str = "") -> KernelError:
        report, binding = Report(self._signature), self._expected.binding
        report.sizes.update(binding.axes)
        report.ellipsis = binding.ellipsis
        report.origins.update(dict.fromkeys([*binding.axes, *["..."] * (binding.ellipsis is not None)], ""))
        return KernelError(report.text(f"{self._label} {what}", fix))
