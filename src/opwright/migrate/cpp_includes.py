"""Rewrites includes: removed headers, headers that rewritten names need, and the header for ``PYBIND11_MODULE``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opwright.aten.compat.api_changes import NAMES, Header, removed_header
from opwright.aten.compat.scan import read, used_names
from opwright.migrate.blas import GEMM
from opwright.migrate.cpp_text import CppText, is_inside, outer_conditionals
from opwright.migrate.finding import Finding
from opwright.migrate.thc_state import rewritten, whole_line
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.normalized import NormalizedText, normalized

# Headers that the replacements of these names need and that torch/extension.h doesn't include; or a text instead.
_NEEDS = {
    "TH<T>Blas_*": GEMM,
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
# Patterns of removed headers and of their names: the include stays if a use of such a name isn't rewritten.
_HOLDS = (
    (re.compile(r"THC/.*"), re.compile(r".*\bTHC|ScalarConvert|lazyInitCUDA")),
    (re.compile(r"ATen/Type\.h"), re.compile(r"at::(?:Type|getType)")),
    (re.compile(r"c10/util/(?:variant|in_place)\.h"), re.compile(r".*")),
)
_TH = re.compile(r"TH(?!C(?!har))\w*$")  # not THC's
_NO_PLACE = "needs an #include, and there is none outside of conditions and braces to put it beside"
_WITHIN = "included within braces"


def header_findings(source: CppText, others: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the includes of removed headers."""
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
    """Return the findings, without edits for those that need an include that can't be placed anywhere."""
    present = {name for _, name in source.includes()}
    return [
        finding._replace(edits=(), note=_NO_PLACE)
        if finding.edits and _NEEDS.get(finding.name, "") not in {"", *present} and _place(source, finding) < 0
        else finding
        for finding in findings
    ]


def with_includes(source: CppText, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with edits that add the includes that rewritten names need."""
    present = {name for _, name in source.includes()}
    present |= {
        edit.text[10:-1] for finding in findings for edit in finding.edits if edit.text.startswith("#include <")
    }
    missing: dict[int, dict[str, None]] = {}  # by the token of the include after which they are inserted
    for finding in findings:
        header = _NEEDS.get(finding.name, "") if finding.edits else ""
        if header and header not in present:
            missing.setdefault(_place(source, finding), {})[header] = None
    added = [_added(source, place, list(headers), findings) for place, headers in missing.items()]
    return [_with(finding, added) for finding in findings]


class _Added(NamedTuple):
    """Added includes: the finding that gets the edit, the edit that it replaces (or None), and the edit."""

    finding: Finding
    instead_of: Edit | None
    edit: Edit


def _added(source: CppText, place: int, headers: Sequence[str], findings: Sequence[Finding]) -> _Added:
    """Add includes after the include at `place`, or instead of it if an edit removes it."""
    lines = [f"#include <{header}>" for header in headers if header != GEMM]
    if GEMM in headers:  # behind the headers
        lines += GEMM.rstrip("\n").split("\n")
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
    """Return why an include has to stay (a name of the header isn't rewritten); empty if it hasn't."""
    if header.name.startswith("TH/"):
        gone = rewritten(source, others)
        word = next((t.text for i, t in enumerate(source.tokens) if i not in gone and _TH.match(t.text)), "")
        return f"{word} is still used" if word else ""
    for headers, names in _HOLDS:
        if headers.fullmatch(header.name) and header.name not in _STANDS_ALONE:
            left = next((f for f in others if f.by_hand and names.match(f.name)), None)
            if left or names.pattern == ".*":
                return f"{left.name} is still used" if left else "not known to be all that is used of it"
    return ""


def _included(source: CppText, index: int, name: str, present: set[str]) -> Edit:
    """Replace an include by that of header `name`, or remove it with its line if `name` is included already."""
    if name in present:
        return whole_line(source, index, index + 1)
    present.add(name)
    return source.replaced(index, index + 1, f"#include <{name}>")


def _place(source: CppText, finding: Finding) -> int:
    """Return the token of the include after which to add one: the last of THC, or else the last outside of conditions.

    The result is -1 if there is none.
    """
    braced = _braced(source.stream)
    gone = [index for index, name in source.includes() if name.startswith("THC/") and index not in braced]
    if gone:
        return gone[-1]
    regions = outer_conditionals(source.stream.source)
    if any(is_inside(regions, edit.start) for edit in finding.edits):
        return -1
    return max(outer_includes(source), default=-1)


@functools.lru_cache(maxsize=8)
def _braced(tokens: NormalizedText) -> frozenset[int]:
    """Return the tokens of includes in braces (``extern "C"``, namespaces), where PyTorch's headers don't compile."""
    depth, braced, includes = 0, [], {index for index, _ in tokens.includes}
    for index, token in enumerate(tokens.tokens):
        depth += (token.text == "{") - (token.text == "}")
        braced += [index] if depth > 0 and index in includes else []
    return frozenset(braced)


def outer_includes(source: CppText) -> list[int]:
    """Return the tokens of the includes outside of conditions and braces, next to which includes can be added."""
    regions, braced = outer_conditionals(source.stream.source), _braced(source.stream)
    outside = (index for index, _ in source.includes() if index not in braced)
    return [index for index in outside if not is_inside(regions, source.tokens[index].start)]


def newline(source: CppText) -> str:
    """Return the source's line ending."""
    return "\r\n" if "\r\n" in source.stream.source else "\n"


_NAME = next(name for name in NAMES if name.name == "PYBIND11_MODULE after <torch/torch.h>")


def module_findings(path: Path, text: str) -> list[Finding]:
    """Find a module whose headers no longer include pybind11, which depends on the project headers that it includes.

    Args:
        path: the file; quoted headers are searched in its folder.
        text: the file's contents, decoded as latin-1.
    """
    if "PYBIND11_MODULE" not in text or "torch/torch.h" in text:
        return []
    use = next((use for use in used_names(read(path)) if use.name == _NAME and use.path == path), None)
    if use is None:
        return []
    source = CppText(normalized(text), path.suffix.lower())
    start = next((source.tokens[index].start for index in outer_includes(source)), None)
    edits = () if start is None else (Edit(start, start, f"#include <torch/extension.h>{newline(source)}"),)
    return [Finding(use.line, _NAME.name, _NAME.status, _NAME.today, edits)]
