"""Finds and rewrites removed and deprecated names in C, C++ and CUDA code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from opwright.aten.compat.api_changes import NAMES, Name
from opwright.aten.compat.scan import File, used_names
from opwright.aten.compat.type_members import calls
from opwright.migrate.cpp_includes import header_findings, with_includes, without_place
from opwright.migrate.cpp_rules import RULES, renamed
from opwright.migrate.cpp_text import CppText, is_inside, version_conditionals
from opwright.migrate.finding import Finding
from opwright.migrate.project import TH_GENERIC, TH_TYPE
from opwright.migrate.thc_state import state_findings
from opwright.sources.cpp.directives import without_dead_lines
from opwright.sources.cpp.normalized import normalized

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
    """Return the findings in C, C++ or CUDA source code, ordered by line.

    Args:
        text: the source code, decoded as latin-1.
        suffix: the suffix of its file.
        first_generation: whether the file belongs to an extension with TH's tensors.
    """
    source = CppText(normalized(without_dead_lines(text)), suffix)
    legacy = _first_generation(source)
    if legacy or first_generation:
        return sorted([*legacy, *_by_hand(source, "" if legacy else _TOGETHER)])
    findings = [*_names(source), *_type_members(source)]
    findings = _without_guarded(source, findings)
    findings = without_place(source, findings)
    findings += _without_guarded(source, list(state_findings(source, findings)))
    findings += _without_guarded(source, list(header_findings(source, findings)))
    return sorted(with_includes(source, findings))


def _names(source: CppText) -> Iterator[Finding]:
    for name, first, behind in _places(source):
        if name.name in _STATE:
            continue  # edits of the state depend on the other edits
        rule = RULES.get(name.name) or (renamed if name.rename else None)
        edits = tuple(rule(source, name, first, behind)) if rule and not source.is_c else ()
        note = _C if source.is_c and rule else ""
        yield Finding(source.line(first), name.name, name.status, name.today, edits, note)


def _type_members(source: CppText) -> Iterator[Finding]:
    """Yield the calls of functions that ``at::Type`` had, each with its rewriting."""
    for call in calls(source.stream) if not source.is_c else ():
        today = "at::empty(sizes, x.options()), at::from_blob(...) and others"
        yield Finding(source.line(call.token), f"{call.name}() of at::Type", "removed", today, call.edits)


def _by_hand(source: CppText, note: str) -> Iterator[Finding]:
    """Yield the other findings in a source with TH's tensors, without edits, as nothing is rewritten there."""
    for finding in (*_names(source), *state_findings(source, ()), *header_findings(source, ())):
        yield finding._replace(edits=(), note=note)


def _places(source: CppText) -> Iterator[_Found]:
    own = {use.name.name for use in used_names([File(source.path, source.stream)])}
    for name in NAMES:
        if name.name in own and not name.vague:
            for first, behind in source.stream.find(name.expression):
                if name.name != "AT_DISPATCH_*(x.type(), ...)" or source.dispatched(first):
                    yield _Found(name, first, behind)


def _first_generation(source: CppText) -> list[Finding]:
    """Return findings for TH's generic headers and macros, and one for each TH tensor type with its number of uses."""
    text = source.stream.text
    findings = [
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
            findings.append(
                Finding(source.line(source.stream.index(match.start())), name, "removed", _FIRST_GENERATION)
            )
    return findings


def _without_guarded(source: CppText, findings: list[Finding]) -> list[Finding]:
    """Return the findings, without edits for those inside a preprocessor condition about versions."""
    regions = version_conditionals(source.stream.source)
    return [
        finding._replace(edits=(), note=_LEFT)
        if finding.edits and any(is_inside(regions, edit.start) for edit in finding.edits)
        else finding
        for finding in findings
    ]
