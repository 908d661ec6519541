"""C, C++ and CUDA: what is found, and what rewrites it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from opwright.aten.compat.names import NAMES, Name
from opwright.aten.compat.scan import File, used
from opwright.aten.compat.tokens import stream
from opwright.migrate.cpp_headers import header_findings, with_includes, without_place
from opwright.migrate.cpp_rules import RULES, renamed
from opwright.migrate.cpp_state import state_findings
from opwright.migrate.cpp_text import CppText
from opwright.migrate.generations import TH_GENERIC, TH_TYPE
from opwright.migrate.guarded import guarded, inside
from opwright.migrate.model import Finding
from opwright.sources.lexer import without_dead_lines

__all__ = ["find"]

_FIRST_GENERATION = "`opwright run build.py` builds it as it is; docs/legacy_to_opwright.md moves it to Opwright"
_LEFT = "inside a condition about versions: left as it is"
_TOGETHER = "part of an extension with TH's tensors, which runs as it is: left so"
_C = "a C source: left as it is"
_STATE = {"THCState", "extern THCState *state", "lazyInitCUDA"}


class _Found(NamedTuple):
    name: Name
    first: int
    behind: int


def find(text: str, suffix: str, *, first_generation: bool = False) -> list[Finding]:
    """Everything in a C, C++ or CUDA text, decoded as latin-1, in order of lines.

    Args:
        text: it.
        suffix: of its file.
        first_generation: whether the file is known to belong to an extension with TH's tensors.
    """
    source = CppText(stream(without_dead_lines(text.encode("latin-1")).decode("latin-1")), suffix)
    legacy = _first_generation(source)
    if legacy or first_generation:
        return sorted([*legacy, *_by_hand(source, "" if legacy else _TOGETHER)])
    findings = [*_names(source)]
    findings = _without_guarded(source, findings)
    findings = without_place(source, findings)
    findings += _without_guarded(source, list(state_findings(source, findings)))
    findings += _without_guarded(source, list(header_findings(source, findings)))
    return sorted(with_includes(source, findings))


def _names(source: CppText) -> Iterator[Finding]:
    for name, first, behind in _places(source):
        if name.name in _STATE:
            continue  # what becomes of the state depends on what becomes of the rest
        rule = RULES.get(name.name) or (renamed if name.rename else None)
        edits = tuple(rule(source, name, first, behind)) if rule and not source.is_c else ()
        note = _C if source.is_c and rule else ""
        yield Finding(source.line(first), name.name, name.status, name.today, edits, note)


def _by_hand(source: CppText, note: str) -> Iterator[Finding]:
    """What a source of the first generation has besides TH's tensors. That PyTorch is gone: nothing is rewritten."""
    for finding in (*_names(source), *state_findings(source, ()), *header_findings(source, ())):
        yield finding._replace(edits=(), note=note)


def _places(source: CppText) -> Iterator[_Found]:
    own = {use.name.name for use in used([File(source.path, source.stream)])}
    for name in NAMES:
        if name.name in own and not name.vague:
            for first, behind in source.stream.find(name.expression):
                if name.name != "AT_DISPATCH_*(x.type(), ...)" or source.dispatched(first):
                    yield _Found(name, first, behind)


def _first_generation(source: CppText) -> list[Finding]:
    """TH's tensors: one finding for each type, with how often it occurs; what stands for all of them."""
    text = source.stream.text
    found = [
        Finding(
            source.line(source.stream.index(match.start())),
            str(match["header"] or match["macro"]),
            "removed",
            _FIRST_GENERATION,
        )
        for match in TH_GENERIC.finditer(text)
    ]
    counts = Counter(match.group() for match in TH_TYPE.finditer(source.stream.text))
    for match in TH_TYPE.finditer(source.stream.text):
        count = counts.pop(match.group(), 0)
        if count:
            name = match.group() + (f" ({count} times)" if count > 1 else "")
            found.append(Finding(source.line(source.stream.index(match.start())), name, "removed", _FIRST_GENERATION))
    return found


def _without_guarded(source: CppText, findings: list[Finding]) -> list[Finding]:
    """The findings, those behind a condition about versions without their edits."""
    regions = guarded(source.stream.source)
    return [
        finding._replace(edits=(), note=_LEFT)
        if finding.edits and any(inside(regions, edit.start) for edit in finding.edits)
        else finding
        for finding in findings
    ]
