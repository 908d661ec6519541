"""Selects the compatibility headers that are compiled in front of a source for an older PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opwright.aten.compat import scan
from opwright.aten.compat.api_changes import Header
from opwright.aten.flags import raise_standards
from opwright.record import record

_HERE = Path(__file__).parent
_SHIMS = _HERE / "shims"
_INCLUDE = _HERE / "include"


@record
class Compat:
    """The compatibility headers for some sources; empty if they need none.

    Attributes:
        headers: headers to include before the source with ``-include``, in order, after a precompiled header.
        include_dirs: include folders to search before PyTorch's, with replacements for removed headers.
        report: lines for the user, one per header and flag.
    """

    headers: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    report: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.headers or self.include_dirs)

    def flags(self, flags: Sequence[str]) -> list[str]:
        """Return the compiler flags with C++ standards too old for PyTorch raised: ``-std=c++11`` to c++20."""
        return raise_standards(flags)


def needed(sources: Sequence[Path], flags: Sequence[str] = ()) -> Compat:
    """Return the compatibility headers for C++ and CUDA sources and the project headers that they include.

    Args:
        sources: files that are compiled with the same headers in front; unreadable files are skipped.
        flags: their compiler flags, of which ``-I`` and ``-std`` matter.
    """
    uses: dict[str, list[scan.Use]] = {}
    gone: dict[str, str] = {}
    for source in sources:
        files = scan.read(source, flags)
        for header, path, line in scan.missing_headers(files, flags):
            gone.setdefault(header.name, _gone_line(header, path, line))
        for use in scan.used_names(files):
            for shim in use.name.shims:
                uses.setdefault(shim, []).append(use)
    headers = tuple(_SHIMS / shim for shim in uses)
    report = (*_shim_lines(uses), *gone.values(), *_flag_lines(flags))
    return Compat(headers, (_INCLUDE,) if gone else (), tuple(report))


def _gone_line(header: Header, path: Path, line: int) -> str:
    return f"<{header.name}>, which PyTorch no longer has ({path}:{line}): Opwright's own; today <{header.today}>"


def _shim_lines(uses: dict[str, list[scan.Use]]) -> list[str]:
    lines = []
    for shim, shim_uses in uses.items():
        seen = {use.name.name: f"{use.name.name} ({use.path}:{use.line})" for use in reversed(shim_uses)}
        lines.append(f"{shim} for {', '.join(reversed(seen.values()))}")
    return lines


def _flag_lines(flags: Sequence[str]) -> list[str]:
    pairs = zip(flags, raise_standards(flags), strict=True)
    return [f"{before}: {after}, as PyTorch itself is compiled" for before, after in pairs if before != after]
