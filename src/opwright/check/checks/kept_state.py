"""Check of state that is kept between calls: earlier calls must not change later results."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from opwright.check.calls.cases import Arguments, Case
from opwright.check.context import Context, crash_in_fork
from opwright.check.isolation.fork import run_in_fork
from opwright.check.registry import register
from opwright.check.report import Finding

_SIZES = (3, 2, 5, 1, 17)
_REPEATED = "the same call gives another result the next time: something is kept"
_CHANGED_BETWEEN = "the same call gives another result where one with other numbers was between: something is kept"
_CHANGED_AFTER = "a call gives another result after one with other numbers, of the same sizes: something is kept"
_CALLS = {"quick": 6, "normal": 15, "thorough": 200}


@register("history", group="values", share=0.5)
def history(context: Context) -> Iterator[Finding]:
    """Repeat calls after other calls in forked children, which start in the same state: results must be the same."""
    context.require_cpu("a forked child can't use another device")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        del arguments
        other = replace(case, seed=case.seed + 1, values="wide")
        with contextlib.suppress(TimeoutError):
            return _kept_state(context, [case, case, case], _REPEATED) or _state_after_other(context, case, other)
        return None

    if finding := context.find(judge, sizes=_SIZES, examples=_CALLS[context.level]):
        yield finding
    context.detail = f"{context.tried} calls, repeated, and with another one between"


def _state_after_other(context: Context, case: Case, other: Case) -> Finding | None:
    """Compare calls with different numbers: the second one with the same call alone, and the first one repeated."""
    seen = _digests(context, [case, other, case]).split(" ")
    if len(seen) == 3 and seen[0] != seen[2]:
        return _kept_state(context, [case, other, case], _CHANGED_BETWEEN)
    alone = _digests(context, [other])
    if len(seen) != 3 or seen[1] == alone or not all(map(_is_digest, [alone, *seen])):
        return None
    same = _digests(context, [other]) == alone and _digests(context, [case, other, case]).split(" ") == seen
    return Finding("keeps-state", _CHANGED_AFTER) if same else None


def _kept_state(context: Context, calls: Sequence[Case], message: str) -> Finding | None:
    """Return a finding if the first and last of `calls`, which are the same, differ in each of two forked children."""
    seen = _digests(context, calls)
    again = f"for _ in range({len(calls)}):\n    {{call}}"
    if finding := crash_in_fork(context, calls[0], seen, "called three times: ", again):
        return finding
    digests = seen.split(" ")
    if len(digests) != len(calls) or digests[0] == digests[-1] or not all(map(_is_digest, digests)):
        return None
    return Finding("keeps-state", message) if _digests(context, calls) == seen else None


def _digests(context: Context, calls: Sequence[Case]) -> str:
    return run_in_fork(lambda: " ".join(_digest(context, case) for case in calls))


def _digest(context: Context, case: Case) -> str:
    """Hash the bits of a call's results and overwritten arguments."""
    operator, arguments = context.operator, case.arguments()
    torch.manual_seed(context.seed)
    digest = hashlib.sha256()
    for tensor in operator.call_all(arguments, case.types):
        dense = tensor.detach().contiguous().reshape(-1)
        digest.update(bytes(dense.view(torch.uint8).tolist()) if dense.numel() else b"")
    return digest.hexdigest()


def _is_digest(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2
