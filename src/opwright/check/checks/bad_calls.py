"""Check of calls that don't fit the signature: each must raise an error that names the argument."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case, describe_tensor, dtype_name
from opwright.check.calls.reproducer import reproducer
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.context import Context
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.errors import ArgumentError
from opwright.signature import GeneratorParam, ScalarParam, Signature, TensorParam, bind
from opwright.signature.binding import TensorInfo
from opwright.signature.chosen.kinds import AxisKind, DtypeKind
from opwright.signature.domains import LARGEST, LEAST, Interval
from opwright.signature.dtypes import BY_ANY_NAME, DType

_CASES = 4


@dataclass(frozen=True)
class _Mistake:
    what: str
    argument: str
    value: Any


@register("bad calls", group="calls", share=0.5)
def bad_calls(context: Context) -> Iterator[Finding]:
    """Require that wrong types, devices, element types, shapes and values outside domains are refused with words."""
    if not context.operator.ours:
        raise Skipped("its signature was given from outside: it may take more than that says")
    if not context.operator.signature.tensors:
        raise Skipped("it takes no tensor")
    findings: dict[tuple[str, str], Finding] = {}
    tried = 0
    for case in context.examples(_CASES, sizes=(2, 3, 5), contiguous=True):
        arguments = case.arguments()
        outside = _outside_domains(context.operator, case, arguments)
        for mistake in (*_mistakes(context.operator.signature, arguments), *outside):
            tried += 1
            finding = _judge(context, {**arguments, mistake.argument: mistake.value}, mistake)
            if finding:
                findings.setdefault((mistake.what, mistake.argument), finding)
    context.detail = f"{tried} calls with one mistake each"
    yield from findings.values()


def _judge(context: Context, arguments: Arguments, mistake: _Mistake) -> Finding | None:
    operator = context.operator
    try:
        operator.call(arguments)
    except Exception as error:  # noqa: BLE001 - any error that names the argument will do
        # `x` isn't named by "expected".
        if re.search(rf"(?<!\w){re.escape(mistake.argument)}(?!\w)", str(error)):
            return None
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Finding(
            "unnamed-argument",
            f"{mistake.argument} {mistake.what}: the error doesn't name it: {type(error).__name__}: {text}",
            reproducer(operator, arguments),
        )
    return Finding(
        "accepts-bad-call",
        f"{mistake.argument} {mistake.what}, and the call is not refused\n  signature: {operator.signature}",
        reproducer(operator, arguments),
    )


def _mistakes(signature: Signature, arguments: Arguments) -> Iterator[_Mistake]:
    """Yield mistakes by the signature's own rules; a changed argument that still fits the signature is skipped."""
    for tensor in signature.tensors:
        value = arguments[tensor.name]
        if value is None:
            continue
        yield from _tensor_mistakes(signature, tensor, value, arguments)
    with_axes = [name for name, value in arguments.items() if isinstance(value, torch.Tensor) and value.dim()]
    for tensor in signature.tensors:  # PyTorch allows CPU tensors without axes with any device
        if arguments[tensor.name] is not None and set(with_axes) - {tensor.name}:
            yield _Mistake("is on another device (meta)", tensor.name, arguments[tensor.name].to("meta"))
    for scalar in signature.scalars:
        wrong: Any = scalar.kind.refused_value
        yield _Mistake(f"is {wrong!r}", scalar.name, wrong)
        if scalar.name in signature.sizes:
            yield _Mistake("is -1, and the size of an axis", scalar.name, -1)
        if isinstance(scalar.kind, DtypeKind):
            other = next(dtype for dtype in DType if dtype not in signature.allowed(scalar.kind.variable))
            yield _Mistake(f"is torch.{other.torch_name}", scalar.name, getattr(torch, other.torch_name))
        if isinstance(scalar.kind, AxisKind):
            yield from _axes_beyond(signature, scalar, arguments)


def _axes_beyond(signature: Signature, chosen: ScalarParam, arguments: Arguments) -> Iterator[_Mistake]:
    """Yield numbers of axes that the tensors don't have."""
    around = (arguments[tensor.name] for tensor in signature.tensors if signature.grouping.surrounds(tensor))
    rank = next(tensor.dim() for tensor in around if isinstance(tensor, torch.Tensor))
    for number in (rank + 1, -rank - 2):
        yield _Mistake(f"is {number}, and there is no such axis", chosen.name, number)


def _outside_domains(operator: TargetOperator, case: Case, arguments: Arguments) -> Iterator[_Mistake]:
    """Yield values beside the ends of domains; of tensors, those of integers, which are always checked on the CPU."""
    signature = operator.signature
    known = case.sample.named
    for param in signature.inputs:
        if isinstance(param, GeneratorParam) or param.domain is None or param.name in operator.assumed:
            continue
        interval = param.domain.interval(known)
        what = f"outside {param.domain.described(known)}"
        if isinstance(param, ScalarParam):
            values = _integers_beside(interval) if param.kind.is_whole else _floats_beside(interval)
            for value in values:
                given = arguments[param.name]
                wrong = [value, *given[1:]] if isinstance(given, list) else value
                if wrong != [] and given != []:
                    yield _Mistake(f"is {wrong!r}, {what}", param.name, wrong)
        elif operator.device == "cpu" and (given := arguments[param.name]) is not None and given.numel():
            for value in [] if given.is_floating_point() else _integers_beside(interval):
                if torch.iinfo(given.dtype).min <= value <= torch.iinfo(given.dtype).max:
                    changed = given.clone(memory_format=torch.contiguous_format)
                    changed.view(-1)[-1] = value
                    yield _Mistake(f"has an element that is {value}, {what}", param.name, changed)


def _integers_beside(interval: Interval) -> list[int]:
    return [value for value in (interval.first - 1, interval.last + 1) if LEAST < value < LARGEST]


def _floats_beside(interval: Interval) -> list[float]:
    values = [math.nan]
    for end, is_closed, beyond in (
        (float(interval.low), interval.low_closed, -math.inf),
        (float(interval.high), interval.high_closed, math.inf),
    ):
        if not is_closed or math.isfinite(end):
            values.append(math.nextafter(end, beyond) if is_closed else end)
    return values


def _tensor_mistakes(
    signature: Signature, tensor: TensorParam, value: torch.Tensor, arguments: Arguments
) -> Iterator[_Mistake]:
    yield _Mistake("is a str", tensor.name, "text")
    yield _Mistake("is sparse", tensor.name, torch.zeros(value.shape).to_sparse().to(value.dtype))
    if not tensor.optional:
        yield _Mistake("is None", tensor.name, None)
    changes: dict[str, Callable[[], torch.Tensor]] = {
        "has another element type": lambda: torch.ones_like(value, dtype=_other_dtype(value.dtype)),
        "has another floating type": lambda: torch.ones_like(value, dtype=_other_floating_dtype(value.dtype)),
        "has one axis more": lambda: value.unsqueeze(0),
        "has one axis less": lambda: value.select(0, 0),
        "is longer": lambda: torch.cat([value, value], 0),
    }
    for what, change in changes.items():
        if what in {"has one axis less", "is longer"} and not (value.dim() and value.size(0)):
            continue
        if what == "has another floating type" and not value.is_floating_point():
            continue
        wrong = change()
        if not _fits(signature, {**arguments, tensor.name: wrong}):
            yield _Mistake(f"{what} ({describe_tensor(wrong)})", tensor.name, wrong)


def _other_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.complex64 if dtype.is_floating_point else torch.float32


def _other_floating_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return a floating type that is refused if other arguments, or the signature, determine the type."""
    return torch.float32 if dtype == torch.float64 else torch.float64


def _fits(signature: Signature, arguments: Arguments) -> bool:
    infos = {
        tensor.name: TensorInfo(tuple(value.shape), BY_ANY_NAME[dtype_name(value.dtype)])
        for tensor in signature.tensors
        if (value := arguments[tensor.name]) is not None
    }
    try:
        bind(signature, infos, scalars={s.name: arguments[s.name] for s in signature.scalars})
    except (ArgumentError, ZeroDivisionError):
        return False
    return True
