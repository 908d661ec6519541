"""The arguments of one call by their roles, and the checks of their values and memory."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError, OpwrightError
from opwright.runtime import messages, returns
from opwright.runtime.binding import DTYPES, bind_call
from opwright.runtime.fork_and_exit import keep_to_the_end
from opwright.runtime.interface import KernelState
from opwright.runtime.overlap import check_overlaps
from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature import (
    Binding,
    Check,
    GeneratorParam,
    ScalarParam,
    Signature,
    TensorInfo,
    TensorParam,
    chosen_type,
    index_error,
)
from opwright.signature.binding import require_types, too_large, unnamed_type
from opwright.signature.domains import Interval

_LARGEST = 2**63 - 1


class Arguments:
    """The arguments of one call by their roles. Sizes can be symbolic."""

    def __init__(self, kernel: KernelState, given: Sequence[Any], *, mask: bool) -> None:
        """Sort the arguments, which are given in the schema's order, by role."""
        signature = kernel.signature
        self._signature, extra = signature, iter(given[len(signature.inputs) :])
        pairs = list(zip(signature.inputs, given, strict=False))
        self.tensors: list[torch.Tensor | None] = [v for p, v in pairs if isinstance(p, TensorParam)]
        self.scalars = {p.name: v for p, v in pairs if isinstance(p, ScalarParam)}
        self.generator: torch.Generator | None = next((v for p, v in pairs if isinstance(p, GeneratorParam)), None)
        self.dtype: torch.dtype | None = next(extra) if signature.chosen_type else None
        implied = signature.is_factory and not signature.device
        self.device = next(extra) if implied else self.scalars.get(signature.device.name) if signature.device else None
        self.axes = {axis: next(extra) for axis in kernel.axes}
        self.ellipsis = tuple(next(extra)) if kernel.ellipsis else None
        self.mask = list(next(extra)) if mask else None
        if self.mask is not None:
            check_mask(signature, self.mask)

    @property
    def mutated(self) -> list[torch.Tensor | None]:
        """The tensors that the kernel overwrites."""
        pairs = zip(self._signature.tensors, self.tensors, strict=True)
        return [tensor for param, tensor in pairs if param.mutated]

    def infos(self) -> dict[str, TensorInfo | None]:
        """Return the shape and element type of each tensor, as binding needs them; None for an absent tensor."""
        signature = self._signature
        return {p.name: _info(signature, p, t) for p, t in zip(signature.tensors, self.tensors, strict=True)}

    def bind(self, *, check: Check | None = None) -> Binding:
        """Return the values of the signature's names in this call.

        Raises:
            ArgumentError: the call doesn't fit the signature.
        """
        signature = self._signature
        binding = bind_call(
            signature,
            self.infos(),
            axes=self.axes,
            ellipsis=self.ellipsis,
            types=self._chosen(),
            scalars=self.scalars,
            check=check,
        )
        require_types(signature, binding)
        return binding

    def _chosen(self) -> dict[str, Any]:
        if not self._signature.chosen_type:
            return {}
        return chosen_type(self._signature, DTYPES.get(self.dtype or torch.get_default_dtype()))


def check_mask(signature: Signature, given: Sequence[bool]) -> None:
    """Refuse an output mask that doesn't have an element for each result."""
    if len(given) != len(signature.outputs):
        facts = {"name": signature.shown_name, "count": len(given), "expected": len(signature.outputs)}
        raise ArgumentError(messages.OUTPUT_MASK.format(**facts))


def _info(signature: Signature, param: TensorParam, tensor: torch.Tensor | None) -> TensorInfo | None:
    if tensor is None:
        return None
    if tensor.dtype not in DTYPES:
        raise unnamed_type(signature, param.name)
    return TensorInfo(tuple(tensor.shape), DTYPES[tensor.dtype])


class CallingConvention:
    """The order and defaults of an operator's arguments and results in its schema."""

    def __init__(self, kernel: KernelState, op: OpOverload, *, residuals: bool, mask: bool) -> None:
        """Read the schema of `op`, which may also return the residuals, and take an output mask."""
        self.kernel, self.op, self.mask = kernel, op, mask
        self.signature = kernel.signature
        self.returned = self.signature.results if residuals else self.signature.outputs
        self._residuals = residuals
        arguments = schema_of(op).arguments
        self._names = [argument.name for argument in arguments]
        self._defaults = {a.name: a.default_value for a in arguments if a.has_default_value()}

    def with_defaults(self, given: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return all arguments: the dispatcher leaves out trailing arguments that have their default value."""
        defaults = (named[n] if n in named else self._defaults[n] for n in self._names[len(given) :])
        return [*given, *defaults]

    def arguments(self, values: Sequence[Any]) -> Arguments:
        """Return all arguments of a call by their roles."""
        return Arguments(self.kernel, values, mask=self.mask)

    def pack(self, results: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the results in the schema's form; `values`: all arguments of the call."""
        keep_to_the_end(results)
        results = results[: len(self.returned)]
        if not self._residuals:
            return returns.pack(self.signature, results, values)
        return tuple(results) if len(results) > 1 else results[0]

    def unpack(self, answer: Any) -> tuple[Any, ...]:
        """Return the results as a tuple; the inverse of `pack`."""
        if not self._residuals:
            return returns.unpack(self.signature, answer)
        return tuple(answer) if len(self.returned) > 1 else (answer,)


def check_dense(signature: Signature, tensors: Sequence[torch.Tensor | None], *, jagged: bool = False) -> None:
    """Refuse sparse, nested and quantized tensors: PyTorch's own error for them doesn't name the argument.

    `jagged`: the operator takes jagged nested tensors.
    """
    for param, tensor in zip(signature.tensors, tensors, strict=True):
        if tensor is None or (tensor.layout is torch.strided and not tensor.is_quantized and not tensor.is_nested):
            continue
        packed = "nested" if tensor.is_nested else "sparse or otherwise packed"
        kind, fix = ("quantized", "dequantize()") if tensor.is_quantized else (packed, "to_dense()")
        if tensor.is_nested and jagged:
            fix = "make it with layout=torch.jagged"
        argument = f"{signature.shown_name}(): {param.name}"
        raise ArgumentError(messages.NOT_DENSE.format(argument=argument, layout=kind, fix=fix))


CHECK_DOMAINS = "OPWRIGHT_CHECK_DOMAINS"
"""If this environment variable is 1, all values of tensors are compared with their domains, on every device."""


@functools.cache
def checks_all_domains() -> bool:
    """Return whether all values of tensors are compared with their domains, not only indices on the CPU."""
    return os.environ.get(CHECK_DOMAINS, "0") not in ("", "0")


def check_values(signature: Signature, call: Arguments, binding: Binding, *, on_cpu: bool = True) -> None:
    """Refuse a call if an overwritten tensor overlaps another argument or itself, or an element isn't in its domain.

    Of values, only indices on the CPU are checked, unless OPWRIGHT_CHECK_DOMAINS=1: a kernel with a wrong index reads
    or writes foreign memory. On a GPU the check would have to wait for the device, and floats in a wrong domain do no
    such harm.
    """
    check_overlaps(signature, call.tensors)
    for param, tensor in zip(signature.tensors, call.tensors, strict=True):
        if param.domain is None or tensor is None or not tensor.numel():
            continue
        if (on_cpu and not tensor.is_floating_point()) or checks_all_domains():
            _check_domain(signature, call, binding, param, tensor)


@contextlib.contextmanager
def memory_for(signature: Signature, what: str, shape: Sequence[int], dtype: torch.dtype) -> Iterator[None]:
    """Add the operator's and the tensor's name to PyTorch's error if a tensor can't be allocated.

    Raises:
        OpwrightError: there isn't enough memory for the tensor.
    """
    try:
        yield
    except RuntimeError as error:
        size = functools.reduce(lambda product, n: product * float(n), shape, dtype.itemsize / (1 << 30))
        listed, reason = ", ".join(map(str, shape)), str(error).partition("\n")[0]
        facts = {"tensor": what, "shape": listed, "gibibytes": f"{size:.3g}", "reason": reason}
        raise OpwrightError(messages.OUT_OF_MEMORY.format(name=signature.shown_name, **facts)) from error


def _check_domain(
    signature: Signature, call: Arguments, binding: Binding, param: TensorParam, tensor: torch.Tensor
) -> None:
    interval = _interval(signature, binding, param)
    with memory_for(signature, f"a contiguous copy of {param.name}", tensor.shape, tensor.dtype):
        values = tensor.contiguous().reshape(-1)
    if values.is_floating_point():
        wide = values.double()
        lower, upper = interval.conditions(wide, whole=False)
        outside = ~(lower & upper)
    else:
        outside, wide = _outside(values, interval)
    if outside.any():
        position = int(outside.nonzero()[0])
        raise index_error(signature, binding, param, call.infos(), position, wide[position].item())


def _outside(values: torch.Tensor, interval: Interval) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which integers aren't in the interval, and all of them as int64."""
    wide = values.view(torch.int64) if values.dtype is torch.uint64 else values.to(torch.int64)
    first, last = interval.first, interval.last
    if values.dtype is torch.uint64:  # values beyond int64's range look negative here
        first = max(first, 0)
    return (wide < first) | (wide > last), wide


def _interval(signature: Signature, binding: Binding, param: TensorParam) -> Interval:
    assert param.domain is not None  # noqa: S101 - called for tensors that have one
    try:
        interval = param.domain.interval(binding.axes)
    except ZeroDivisionError as error:
        raise too_large(signature) from error
    if not interval.fits:
        raise too_large(signature)
    return interval
