"""Is it right? ``opwright.check`` tries an operator on calls drawn from its signature."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

from opwright.check.asked import Several, refuse
from opwright.check.device import loading, of_tensors
from opwright.check.registry import Level
from opwright.check.report import Finding, Outcome, Report
from opwright.check.runner import Progress, run
from opwright.check.sanitizer import adding
from opwright.check.subject import Reference
from opwright.check.targets import subjects

__all__ = ["Finding", "Outcome", "Report", "check"]


def check(
    op: Any,
    reference: Reference | str | None = None,
    *,
    signature: str | Sequence[str] | None = None,
    level: Level = "normal",
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    seed: int = 0,
    device: str = "cpu",
    ulp: float | None = None,
    straight_through: Sequence[str] = (),
    eps: float | None = None,
    signed_zero: bool = False,
    sanitize: Sequence[str] = (),
    progress: Progress | None = None,
) -> Report:
    """Try an operator on calls drawn from its signature, in every way that PyTorch may use it.

    Args:
        op: a source file; ``"module:name"`` or ``"file.py:name"``; what ``load`` gave; an operator of ``torch.ops``; a
            subclass of ``torch.autograd.Function``; a forward and a backward; any callable.
        reference: a function that is known to be right: it takes the same arguments, what is floating as float64; or
            where to find it: ``"module:name"``, ``"file.py:name"``, ``"file.cpp:name"`` (a source file's operator).
        signature: where Opwright didn't build the operator: its signature; one for each of a pair of callables.
        level: ``"quick"`` takes seconds, ``"normal"`` less than a minute for a small operator, ``"thorough"`` a night.
        only: names of checks or groups; none: all that the level has.
        skip: names of checks or groups to leave out.
        seed: where all draws come from. hypothesis also draws numbers that stand in modules of yours that are loaded.
        device: ``"cuda"``, or another device of PyTorch's: it is called with that one's tensors, and compared with
            its kernel for the CPU; ``"emulated"``: of a source file, the CUDA kernels, run on the CPU.
        ulp: how far a value may be off, in units of its type's last place, in place of 64 (8 of halves); 0.5 of
            one that is rounded as IEEE 754 has it.
        straight_through: ``("x",)`` or ``("round.x",)``: inputs whose gradient isn't meant to be the derivative, so
            isn't compared with it.
        eps: say how `torch.autograd.gradcheck` fares with this step in float32, and why.
        signed_zero: whether zeros have to have the sign of the reference's.
        sanitize: which sanitizers the kernels are built with, in a process of their own, of ``"address"``,
            ``"undefined"``, ``"thread"``; none: the first two, unless `level` is ``"quick"``.
        progress: called with operator, check, how many are done, how many there are.

    Returns:
        A `Report`: ``report.ok``, ``report.findings``, ``str(report)``, ``report.to_json()``, ``report.to_junit()``.

    Raises:
        SignatureError: a signature is missing, isn't wanted, or can't be read.
        SourceError: the target can't be found, or has kernels for CUDA alone, and `device` is the CPU.
        ModuleNotFoundError: hypothesis isn't installed.
        TypeError: `straight_through` is one string.
        ValueError: there is no such check, level or sanitizer; no such device here, or not for what is checked; an
            option that would do nothing; `ulp` is negative, or `eps` is no step.
    """
    if level not in ("quick", "normal", "thorough"):
        raise ValueError(f"check() got level={level!r}, expected 'quick', 'normal' or 'thorough'")
    if isinstance(straight_through, str):
        raise TypeError(f"check() got straight_through={straight_through!r}, expected names: ({straight_through!r},)")
    if ulp is not None and not ulp >= 0:
        raise ValueError(f"check() got ulp={ulp!r}, expected 0 or more units of the last place")
    if eps is not None and not 0 < eps < math.inf:
        raise ValueError(f"check() got eps={eps!r}, expected a step above 0")
    wanted = tuple(sanitize.split(",") if isinstance(sanitize, str) else sanitize)
    also = adding(wanted)
    tensors = of_tensors(device)
    ops = op if isinstance(op, Several) else (op,)
    every = [subjects(o, signature=signature, reference=reference, load_options=loading(o, device)) for o in ops]
    found = [replace(subject, device=tensors) for each in every for subject in each]
    refuse(found, straight_through=straight_through, sanitize=wanted)
    options = {
        "ulp": ulp,
        "straight_through": tuple(straight_through),
        "eps": eps,
        "signed_zero": signed_zero,
        "sanitize": wanted,
    }
    return run(found, level=level, only=only, skip=skip, also=also, seed=seed, options=options, progress=progress)


class _Callable(ModuleType):
    """The package has its function's name: importing a part of it must not hide the function."""

    __call__ = staticmethod(check)


sys.modules[__name__].__class__ = _Callable
