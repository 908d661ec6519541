"""The finding of a call that ended its process, with a reproducer that was tried."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from opwright.check.calls.cases import can_have_gradient, positional
from opwright.check.calls.given_domains import likely_domain
from opwright.check.calls.last_call import BACKWARD, FORWARD, IDLE, CallMemory, LastCall
from opwright.check.calls.reproducer import gradient_reproducer, reproducer
from opwright.check.calls.target_operator import TargetOperator, describe_call
from opwright.check.report import Finding

if TYPE_CHECKING:
    from opwright.check.isolation.worker import Death
    from opwright.check.report import Outcome
    from opwright.check.request import Request

_SECONDS = 60.0
"""Time for one reproducer; most need three seconds, of which PyTorch's import takes two."""
_REPEATED = 16
_WHAT = {FORWARD: "a call", BACKWARD: "the backward of a call", IDLE: "what followed a call"}
_RETURNED = "opwright: it returned"


def describe_death(request: Request, operator: TargetOperator, death: Death, memory: int) -> Outcome:
    """Return the outcome of the check that a process died in, with the call and its reproducer."""
    shared = CallMemory(memory)
    text, code = f"it {death.how}", ""
    with contextlib.suppress(Exception):  # the process may have overwritten what it shares
        if last := shared.read():
            arguments = positional(operator.signature, last.arguments)
            text = f"{_WHAT[last.doing]} {death.how}\n  the call: {describe_call(operator.signature, arguments)}"
            text += likely_domain(operator, last.arguments)
            code = _first_that_crashes(request, operator, death, last)
    if death.words:
        text += "\n  it said: " + "\n           ".join(death.words.splitlines())
    shared.clear()
    return replace(death.outcome, findings=[*death.outcome.findings, Finding(death.kind, text, code)])


def _first_that_crashes(request: Request, operator: TargetOperator, death: Death, last: LastCall) -> str:
    """Return the first reproducer that ends its process; if none does, one that repeats the check."""
    ways = list(_reproducers(operator, last))
    if death.kind != "crashes" or not death.is_first:  # it would take all the time or memory, or is shown on request
        return ways[0]
    return next((code for code in ways if _crashes(code)), None) or _check_again(request, operator, death)


def _reproducers(operator: TargetOperator, last: LastCall) -> Iterator[str]:
    """Yield reproducers of a call, the likeliest first."""
    backward = last.requires_grad and last.doing != FORWARD
    differentiable = {tensor.name for tensor in operator.differentiable}
    if backward and any(can_have_gradient(value) and name in differentiable for name, value in last.arguments.items()):
        yield gradient_reproducer(operator, last.arguments, layout="contiguous")
    yield reproducer(operator, last.arguments, types=last.types)
    repeated = f"for _ in range({_REPEATED}):  # once isn't enough: it keeps something between calls\n    {{call}}"
    yield reproducer(operator, last.arguments, repeated, types=last.types)


def _check_again(request: Request, operator: TargetOperator, death: Death) -> str:
    """Write code that runs the check again in its own process: the call alone doesn't show it."""
    options = {name: value for name, value in request.options.items() if value not in (None, (), False)}
    options |= {"level": request.level, "seed": request.seed, "only": (death.outcome.check,), "isolate": False}
    lines = ["# no call by itself does it: the check's calls in their order do", *operator.imports]
    if "import opwright" not in lines:
        lines.append("import opwright")
    if isinstance(request.reference, str):
        options["reference"] = request.reference
    words = ", ".join(f"{name}={value!r}" for name, value in options.items())
    signature = "" if operator.ours else f", signature={str(operator.signature)!r}"
    return "\n".join([*lines, f"opwright.check({operator.expression}{signature}, {words})"])


def _crashes(code: str) -> bool:
    """Return whether a process that runs `code` is ended by it: not by its last line, nor by an exception."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}\nprint({_RETURNED!r})"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return _RETURNED not in done.stdout and (done.returncode < 0 or "Traceback (most recent" not in done.stderr)
