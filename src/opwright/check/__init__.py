"""Checks of operators: ``opwright.check`` calls an operator with arguments drawn from its signature."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opwright.check.report import Finding, Level, Outcome, Report
from opwright.check.request import Request, TargetList
from opwright.tracebacks import entry

if TYPE_CHECKING:
    from opwright.check.calls.example_calls import Examples
    from opwright.check.calls.given_domains import GivenDomains
    from opwright.check.calls.target_operator import Reference
    from opwright.check.listener import Progress

__all__ = ["Finding", "Outcome", "Report", "check"]


@entry
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
    domains: GivenDomains | None = None,
    examples: Examples = None,
    isolate: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Check an operator on calls drawn from its signature, in every way that PyTorch may use it.

    What Opwright built, and what is given by its name, is called in another process, so that a crash is a finding. A
    callable is called in this process, and so is a reference that no other process can import.

    Args:
        op: a source file; ``"module:name"`` or ``"file.py:name"``; the result of ``load``; an operator of
            ``torch.ops``; a subclass of ``torch.autograd.Function``; a forward and a backward; or any callable.
        reference: a function that is known to be right. It takes the same arguments, with floating tensors as float64.
            Or its name: ``"module:name"``, ``"file.py:name"``, ``"file.cpp:name"`` (an operator of a source file).
        signature: the operator's signature, if Opwright didn't build it; for a pair of callables, one signature each.
            For a source file: the signatures of functions without a mark (``ops=`` of `opwright.load`).
        level: ``"quick"`` takes seconds, ``"normal"`` less than a minute for a small operator, ``"thorough"`` a night.
        only: names of checks or groups to run; by default, all checks of the level.
        skip: names of checks or groups to leave out.
        seed: the seed of all random draws. hypothesis also draws numbers that occur in your loaded modules.
        device: ``"cuda"`` or another PyTorch device: the operator is called with tensors of that device, and compared
            with its CPU kernel. ``"emulated"``: the CUDA kernels of a source file are run on the CPU.
        ulp: the tolerance in units of the last place of the result's type, instead of 64 (8 for float16 and bfloat16).
            Use 0.5 for an operator that rounds as IEEE 754 requires.
        straight_through: ``("x",)`` or ``("round.x",)``: inputs whose gradient isn't meant to be the derivative, so it
            isn't compared with the derivative.
        eps: report how `torch.autograd.gradcheck` fares with this step in float32, and why.
        signed_zero: whether zeros must have the same sign as the reference's.
        sanitize: the sanitizers that the kernels are built with, in a child process: ``"address"``, ``"undefined"``,
            ``"thread"``. By default the first two, unless `level` is ``"quick"``.
        domains: ``{"x": (0, 1)}``, or ``{"focal.x": "(0, 1]"}``: the values that inputs may have, where the signature
            doesn't say so. Calls are drawn from them.
        examples: calls of an operator whose arguments have related sizes: a list of tuples (or dictionaries by name), a
            function that returns it, or its name: ``"calls.py:examples"``; of several operators, by their names. Checks
            use these calls, and vary values, layouts and element types. By default, the function ``examples`` in the
            file of the reference.
        isolate: whether to call in another process. Without it, a debugger sees the calls.
        progress: called with the operator, the check, the number of finished checks and the total.

    Returns:
        A `Report`: ``report.ok``, ``report.findings``, ``str(report)``, ``report.to_json()``, ``report.to_junit()``.

    Raises:
        SignatureError: a signature is missing, isn't expected, or can't be parsed.
        SourceError: the target can't be found, or it has only CUDA kernels and `device` is the CPU; or examples don't
            fit a signature.
        ModuleNotFoundError: hypothesis isn't installed.
        TypeError: `straight_through` is a string.
        ValueError: a check, level or sanitizer doesn't exist; the device isn't available, or can't be used for this
            target; an option would have no effect; a domain can't be read; `ulp` is negative; or `eps` isn't a positive
            finite number.
    """
    request = Request(
        targets=tuple(op) if isinstance(op, TargetList) else (op,),
        reference=reference,
        signature=signature,
        level=level,
        only=tuple(only),
        skip=tuple(skip),
        seed=seed,
        device=device,
        domains=dict(domains or {}),
        examples=examples,
        options={
            "ulp": ulp,
            "straight_through": straight_through if isinstance(straight_through, str) else tuple(straight_through),
            "eps": eps,
            "signed_zero": signed_zero,
            "sanitize": tuple(sanitize.split(",") if isinstance(sanitize, str) else sanitize),
        },
    )
    from opwright.check.isolation.worker import inside  # these don't import PyTorch

    isolate = isolate and not inside[0]
    if isolate and request.is_text:
        from opwright.check.isolation.supervisor import supervise

        return supervise(request, progress)
    from opwright.check.isolation.objects import check_objects

    return check_objects(request, progress, isolate=isolate)


class _Callable(ModuleType):
    """A callable module: the package has its function's name, so importing a submodule must not hide the function."""

    __call__ = staticmethod(check)


sys.modules[__name__].__class__ = _Callable
