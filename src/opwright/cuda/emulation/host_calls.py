"""What host code can't call: a ``__device__`` function, a barrier, threadIdx. There is no thread that it could be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from opwright.cuda.emulation.calls import after_template, declares, handed_on
from opwright.cuda.emulation.edits import Edit
from opwright.cuda.emulation.names import index_edits
from opwright.cuda.emulation.regions import Region
from opwright.cuda.emulation.spaces import Body, Functions
from opwright.errors import CompileError
from opwright.sources.tokens import Tokens

_OF_THREADS = re.compile(
    r"__(?:syncthreads(?:_and|_or|_count)?|syncwarp|shfl(?:_up|_down|_xor)?_sync|(?:all|any|ballot)_sync|activemask|"
    r"match_(?:any|all)_sync|reduce_(?:add|min|max|and|or|xor)_sync|nanosleep|threadfence(?:_block|_system)?)"
)
"""CUDA's own functions that a kernel's threads call."""
_NEVER_RUN = ("decltype", "sizeof", "noexcept", "alignof", "typeof", "__typeof__")


class Guards:
    """What keeps the host away from code of a kernel's threads: an error, before it runs where that is certain."""

    def __init__(self, known: Sequence[Functions]) -> None:
        """Refuses what is certain, as nvcc does: another function of the same name may be meant.

        Args:
            known: the functions of all of the author's regions.

        Raises:
            CompileError: host code calls what only a kernel's threads can.
        """
        others = set(chain.from_iterable(functions.others() for functions in known))
        devices = set(chain.from_iterable(functions.only_devices() for functions in known)) - others
        for functions in known:
            _refuse_in(functions, devices, others)
        kernels = {body.chunk.name for functions in known for body in functions.bodies if body.is_kernel}
        self._handed_on = {name for functions in known for name in handed_on(functions.region.tokens, kernels)}
        self._reached = _reached(known)

    def edits(self, functions: Functions) -> Iterator[Edit]:
        """What asks, when it runs, whether a kernel's thread runs it.

        In kernels that a pointer may call; and before threadIdx, barriers and the like in functions of both sides, in
        members, which are called in ways that a text can't tell, and in what these call.
        """
        region = functions.region
        for body in functions.bodies:
            name, brace = body.chunk.name, region.tokens.all[body.first]
            if body.is_kernel and name in self._handed_on:
                asked = _asked(region, brace.start, f"the kernel {name}")
                yield Edit(brace.start, brace.end, f"{{ {asked};")
        reached = [body for body in functions.bodies if body in self._reached.get(id(functions), ())]
        indices = {edit.start: edit for edit in index_edits(region)} if reached else {}
        for body in reached:
            for at in range(body.first, body.last):
                yield from _guarded(region, at, indices)


def _guarded(region: Region, at: int, indices: dict[int, Edit]) -> Iterator[Edit]:
    """The changes to the token at `at`, if it is an index or a call of CUDA's own that threads make."""
    tokens, token = region.tokens, region.tokens.all[at]
    asked = _asked(region, token.start, token.text)
    if token.start in indices:
        yield indices[token.start]._replace(text=f"({asked}, {indices[token.start].text})")
    elif _OF_THREADS.fullmatch(token.text) and tokens.is_sign(at + 1, "(") and at + 1 in tokens.partner:
        closed = tokens.all[tokens.partner[at + 1]]
        yield Edit(token.start, token.end, f"({asked}, {token.text}")
        yield Edit(closed.start, closed.end, "))")


def _reached(known: Sequence[Functions]) -> dict[int, list[Body]]:
    """The device's functions that the host may come to, by text: the open ones, and free ones that these mention."""
    every = [(functions, body) for functions in known for body in functions.bodies]
    waiting = [each for each in every if each[1].is_open]
    found: dict[int, list[Body]] = {}
    left = [each for each in every if each[1].chunk.only_on_device and not each[1].is_open and not each[1].is_kernel]
    while waiting:
        functions, body = waiting.pop()
        found.setdefault(id(functions), []).append(body)
        words = functions.mentioned(body)
        waiting += [each for each in left if each[1].chunk.name in words]
        left = [each for each in left if each[1].chunk.name not in words]
    return found


def _asked(region: Region, offset: int, what: str) -> str:
    place = region.place(offset)
    return f'::opwright::emulation::only_in_kernel("{what}", "{place.file}", {place.line})'


def _refuse_in(functions: Functions, devices: set[str], others: set[str]) -> None:
    region = functions.region
    tokens = region.tokens
    indices = {edit.start for edit in index_edits(region)}
    for at in functions.host_code():
        token = tokens.all[at]
        if token.start in indices:
            what, fix = f"asks for {token.text}, which only a kernel's threads have", "mark its function __device__"
        elif token.text in devices and _calls(tokens, at):
            what, fix = f"calls {token.text}, a __device__ function", "mark that __host__ __device__"
        elif _OF_THREADS.fullmatch(token.text) and token.text not in others and _calls(tokens, at):
            what, fix = f"calls {token.text}, which only a kernel's threads can", "mark its function __device__"
        else:
            continue
        raise CompileError(
            f"{region.place(token.start)}: error: host code {what}\n  likely fix: {fix}, or have a kernel do it"
        )


def _calls(tokens: Tokens, at: int) -> bool:
    """Whether the word at `at` is a free function that is called, in code that runs."""
    if not tokens.is_word(at) or declares(tokens, at) or not tokens.is_sign(after_template(tokens, at + 1), "("):
        return False
    return not any(tokens.is_word(opened - 1, *_NEVER_RUN) for opened in _parentheses(tokens, at))


def _parentheses(tokens: Tokens, at: int) -> Iterator[int]:
    """The ``(`` around the token at `at`, within its statement, innermost first."""
    while at > 0 and not tokens.is_sign(at - 1, ";", "{", "}"):
        at = tokens.partner.get(at - 1, at - 1) if tokens.is_sign(at - 1, ")", "]") else at - 1
        if tokens.is_sign(at, "("):
            yield at
