"""Kernels as functions for plain loops: ``opwright_plain_k(here, ...)``.

Where no thread waits, the kernel's body becomes that function's, with ``opwright_here.thread`` for threadIdx; the
kernel itself calls it with the place of the thread that runs. Where threads wait at barriers alone, the function has a
copy of the body, cut at the barriers (barrier_loops.py). A launch passes both on; the runtime takes what suits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opwright.cuda.emulation.identifiers import index_edits
from opwright.cuda.emulation.kernel_calls import (
    Plain,
    after_template,
    declares,
    kernel_name,
    kernels_by_address,
    plain_name,
)
from opwright.cuda.emulation.loops.barrier_loops import BLOCK, BarrierLoops
from opwright.cuda.emulation.loops.barrier_statements import BARRIER, NotSimpleError, Variable
from opwright.cuda.emulation.loops.plain_kernels import PlainKernels, tokens_of
from opwright.cuda.emulation.regions import Body, Functions
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.line_markers import has_line_marker, on_one_line
from opwright.sources.cpp.tokens import MalformedError, Tokens
from opwright.sources.launches import find_launches, split_arguments

_HERE = "const ::opwright::emulation::Here &opwright_here"
_THREADS = Plain("launch_plain", (_HERE, "opwright_here"))
_BLOCKS = Plain("launch_blocks", (BLOCK, "opwright_block"))
_MEMBERS = {"threadIdx": "thread", "blockIdx": "block", "blockDim": "size", "gridDim": "grid"}
_SPECIFIERS = {"static", "inline", "void", "__global__", "extern", "__attribute__"}
_NO_NAMES = {
    *(
        "const",
        "volatile",
        "int",
        "unsigned",
        "signed",
        "long",
        "short",
        "char",
        "bool",
        "float",
        "double",
        "void",
        "auto",
    ),
    *("struct", "class", "typename", "register", "__restrict__", "__restrict", "restrict"),
}


class _Head(NamedTuple):
    """A kernel's head, in text on one line.

    Attributes:
        template: ``template <...>``, or "".
        arguments: the template's parameters as arguments: ``<T, N>``, or "".
        specifiers: what stands before the name.
        parameters: the parameters.
        declared: each of them.
    """

    template: str
    arguments: str
    specifiers: str
    parameters: str
    declared: list[Variable]

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [variable.name for variable in self.declared]


class _Chosen(NamedTuple):
    body: Body
    head: _Head
    cut: BarrierLoops | None


class PlainLoops:
    """The kernels of a source that are plain loops.

    Attributes:
        known: those whose function has been written, up to the region at hand.
        wanted: whether there may be any.
    """

    def __init__(self, parts: Sequence[Functions], *, wanted: bool) -> None:
        """Decide which these are: with every definition, among the author's regions, and launched by their names."""
        self.wanted = wanted
        known = parts if wanted else ()
        self.known: dict[str, Plain] = {}
        self._left: Counter[str] = Counter()
        self._chosen: dict[int, list[_Chosen]] = {}
        launched = {name for functions in known for name in _launched(functions.region.tokens)}
        kernels = {
            name: [(functions, body) for functions in known for body in functions.bodies if body.decl.name == name]
            for name in launched
        }
        kernels = {name: found for name, found in kernels.items() if found}
        for functions in known:  # a pointer may be called, by the host: the kernel itself has to find that out
            for name in kernels_by_address(functions.region.tokens, set(kernels)):
                del kernels[name]
        if not kernels:
            return
        self._judge = PlainKernels(known)
        for name, found in kernels.items():
            chosen = [self._choose(functions, body) for functions, body in found]
            heads = [each.head for each in chosen if each]
            cut = {bool(each.cut) for each in chosen if each}
            if len(heads) < len(found) or len(cut) > 1:
                continue
            if any(not _only_launched(functions, name, heads) for functions in known):
                continue
            self._left[name] = len(found)
            for (functions, _), each in zip(found, chosen, strict=True):
                self._chosen.setdefault(id(functions), []).extend([each] if each else [])

    def edits(self, functions: Functions) -> Iterator[Edit]:
        """Yield the edits that make functions of a region's kernels in which no thread waits."""
        self.known = {name: plain._replace(start=0) for name, plain in self.known.items()}
        tokens = functions.region.tokens
        chosen = self._chosen.get(id(functions), [])
        indices = sorted(index_edits(functions.region)) if chosen else []
        for body, head, cut in chosen:
            start, end = tokens.all[body.first].start, tokens.all[body.last].end
            if not cut:
                yield from _function(functions, body, head)
                for edit in indices[bisect_left(indices, (start,)) : bisect_left(indices, (end,))]:
                    member = _MEMBERS[functions.region.text[edit.start : edit.end]]
                    yield edit._replace(text=f"(opwright_here.{member})")
            self._left[body.decl.name] -= 1
            if not self._left[body.decl.name]:
                self.known[body.decl.name] = (_BLOCKS if cut else _THREADS)._replace(start=end)

    def copies(self, functions: Functions, others: Sequence[Edit]) -> Iterator[Edit]:
        """Yield the edits that add copies of kernels, cut at their barriers; `others` are all other edits."""
        region = functions.region
        for body, head, cut in self._chosen.get(id(functions), []):
            if cut:
                start, end = region.tokens.all[body.first].start, region.tokens.all[body.last].end
                both = f"{BLOCK}, {head.parameters}" if head.declared else BLOCK
                text = f"{head.template} static inline void {plain_name(body.decl.name)}({both}) "
                yield Edit(end, end, f" {text}{region.place(start).marker}{cut.text(others)}{region.place(end).marker}")

    def _choose(self, functions: Functions, body: Body) -> _Chosen | None:
        tokens = functions.region.tokens
        head = _head(tokens, body) if body.is_kernel and not body.member else None
        if head is None:
            return None
        words = functions.mentioned(body)
        if BARRIER not in words:
            return _Chosen(body, head, None) if self._judge.is_plain(tokens, body.decl) else None
        if not self._judge.is_plain(tokens, body.decl, BARRIER, "__shared__"):
            return None
        try:
            types = self._judge.types(tokens, body.decl)
            constants = {token.text for token in Tokens(head.arguments).all} | self._judge.constants
            cut = BarrierLoops(
                tokens, (body.first, body.last), head.declared, types, constants, self._judge.takes_values
            )  # fmt: skip
        except NotSimpleError:
            return None
        return _Chosen(body, head, cut) if cut.fits else None


def _launched(tokens: Tokens) -> Iterator[str]:
    if "<<<" not in tokens.positions:
        return
    try:
        launches = list(find_launches(tokens))
    except MalformedError:
        return
    for launch in launches:
        callee = Tokens(launch.callee.of(tokens.text))
        at = kernel_name(callee)
        if at >= 0:
            yield callee.all[at].text


def _head(tokens: Tokens, body: Body) -> _Head | None:
    """Return the head of a kernel, or None if it isn't as simple as a function beside it needs."""
    decl = body.decl
    first, _ = tokens_of(tokens, decl)
    if decl.parameters is None or decl.parameters[1] + 1 != body.first or not tokens.is_word(decl.parameters[0] - 1):
        return None
    name, at = decl.parameters[0] - 1, first
    template, arguments = "", ""
    if tokens.is_word(at, "template"):
        end = after_template(tokens, at + 1)
        given = _template_arguments(tokens, at + 1, end - 1)
        if not given:
            return None
        template, arguments, at = _text(tokens, at, end), f"<{', '.join(given)}>", end
    specifiers = []
    while at < name:
        token = tokens.all[at]
        if token.text not in _SPECIFIERS and token.kind != "string":
            return None
        behind = tokens.partner.get(at + 1, at) + 1 if tokens.is_sign(at + 1, "(") else at + 1
        if token.text != "__global__":
            specifiers.append(_text(tokens, at, behind))
        at = behind
    declared = _parameters(tokens, *decl.parameters)
    if "void" not in specifiers or declared is None:
        return None
    return _Head(
        template,
        arguments,
        " ".join(specifiers),
        _text(tokens, decl.parameters[0] + 1, decl.parameters[1]),
        declared,
    )


def _text(tokens: Tokens, first: int, end: int) -> str:
    return on_one_line(tokens.text[tokens.all[first].start : tokens.all[end].start]).strip() if first < end else ""


def _template_arguments(tokens: Tokens, opened: int, closed: int) -> list[str]:
    """Return the names of a template's parameters; [] if one has none."""
    found, start = [], opened + 1
    for at in range(opened + 1, closed + 1):
        depth_ends = at == closed or (tokens.is_sign(at, ",") and tokens.is_sign(closed, ">"))
        if not depth_ends:
            continue
        words = tokens.all[start:at]
        if any(word.text in {"<", "(", "..."} for word in words):
            return []
        value = next((i for i, word in enumerate(words) if word.text == "="), len(words))
        if value < 2 or words[value - 1].kind != "word" or words[value - 1].text in _NO_NAMES:
            return []
        found.append(words[value - 1].text)
        start = at + 1
    return found


def _parameters(tokens: Tokens, opened: int, closed: int) -> list[Variable] | None:
    """Return a function's parameters; None if one has no name, or isn't of the form ``type name``."""
    if closed == opened + 1:
        return []
    found, at = [], opened + 1
    for piece in split_arguments(tokens, opened + 1, closed):
        inside = []
        while at < closed and tokens.all[at].start < piece.end:
            inside.append(tokens.all[at])
            at += 1
        at += 1  # the comma
        value = next((i for i, token in enumerate(inside) if token.text in {"=", "["}), len(inside))
        head = inside[:value]
        if any(token.text in {"(", "..."} for token in head) or len(head) < 2 or head[-1].kind != "word":
            return None
        if (
            head[-1].text in _NO_NAMES
            or head[-2].text == "::"
            or all(t.text in {"const", "volatile"} for t in head[:-1])
        ):
            return None
        kept = [token.text for token in head[:-1] if token.text not in {"__restrict__", "__restrict"}]
        sizes = "*" if value < len(inside) and inside[value].text == "[" else ""
        found.append(Variable(head[-1].text, " ".join([*kept, *sizes]), "", -1, None))
    return found


def _only_launched(functions: Functions, name: str, heads: Sequence[_Head | None]) -> bool:
    """Return whether a kernel's name occurs only where it is declared, in launches and as an argument."""
    tokens = functions.region.tokens
    own = {body.decl.parameters[0] - 1 for body in functions.bodies if body.decl.name == name and body.decl.parameters}
    for at in tokens.positions.get(name, ()):
        if at in own:
            continue
        behind = after_template(tokens, at + 1)
        if tokens.is_sign(behind, "<<<"):
            continue
        if tokens.is_word(tokens.statement_start(at), "using") or tokens.is_sign(behind, "="):
            return False
        if declares(tokens, at) and not any(head and _declares_the_same(tokens, at, head) for head in heads):
            return False
        if tokens.is_sign(at - 1, "*", "&"):
            return False
    return True


def _declares_the_same(tokens: Tokens, at: int, head: _Head) -> bool:
    """Return whether the word at `at` is the name in a declaration of that kernel, without default arguments."""
    closed = tokens.partner.get(at + 1, -1) if tokens.is_sign(at + 1, "(") else -1
    if closed < 0 or not tokens.is_sign(closed + 1, ";") or not tokens.is_word(at - 1, "void"):
        return False
    start = tokens.statement_start(at)
    if any(tokens.is_sign(inside, "=") for inside in range(start, closed)):
        return False
    declared = _parameters(tokens, at + 1, closed)
    if declared is not None:
        return [variable.type for variable in declared] == [variable.type for variable in head.declared]
    pieces = split_arguments(tokens, at + 2, closed)
    return [" ".join(token.text for token in Tokens(piece.of(tokens.text)).all) for piece in pieces] == [
        variable.type for variable in head.declared
    ]


def _function(functions: Functions, body: Body, head: _Head) -> Iterator[Edit]:
    region = functions.region
    tokens, parameters = region.tokens, body.decl.parameters
    if parameters is None:
        return
    name, plain = body.decl.name, plain_name(body.decl.name)
    both = f"{_HERE}, {head.parameters}" if head.declared else _HERE
    start, end = body.decl.start, tokens.all[body.first].start
    lost = region.text[start:end]
    behind = region.place(end).marker if has_line_marker(lost) else "\n" * lost.count("\n")
    yield Edit(start, end, f"{head.template} static inline void {plain}({both}) {behind}")
    passed = ", ".join(["::opwright::emulation::here()", *head.names])
    closed = tokens.all[body.last].end
    kernel = f" {head.template} {head.specifiers} {name}({head.parameters}) {{ {plain}{head.arguments}({passed}); }}"
    yield Edit(closed, closed, kernel)
