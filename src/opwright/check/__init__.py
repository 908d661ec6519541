"""Is it right? ``opwright.check`` tries an operator on calls drawn from its signature."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright.check.registry import Level
from opwright.check.report import Finding, Outcome, Report
from opwright.check.runner import Progress, run
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
    progress: Progress | None = None,
    **options: Any,
) -> Report:
    """Try an operator on calls drawn from its signature, in every way that PyTorch may use it.

    Args:
        op: a source file; ``"module:name"`` or ``"file.py:name"``; what ``load`` gave; an operator of ``torch.ops``; a
            subclass of ``torch.autograd.Function``; a forward and a backward; any callable.
        reference: a function that is known to be right: it takes the same arguments, what is floating as float64.
        signature: where Opwright didn't build the operator: its signature; one for each of a pair of callables.
        level: ``"quick"`` takes seconds, ``"normal"`` less than a minute for a small operator, ``"thorough"`` a night.
        only: names of checks or groups; none: all that the level has.
        skip: names of checks or groups to leave out.
        seed: where all draws come from.
        progress: called with operator, check, how many are done, how many there are.
        device: ``"emulated"``: of a source file, the CUDA kernels, run on the CPU.
        options: ``straight_through=("x",)`` or
            ``("round.x",)``: inputs whose gradient isn't meant to be the derivative, so isn't compared with it.
            ``eps=1e-4``: say how `torch.autograd.gradcheck` fares with this step in float32, and why.

    Returns:
        A `Report`: ``report.ok``, ``report.findings``, ``str(report)``, ``report.to_json()``, ``report.to_junit()``.

    Raises:
        SignatureError: a signature is missing or can't be read.
        SourceError: the target can't be found.
        ValueError: there is no such check.
    """
    if level not in ("quick", "normal", "thorough"):
        raise ValueError(f"check() got level={level!r}, expected 'quick', 'normal' or 'thorough'")
    if device not in ("cpu", "emulated"):
        raise ValueError(f"check() got device={device!r}, expected 'cpu' or 'emulated'")
    loading = {"backend": "emulate"} if device == "emulated" else None
    found = subjects(op, signature=signature, reference=reference, load_options=loading)
    return run(found, level=level, only=only, skip=skip, seed=seed, options=options, progress=progress)


class _Callable(ModuleType):
    """The package has its function's name: importing a part of it must not hide the function."""

    __call__ = staticmethod(check)


sys.modules[__name__].__class__ = _Callable
