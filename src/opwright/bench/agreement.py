"""Whether an alternative computes what the operator computes: only then is it worth timing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from opwright.bench.calls import Candidate, Function, NoGradientError, Tensors
from opwright.bench.report import Phase, Report
from opwright.bench.setting import Request, Setting, note
from opwright.bench.survival import fatal
from opwright.check.returned import as_tuple


def agreeing(setting: Setting, tensors: Tensors, label: str, asked: Request, report: Report) -> list[Candidate]:
    """The candidates that compute what the operator computes; none where a call of the operator ends the process."""
    kept: list[Candidate] = []
    for each in setting.candidates:
        here = each.at_a_point()
        where = f"{each.name}: not measured at {label or 'its only size'}"
        if said := fatal(tensors, here, asked.phases, setting.silent):
            report.crashes.append(f"{where}: {said}")
            if not kept:
                break
        elif kept and (differs := _said(tensors, kept[0].function, here.function, asked.phases)):
            note(report, f"{where}: {differs}")
        else:
            kept.append(here)
    return kept


def _said(tensors: Tensors, ours: Function, other: Function, phases: Sequence[Phase]) -> str | None:
    try:
        return disagreement(tensors, ours, other, phases)
    except Exception as error:  # noqa: BLE001 - whatever an alternative raises, the others are measured
        return f"it raised {type(error).__name__}: {error}"


def disagreement(tensors: Tensors, ours: Function, other: Function, phases: Sequence[Phase]) -> str | None:
    """How the other function's results or gradients differ from the operator's; None where they don't.

    A difference is one that rounding can't make: beyond the square root of the element type's precision, of the size of
    the tensor's largest number. What is random isn't compared.
    """
    if tensors.subject.signature.generator is not None:
        return None
    return _of_phase(tensors, ours, other, "forward") or (
        _of_phase(tensors, ours, other, "backward") if set(phases) & {"backward", "both"} else None
    )


def _of_phase(tensors: Tensors, ours: Function, other: Function, phase: Phase) -> str | None:
    try:
        expected, got = _values(tensors, ours, phase), _values(tensors, other, phase)
    except NoGradientError:
        return None
    if len(got) != len(expected):
        return f"it gives {len(got)} results, the operator {len(expected)}"
    compared = zip(_names(tensors, phase), got, expected, strict=True)
    return next((said for name, one, two in compared if (said := _difference(name, one, two))), None)


def _values(tensors: Tensors, function: Function, phase: Phase) -> list[Any]:
    task = tensors.task(function, phase)
    if task.before is not None:
        task.before()
    made = list(as_tuple(task.call()))
    if phase == "forward":
        made += [tensors.arguments[name].clone() for name in tensors.originals]
    return made


def _names(tensors: Tensors, phase: Phase) -> list[str]:
    if phase == "backward":
        return [f"grad_{name}" for name in tensors.leaves]
    return [*(output.name for output in tensors.subject.signature.outputs), *tensors.originals]


def _difference(name: str, got: Any, expected: Any) -> str | None:
    if got is None or expected is None:
        missing = got if got is not None else expected
        return None if missing is None or not bool(missing.any()) else f"{name} has no gradient in one of them"
    if got.shape != expected.shape:
        return f"{name} has shape {tuple(got.shape)}, the operator's {tuple(expected.shape)}"
    if not expected.dtype.is_floating_point and not expected.dtype.is_complex:
        return None if bool((got == expected).all()) else f"{name} differs from the operator's"
    precision = max(
        torch.finfo(each.dtype).eps for each in (got, expected) if each.dtype.is_floating_point or each.dtype.is_complex
    )
    if count := int((torch.isnan(got) != torch.isnan(expected)).sum()):
        return f"{name}: {count} of {expected.numel()} elements are NaN in one of them alone"
    off = (got - expected).abs().double().nan_to_num()
    size = float(expected.abs().double().nan_to_num(posinf=0.0).max()) if expected.numel() else 0.0
    worst = float(off.max()) if off.numel() else 0.0
    return (
        None
        if worst <= precision**0.5 * size + precision
        else f"{name} differs by {worst:.2g} where the largest number is {size:.2g}"
    )
