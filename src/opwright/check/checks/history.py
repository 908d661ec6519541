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
_CALLS = {"quick": 6, "normal": 15, "thorough": 200}


@register("history", group="values", share=0.5)
def history(context: Context) -> Iterator[Finding]:
    """A call gives the same after other calls; told from chance in copies of the process, which all begin alike."""
    context.only_on_the_cpu("a copy of the process can't use another device")

    def judge(case: Case, arguments: Arguments) -> Finding | None:
        del arguments
        other = replace(case, seed=case.seed + 1, values="wide")
        repeated = "the same call gives another result the next time: something is kept"
        between = "the same call gives another result where one with other numbers was between: something is kept"
        with contextlib.suppress(TimeoutError):
            for calls, message in (([case, case, case], repeated), ([case, other, case], between)):
                if found := _kept(context, calls, message):
                    return found
        return None

    if finding := context.find(judge, sizes=_SIZES, examples=_CALLS[context.level]):
        yield finding
    context.detail = f"{context.tried} calls, repeated, and with another one between"


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
