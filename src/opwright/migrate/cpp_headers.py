"""Includes: headers that are gone, and those that rewritten names need."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opwright.aten.compat.names import Header, removed_header
from opwright.aten.compat.tokens import Stream
from opwright.migrate.cpp_state import whole_line
from opwright.migrate.cpp_text import CppText
from opwright.migrate.guarded import conditional, inside
from opwright.migrate.model import Edit, Finding

__all__ = ["header_findings", "newline", "outer_includes", "with_includes", "without_place"]

# Headers of today that names of today need and that torch/extension.h doesn't bring along.
_NEEDS = {
    "THCState_getCurrentStream": "ATen/cuda/CUDAContext.h",
    "THCState_getCurrentDeviceProperties": "ATen/cuda/CUDAContext.h",
    "THCState_getCurrentBlasHandle": "ATen/cuda/CUDAContext.h",
    "THCState_getCurrentSparseHandle": "ATen/cuda/CUDAContext.h",
    "THCState_getNumDevices": "c10/cuda/CUDAFunctions.h",
    "at::globalContext().getCurrentCUDAStream()": "ATen/cuda/CUDAContext.h",
    "THCudaCheck": "c10/cuda/CUDAException.h",
    "THCudaCheckWarn": "c10/cuda/CUDAException.h",
    "THCudaMalloc": "c10/cuda/CUDACachingAllocator.h",
    "THCudaFree": "c10/cuda/CUDACachingAllocator.h",
    "THCCeilDiv": "ATen/ceil_div.h",
    "THCRoundUp": "ATen/ceil_div.h",
    "THCudaBlas_*": "ATen/cuda/CUDABlas.h",
    "THCThrustAllocator": "ATen/cuda/ThrustAllocator.h",
}
_STANDS_ALONE = {"THC/THCAtomics.cuh", "THC/THCAsmUtils.cuh", "THC/THCScanUtils.cuh"}
# Headers whose names stay as they are where they aren't rewritten, and what such names look like.
_HOLDS = (
    (re.compile(r"THC/.*"), re.compile(r".*\bTHC|ScalarConvert|lazyInitCUDA")),
    (re.compile(r"ATen/Type\.h"), re.compile(r"at::(?:Type|getType)")),
    (re.compile(r"c10/util/(?:variant|in_place)\.h"), re.compile(r".*")),
)
_TH = re.compile(r"TH(?!C(?!har))\w*$")  # not THC's
_NO_PLACE = "needs an #include, and there is none outside of conditions and braces to put it beside"
_WITHIN = "included within braces"


def header_findings(source: CppText, others: Sequence[Finding]) -> Iterator[Finding]:
    """The headers that are gone, and ``<torch/torch.h>`` where it no longer does what it did."""
    present = {name for _, name in source.includes()}
    for index, name in source.includes():
        header = removed_header(name)
        if header:
            note = "a C source: left as it is" if source.is_c else _WITHIN if index in _braced(source.stream) else ""
            note = note or _held(source, header, others)
            edits = () if note else (_included(source, index, header.today, present),)
            today = f"<{header.today}>"
            yield Finding(source.line(index), f"<{name}>", "removed", today, edits, note)


def without_place(source: CppText, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, those without their edits that need an include for which there is no place."""
    present = {name for _, name in source.includes()}
    return [
        finding._replace(edits=(), note=_NO_PLACE)
        if finding.edits and _NEEDS.get(finding.name, "") not in {"", *present} and _place(source, finding) < 0
        else finding
        for finding in findings
    ]


def with_includes(source: CppText, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with the includes added that what was rewritten needs."""
    present = {name for _, name in source.includes()}
    present |= {
        edit.text[10:-1] for finding in findings for edit in finding.edits if edit.text.startswith("#include <")
    }
    missing: dict[int, dict[str, None]] = {}  # by the include that they are put behind
    for finding in findings:
        header = _NEEDS.get(finding.name, "") if finding.edits else ""
        if header and header not in present:
            missing.setdefault(_place(source, finding), {})[header] = None
    added = [_added(source, place, list(headers), findings) for place, headers in missing.items()]
    return [_with(finding, added) for finding in findings]


class _Added(NamedTuple):
    """Includes that are put somewhere: by whose edits, in the place of which edit or beside the others."""

    finding: Finding
    instead_of: Edit | None
    edit: Edit


def _added(source: CppText, place: int, headers: Sequence[str], findings: Sequence[Finding]) -> _Added:
    """Includes behind one, or in its place where it goes."""
    lines = [f"#include <{header}>" for header in headers]
    for finding in findings:
        for edit in finding.edits:
            if not edit.text and edit.start <= source.tokens[place].start < edit.end:
                return _Added(finding, edit, source.replaced(place, place + 1, newline(source).join(lines)))
    first = next(f for f in findings if f.edits and _NEEDS.get(f.name, "") == headers[0])
    return _Added(first, None, source.inserted(place, "".join(newline(source) + line for line in lines)))


def _with(finding: Finding, added: Sequence[_Added]) -> Finding:
    edits = list(finding.edits)
    for one in added:
        if one.finding is finding:
            edits = [edit for edit in edits if edit != one.instead_of] + [one.edit]
    return finding._replace(edits=tuple(edits))


def _held(source: CppText, header: Header, others: Sequence[Finding]) -> str:
    """Why an include has to stay: a name of the header is left as it is."""
    if header.name.startswith("TH/"):
        used = next((token.text for token in source.tokens if _TH.match(token.text)), "")
        return f"{used} is still used" if used else ""
    for headers, names in _HOLDS:
        if headers.fullmatch(header.name) and header.name not in _STANDS_ALONE:
            left = next((f for f in others if f.by_hand and names.match(f.name)), None)
            if left or names.pattern == ".*":
                return f"{left.name} is still used" if left else "not known to be all that is used of it"
    return ""


def _included(source: CppText, index: int, name: str, present: set[str]) -> Edit:
    """Another header in the place of one; nothing, with its line, where that one is included already."""
    if name in present:
        return whole_line(source, index, index + 1)
    present.add(name)
    return source.replaced(index, index + 1, f"#include <{name}>")


def _place(source: CppText, finding: Finding) -> int:
    """The include that another one is put behind: THC's own, or the last that no condition governs; -1 if none is."""
    braced = _braced(source.stream)
    gone = [index for index, name in source.includes() if name.startswith("THC/") and index not in braced]
    if gone:
        return gone[-1]
    regions = conditional(source.stream.source)
    if any(inside(regions, edit.start) for edit in finding.edits):
        return -1
    return max(outer_includes(source), default=-1)


@functools.lru_cache(maxsize=8)
def _braced(tokens: Stream) -> frozenset[int]:
    """The includes in braces, of ``extern "C"`` or a namespace, where no header of PyTorch's can be included."""
    depth, found, includes = 0, [], set(tokens.includes)
    for index, token in enumerate(tokens.tokens):
        depth += (token.text == "{") - (token.text == "}")
        found += [index] if depth > 0 and index in includes else []
    return frozenset(found)


def outer_includes(source: CppText) -> list[int]:
    """The includes that no condition governs and that stand in no braces: those that another one may be put beside."""
    regions, braced = conditional(source.stream.source), _braced(source.stream)
    outside = (index for index, _ in source.includes() if index not in braced)
    return [index for index in outside if not inside(regions, source.tokens[index].start)]


def newline(source: CppText) -> str:
    """How its lines end."""
    return "\r\n" if "\r\n" in source.stream.source else "\n"
