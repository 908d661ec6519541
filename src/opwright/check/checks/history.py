"""What was called before: it must not matter."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from opwright.check.alone import survived
from opwright.check.context import Context
from opwright.check.first import killed
from opwright.check.inputs import Arguments, Case
from opwright.check.registry import register
from opwright.check.report import Finding

_SIZES = (3, 2, 5, 1, 17)
_REPEATED = "the same call gives another result the next time: something is kept"
_BETWEEN = "the same call gives another result where one with other numbers was between: something is kept"
_AFTER = "a call gives another result after one with other numbers, of the same sizes: something is kept"
_CALLS = {"quick": 6, "normal": 15, "thorough": 200}


@register("history", group="values", share=0.5)
def history(context: Context) -> Iterator[Finding]:
    """A call gives the same after other calls; told from chance in copies of the process, which all begin alike."""
    context.only_on_the_cpu("a copy of the process can't use another device")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        del arguments
        other = replace(case, seed=case.seed + 1, values="wide")
        with contextlib.suppress(TimeoutError):
            return _kept(context, [case, case, case], _REPEATED) or _between(context, case, other)
        return None

    if finding := context.find(judge, sizes=_SIZES, examples=_CALLS[context.level]):
        yield finding
    context.detail = f"{context.tried} calls, repeated, and with another one between"


def _between(context: Context, case: Case, other: Case) -> Finding | None:
    """What is wrong with two calls that differ in their numbers, for the second one or, again, the first one."""
    seen = _digests(context, [case, other, case]).split(" ")
    if len(seen) == 3 and seen[0] != seen[2]:
        return _kept(context, [case, other, case], _BETWEEN)
    alone = _digests(context, [other])
    if len(seen) != 3 or seen[1] == alone or not all(map(_is_digest, [alone, *seen])):
        return None
    same = _digests(context, [other]) == alone and _digests(context, [case, other, case]).split(" ") == seen
    return Finding("keeps-state", _AFTER) if same else None


def _kept(context: Context, calls: Sequence[Case], message: str) -> Finding | None:
    """What is wrong where the first and the last call, which are the same, differ, in each copy of the process."""
    seen = _digests(context, calls)
    if found := killed(context, calls[0], seen, "called three times: "):
        return found
    digests = seen.split(" ")
    if len(digests) != len(calls) or digests[0] == digests[-1] or not all(map(_is_digest, digests)):
        return None
    return Finding("keeps-state", message) if _digests(context, calls) == seen else None


def _digests(context: Context, calls: Sequence[Case]) -> str:
    return survived(lambda: " ".join(_digest(context, case) for case in calls))


def _digest(context: Context, case: Case) -> str:
    """The bits of all that a call gives and overwrites."""
    subject, arguments = context.subject, case.arguments()
    torch.manual_seed(context.seed)
    made = subject.call(arguments, case.sample.binding.types)
    written = [arguments[t.name] for t in subject.signature.mutated if arguments[t.name] is not None]
    digest = hashlib.sha256()
    for tensor in (*made, *written):
        dense = tensor.detach().contiguous().reshape(-1)
        digest.update(bytes(dense.view(torch.uint8).tolist()) if dense.numel() else b"")
    return digest.hexdigest()


def _is_digest(text: str) -> bool:
    return len(text) == hashlib.sha256().digest_size * 2
