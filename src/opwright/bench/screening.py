"""Screening before the timing: leaves out candidates that crash, or compute something else than the operator."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from opwright.bench.results.measurement import Phase
from opwright.bench.results.report import Report
from opwright.bench.tasks import Candidate, Function, NoGradientError, Tensors
from opwright.check.calls.cases import can_have_gradient, is_floating
from opwright.check.calls.target_operator import TargetOperator, as_tensors, as_tuple
from opwright.check.isolation.fork import KILLED, run_in_fork
from opwright.check.targets import registered_operator
from opwright.errors import OpwrightError
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import Binding

if TYPE_CHECKING:
    from opwright.bench.point import Setting


def agreeing_candidates(
    setting: Setting, tensors: Tensors, label: str, phases: Sequence[Phase], report: Report
) -> list[Candidate]:
    """Return the candidates that compute the same as the operator; none if a call of the operator crashes."""
    agreeing: list[Candidate] = []
    for candidate in setting.candidates:
        prepared = candidate.prepared()
        prefix = f"{candidate.name}: not measured at {label or 'its only size'}"
        if crash := find_crash(tensors, prepared, phases, setting.silent):
            report.crashes.append(f"{prefix}: {crash}")
            if not agreeing:
                break
        elif agreeing and (reason := _reason_to_exclude(tensors, agreeing[0].function, prepared.function, phases)):
            report.note(f"{prefix}: {reason}")
        else:
            agreeing.append(prepared)
    return agreeing


def find_crash(tensors: Tensors, candidate: Candidate, phases: Sequence[Phase], silent: set[str]) -> str:
    """Return which signal kills a forked child that calls the candidate; empty if it returns, or this can't be tried.

    Only operators that Opwright built are tried: in a forked child, other functions may wait for threads that don't
    exist there. A candidate that doesn't return is added to `silent`, the names that aren't tried again.
    """
    built = registered_operator(candidate.function) if isinstance(candidate.function, OpOverload) else None
    if built is None or not built.sources or tensors.device != "cpu" or candidate.name in silent:
        return ""
    _compile(built, tensors.sample.binding)
    try:
        outcome = run_in_fork(partial(_call_phases, tensors, candidate, phases))
    except TimeoutError:
        silent.add(candidate.name)
        return ""
    return f"a forked child that calls it is {outcome}" if outcome.startswith(KILLED) else ""


def _compile(subject: TargetOperator, binding: Binding) -> None:
    """Compile in this process, without the child's time limit; the first call raises compiler errors."""
    for source in subject.sources:
        with contextlib.suppress(OpwrightError):
            if subject.name in {kernel.signature.name for kernel in source.kernels("cpu")}:
                source.library(binding.types, device="cpu")


def _call_phases(tensors: Tensors, candidate: Candidate, phases: Sequence[Phase]) -> str:
    """Call each phase once; exceptions don't count as crashes."""
    for phase in phases:
        with contextlib.suppress(Exception):
            tensors.task(candidate.function, phase).run_once()
    return ""


def _reason_to_exclude(tensors: Tensors, ours: Function, other: Function, phases: Sequence[Phase]) -> str | None:
    try:
        return disagreement(tensors, ours, other, phases)
    except Exception as error:  # noqa: BLE001 - after any error of an alternative, the others are measured
        return f"it raised {type(error).__name__}: {error}"


def disagreement(tensors: Tensors, ours: Function, other: Function, phases: Sequence[Phase]) -> str | None:
    """Return how the other function's results or gradients differ from the operator's; None if they don't.

    Differences that rounding can explain are ignored: up to the square root of the element type's precision, relative
    to the tensor's largest number. Random operators aren't compared.
    """
    if tensors.subject.signature.generator is not None:
        return None
    compared: list[Phase] = ["forward", *(["backward"] if {"backward", "both"} & set(phases) else [])]  # type: ignore[list-item]
    return next(filter(None, (_phase_disagreement(tensors, ours, other, phase) for phase in compared)), None)


def _phase_disagreement(tensors: Tensors, ours: Function, other: Function, phase: Phase) -> str | None:
    try:
        expected, actual = _values(tensors, ours, phase), _values(tensors, other, phase)
    except NoGradientError:
        return None
    if len(actual) != len(expected):
        return f"it gives {len(actual)} results, the operator {len(expected)}"
    differences = map(_difference, _names(tensors, phase), actual, expected)
    return next(filter(None, differences), None)


def _values(tensors: Tensors, function: Function, phase: Phase) -> list[Any]:
    values = list(as_tuple(tensors.task(function, phase).run_once()))
    if phase == "forward":
        values = list(as_tensors(values))
        values += [tensors.arguments[name].clone() for name in tensors.originals]
    return values


def _names(tensors: Tensors, phase: Phase) -> list[str]:
    if phase == "backward":
        return [f"grad_{name}" for name in tensors.leaves]
    return [*(output.name for output in tensors.subject.signature.outputs), *tensors.originals]


def _difference(name: str, actual: Any, expected: Any) -> str | None:
    """Describe the difference of an alternative's result or gradient from the operator's; None if there is none."""
    if actual is None or expected is None:
        present = actual if actual is not None else expected
        return None if present is None or not bool(present.any()) else f"{name} has no gradient in one of them"
    if actual.shape != expected.shape:
        return f"{name} has shape {tuple(actual.shape)}, the operator's {tuple(expected.shape)}"
    if not (is_floating(expected) or expected.dtype.is_complex):
        return None if bool((actual == expected).all()) else f"{name} differs from the operator's"
    if count := int((torch.isnan(actual) != torch.isnan(expected)).sum()):
        return f"{name}: {count} of {expected.numel()} elements are NaN in one of them alone"
    inexact = [t.dtype for t in (actual, expected) if t.dtype.is_floating_point or t.dtype.is_complex]
    precision = max(torch.finfo(dtype).eps for dtype in inexact)
    if not can_have_gradient(expected):  # 8-bit floats have no arithmetic
        actual, expected = actual.double(), expected.double()
    errors, values = (actual - expected).abs().double().nan_to_num(), expected.abs().double().nan_to_num(posinf=0.0)
    worst, largest = (float(t.max()) if t.numel() else 0.0 for t in (errors, values))
    if worst <= precision**0.5 * largest + precision:
        return None
    return f"{name} differs by {worst:.2g} where the largest number is {largest:.2g}"
