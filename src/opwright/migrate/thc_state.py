"""THCState, which today's functions don't need: removes its declarations once no remaining call uses it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from opwright.migrate.cpp_text import CppText
from opwright.migrate.finding import Finding
from opwright.sources.cpp.edits import Edit

_EXTERN = re.compile(r"\bextern THCState \* (\w+) ;")
_LOCAL = re.compile(r"\bTHCState \* (?:const )?(\w+) = (?:at|torch) :: globalContext \( \) \. lazyInitCUDA \( \) ;")
_BARE = re.compile(r"(?<=[;{}] )(?:at|torch) :: globalContext \( \) \. lazyInitCUDA \( \) ;")
_ANY = re.compile(r"\blazyInitCUDA \(")
_TYPE = re.compile(r"\bTHCState\b")
_INITIALISED = "at::globalContext().lazyInitDevice(at::kCUDA)"
_NOTHING = "nothing: calls of today need no state"
_STILL_USED = "something here still takes it"
_SHARED = "in a header: sources that still take it may include this one"


def state_findings(source: CppText, others: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the declarations of a state, initializations of CUDA, and other uses of the type.

    Args:
        source: the source code.
        others: the other findings, whose edits may remove the state from calls.
    """
    seen = rewritten(source, others)
    for first, behind in source.stream.find(_EXTERN):
        note = "" if not source.is_header else _SHARED
        note = note or _why_kept(source, first + 3, seen | _declared(source))
        edits = () if note or source.is_c else (whole_line(source, first, behind),)
        yield Finding(source.line(first), "extern THCState *state", "removed", _NOTHING, edits, note)
    yield from _initialisations(source, seen)
    declared = _declared(source) | seen
    for first, _ in source.stream.find(_TYPE):
        if first not in declared:
            yield Finding(source.line(first), "THCState", "removed", _NOTHING)


def rewritten(source: CppText, others: Sequence[Finding]) -> set[int]:
    """Return the indices of the tokens that edits remove or replace."""
    starts = [token.start for token in source.tokens]
    edits = [edit for finding in others for edit in finding.edits]
    return {i for edit in edits for i in range(bisect_left(starts, edit.start), bisect_left(starts, edit.end))}


def whole_line(source: CppText, first: int, behind: int) -> Edit:
    """Return an edit that removes tokens.

    If they are alone on their lines, the lines are removed; of two empty lines around them, one is removed.
    """
    text = source.stream.source
    start, end = source.tokens[first].start, source.tokens[behind - 1].end
    before = re.search(r"[^\S\n]*\Z", text[:start])
    after = re.match(r"[^\S\n]*\n", text[end:])
    line = before.start() if before else start
    if after and (line == 0 or text[line - 1] == "\n"):
        end += after.end()
        empty = re.match(r"\r?\n", text[end:]) if re.search(r"(?:\A|\n)\r?\n\Z", text[:line]) else None
        return Edit(line, end + (empty.end() if empty else 0), "")
    return Edit(start, end, "")


def _initialisations(source: CppText, seen: set[int]) -> Iterator[Finding]:
    known = set(seen)
    for pattern, named in ((_LOCAL, True), (_BARE, False)):
        for first, behind in source.stream.find(pattern):
            known.update(range(first, behind))
            name = behind - 12 if named else -1
            note = _why_kept(source, name, seen | _declared(source)) if named else ""
            edits = () if note or source.is_c else (source.replaced(first, behind - 1, _INITIALISED),)
            yield Finding(source.line(first), "lazyInitCUDA", "removed", _INITIALISED, edits, note)
    for first, _ in source.stream.find(_ANY):
        if first not in known:
            yield Finding(source.line(first), "lazyInitCUDA", "removed", f"{_INITIALISED}, which has no value")


def _declared(source: CppText) -> set[int]:
    """Return the indices of the tokens in all declarations of a state."""
    declarations = (source.stream.find(pattern) for pattern in (_EXTERN, _LOCAL))
    return {index for places in declarations for first, behind in places for index in range(first, behind)}


def _why_kept(source: CppText, name: int, ignored: set[int]) -> str:
    """Return why a declaration has to stay: its variable is used elsewhere. `aside`: indices of tokens to ignore."""
    word = source.tokens[name].text
    used = any(token.text == word and index not in ignored for index, token in enumerate(source.tokens))
    return _STILL_USED if used else ""
