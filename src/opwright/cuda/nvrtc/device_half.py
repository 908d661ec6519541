"""The device half of CUDA code: only the kernels and the declarations that they use are passed to NVRTC.

Host code is removed, so it may use any header and type. As with nvcc, a function without ``__device__`` or
``__global__`` is host code unless it is constexpr, and a variable without such a mark is the host's unless it is
constant.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.line_markers import line_markers
from opwright.sources.cpp.tokens import Tokens, identifiers
from opwright.sources.cuda_declarations import Declaration, declarations

INCLUDE_MARK = "opwright_include"
"""A pragma in place of an ``#include`` of one of CUDA's own headers, which NVRTC reads itself."""

_INCLUDE = re.compile(rf"^#pragma {INCLUDE_MARK} (<.*>)$", re.MULTILINE)
_OF_OTHER_TYPES = ("int64_t", "uint64_t", "intptr_t", "uintptr_t", "intmax_t", "uintmax_t")
"""Types that cccl defines as `long long` without a standard library; on the host, and so in our code, as `long`."""
_MARKED_LAMBDA = re.compile(r"\](?:[ \t]*__(?:host|device)__)+")
"""Marks of lambdas, which NVRTC refuses; lambdas in kernels are device code without a mark."""
_CONSTANT = {"const", "constexpr", "constinit"}
_ALIASES = {"using", "typedef", "namespace", "concept"}
_AGGREGATES = {"struct", "class", "union", "enum"}


def device_half(text: str, mentioned: Iterable[str] = ()) -> str:
    """Return the device half of preprocessed `text`.

    Args:
        text: the code, preprocessed for the device.
        mentioned: further names to keep: those in the kernels' template arguments.
    """
    tokens = Tokens(text)
    declared = list(declarations(tokens))
    kept = _reached(text, tokens, [decl for decl in declared if _possible(decl)], set(mentioned))
    edits = [Edit(decl.start, decl.end) for decl in declared if decl.kind not in {"open", "close"} and decl not in kept]
    inner = [edit for decl in kept if decl.kind == "class" for edit in _members(tokens, decl)]
    half = _MARKED_LAMBDA.sub("]", apply_edits(text, [*edits, *inner], keep_lines=True))
    return _INCLUDE.sub(_included, apply_edits(half, _line_directives(half)))


def _line_directives(text: str) -> Iterator[Edit]:
    """Yield ``#line`` directives in place of line markers: NVRTC hangs at a line marker before an ``#include``."""
    for start, end, (file, line), _ in line_markers(text):
        known = line != 0 and not file.startswith("<")
        yield Edit(start, end, f'#line {line} "{file}"\n' if known else "\n")


def _included(match: re.Match[str]) -> str:
    """Return the ``#include`` of a CUDA header between macros that rename the types of `_OF_OTHER_TYPES` in it."""
    before = "".join(f"#define {name} opwright_cuda_{name}\n" for name in _OF_OTHER_TYPES)
    return f"{before}#include {match[1]}\n" + "\n".join(f"#undef {name}" for name in _OF_OTHER_TYPES)


def kernel_names(text: str) -> list[str]:
    """Return the names of all kernels in the text, repeated for overloads."""
    return [c.name for c in declarations(Tokens(text)) if c.kind == "function" and "global" in c.spaces]


def _possible(decl: Declaration) -> bool:
    """Return whether a declaration can be device code."""
    words = set(decl.words)
    if decl.kind in {"open", "close"} or {"static_assert", "_Static_assert"} & words:
        return False
    if decl.on_device or decl.kind == "class" or _CONSTANT - {"const"} & words:
        return True
    if decl.kind == "function":
        return False
    if words & (_ALIASES | _AGGREGATES):
        return True
    return "const" in words and decl.parameters is None


def _reached(text: str, tokens: Tokens, possible: list[Declaration], names: set[str]) -> set[Declaration]:
    """Return the kernels and all declarations that they mention, directly or indirectly."""
    by_name: dict[str, list[Declaration]] = defaultdict(list)
    operators: list[Declaration] = []
    kept: set[Declaration] = set()
    waiting: list[Declaration] = []
    for decl in possible:
        if decl.name == "operator":
            operators.append(decl)
        for name in _declares(tokens, decl):
            by_name[name].append(decl)
        if "global" in decl.spaces or {"using", "namespace"} <= set(decl.words):
            waiting.append(decl)
    new = set(names)
    seen: set[str] = set()
    while waiting or new - seen:
        for name in new - seen:
            waiting += by_name.get(name, ())
        seen |= new
        new = set()
        for decl in waiting:
            if decl not in kept:
                kept.add(decl)
                new |= _mentions(text, tokens, decl)
        waiting = [] if new - seen else [c for c in operators if c not in kept and _serves(text, c, by_name, kept)]
    return kept


def _declares(tokens: Tokens, decl: Declaration) -> Iterator[str]:
    """Yield the names that a declaration introduces."""
    if decl.name:
        yield decl.name
    yield from decl.variables
    unnamed = not decl.name and decl.kind == "class"
    if decl.kind == "class" and decl.body and ("enum" in decl.words or unnamed):
        yield from {t.text for t in tokens.all[decl.body[0] : decl.body[1]] if t.kind == "word"}
    if decl.kind == "statement" and not decl.name:
        yield from set(decl.words)


def _mentions(text: str, tokens: Tokens, decl: Declaration) -> set[str]:
    """Return the identifiers in a declaration, without the removed host functions of classes."""
    edits = [Edit(e.start - decl.start, e.end - decl.start, e.text) for e in _members(tokens, decl)]
    return identifiers(apply_edits(text[decl.start : decl.end], edits))


def _serves(text: str, operator: Declaration, by_name: dict[str, list[Declaration]], kept: set[Declaration]) -> bool:
    """Return whether the head of an operator function mentions a kept declaration."""
    head = identifiers(text[operator.start : operator.head_end])
    return any(decl in kept for name in head for decl in by_name.get(name, ()) if name != "operator")


def _members(tokens: Tokens, decl: Declaration) -> Iterator[Edit]:
    """Yield the removals of host functions from a class."""
    if decl.kind != "class" or not decl.body:
        return
    for member in declarations(tokens, decl.body[0] + 1, decl.body[1]):
        if member.kind == "class":
            yield from _members(tokens, member)
        elif member.kind == "function" and not member.on_device and "constexpr" not in member.words:
            yield Edit(member.start, member.end)
