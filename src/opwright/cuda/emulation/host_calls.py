"""Refusing host code that uses ``__device__`` functions, barriers or threadIdx, which need a kernel's thread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from opwright.cuda.emulation.identifiers import index_edits
from opwright.cuda.emulation.kernel_calls import after_template, declares, kernels_by_address
from opwright.cuda.emulation.regions import Body, Functions, Region
from opwright.errors import CompileError
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.tokens import Tokens

_OF_THREADS = re.compile(
    r"__(?:syncthreads(?:_and|_or|_count)?|syncwarp|shfl(?:_up|_down|_xor)?_sync|(?:all|any|ballot)_sync|activemask|"
    r"match_(?:any|all)_sync|reduce_(?:add|min|max|and|or|xor)_sync|nanosleep|threadfence(?:_block|_system)?)"
)
"""CUDA functions that only a kernel's threads can call."""
_NEVER_RUN = ("decltype", "sizeof", "noexcept", "alignof", "typeof", "__typeof__")


class Guards:
    """Protection against host code that runs device code: a compile error in certain cases, else a run-time check."""

    def __init__(self, known: Sequence[Functions]) -> None:
        """Refuse certain cases, as nvcc does. A call isn't certain if another function has the same name.

        Args:
            known: the functions of all of the author's regions.

        Raises:
            CompileError: host code uses a function or index that only a kernel's threads have.
        """
        others = set(chain.from_iterable(functions.others() for functions in known))
        devices = set(chain.from_iterable(functions.only_devices() for functions in known)) - others
        for functions in known:
            _refuse_in(functions, devices, others)
        kernels = {body.decl.name for functions in known for body in functions.bodies if body.is_kernel}
        self._handed_on = {name for functions in known for name in kernels_by_address(functions.region.tokens, kernels)}
        self._reached = _reached(known)

    def edits(self, functions: Functions) -> Iterator[Edit]:
        """Yield insertions of run-time checks that the code runs in a kernel's thread.

        They are inserted at the beginning of kernels whose address is taken, and before threadIdx, barriers and the
        like in ``__host__ __device__`` functions, in member functions (whose calls can't be recognized in the text),
        and in the device functions that these call.
        """
        region = functions.region
        for body in functions.bodies:
            name, brace = body.decl.name, region.tokens.all[body.first]
            if body.is_kernel and name in self._handed_on:
                check = _thread_check(region, brace.start, f"the kernel {name}")
                yield Edit(brace.start, brace.end, f"{{ {check};")
        reached = [body for body in functions.bodies if body in self._reached.get(id(functions), ())]
        indices = {edit.start: edit for edit in index_edits(region)} if reached else {}
        for body in reached:
            for at in range(body.first, body.last):
                yield from _guarded(region, at, indices)


def _guarded(region: Region, at: int, indices: dict[int, Edit]) -> Iterator[Edit]:
    """Yield the check before the token at `at` if it is an index or calls one of CUDA's functions for threads."""
    tokens, token = region.tokens, region.tokens.all[at]
    check = _thread_check(region, token.start, token.text)
    if token.start in indices:
        yield indices[token.start]._replace(text=f"({check}, {indices[token.start].text})")
    elif _OF_THREADS.fullmatch(token.text) and tokens.is_sign(at + 1, "(") and at + 1 in tokens.partner:
        closed = tokens.all[tokens.partner[at + 1]]
        yield Edit(token.start, token.end, f"({check}, {token.text}")
        yield Edit(closed.start, closed.end, "))")


def _reached(known: Sequence[Functions]) -> dict[int, list[Body]]:
    """Return the device functions that host code may reach: the open ones, and free ones that these mention."""
    bodies = [(functions, body) for functions in known for body in functions.bodies]
    waiting = [pair for pair in bodies if pair[1].is_open]
    reached: dict[int, list[Body]] = {}
    left = [pair for pair in bodies if pair[1].decl.only_on_device and not pair[1].is_open and not pair[1].is_kernel]
    while waiting:
        functions, body = waiting.pop()
        reached.setdefault(id(functions), []).append(body)
        mentioned = functions.mentioned(body)
        waiting += [pair for pair in left if pair[1].decl.name in mentioned]
        left = [pair for pair in left if pair[1].decl.name not in mentioned]
    return reached


def _thread_check(region: Region, offset: int, what: str) -> str:
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
    """Return whether the word at `at` calls a free function in evaluated code (not in ``sizeof`` etc.)."""
    if not tokens.is_word(at) or declares(tokens, at) or not tokens.is_sign(after_template(tokens, at + 1), "("):
        return False
    return not any(tokens.is_word(opened - 1, *_NEVER_RUN) for opened in _parentheses(tokens, at))


def _parentheses(tokens: Tokens, at: int) -> Iterator[int]:
    """Yield the indices of the ``(`` around the token at `at`, within its statement, innermost first."""
    while at > 0 and not tokens.is_sign(at - 1, ";", "{", "}"):
        at = tokens.partner.get(at - 1, at - 1) if tokens.is_sign(at - 1, ")", "]") else at - 1
        if tokens.is_sign(at, "("):
            yield at
