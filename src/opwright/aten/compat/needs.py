"""What is compiled in front of a source so that it finds the PyTorch it was written for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from opwright.aten.compat import standards
from opwright.aten.compat.names import removed_header
from opwright.aten.compat.scan import File, Use, read, used
from opwright.signature.record import record

__all__ = ["Compat", "needed"]

_HERE = Path(__file__).parent
_SHIMS = _HERE / "shims"
_INCLUDE = _HERE / "include"


@record
class Compat:
    """What sources need that today's PyTorch doesn't have. Empty where they need nothing.

    Attributes:
        headers: to be included before the source, in this order, with ``-include``; behind a precompiled header.
        include_dirs: to be searched before PyTorch's own: headers that are gone.
        report: for people, a line for each header and flag.
    """

    headers: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    report: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.headers or self.include_dirs)

    def flags(self, flags: Sequence[str]) -> list[str]:
        """Words for the compiler with standards that PyTorch can't be read in raised: ``-std=c++11`` to c++20."""
        return standards.raised(flags)


def needed(sources: Sequence[Path], flags: Sequence[str] = ()) -> Compat:
    """What C++ and CUDA sources need of an older PyTorch, with the headers of their project that they include.

    Args:
        sources: files that are compiled with the same headers in front. What can't be read is left out.
        flags: the words for their compiler, of which ``-I`` and ``-std`` matter.
    """
    uses: dict[str, list[Use]] = {}
    gone: dict[str, str] = {}
    for source in sources:
        files = read(source, flags)
        gone.update(_gone(files))
        for use in used(files):
            for shim in use.name.shims:
                uses.setdefault(shim, []).append(use)
    headers = tuple(_SHIMS / shim for shim in uses)
    report = (*_shim_lines(uses), *gone.values(), *_flag_lines(flags))
    return Compat(headers, (_INCLUDE,) if gone else (), tuple(report))


def _gone(files: Iterable[File]) -> dict[str, str]:
    """The headers that are included and gone, each with its line of the report."""
    return {
        name: f"<{name}>, which PyTorch no longer has ({file.path}:{line}): Opwright's own; today <{header.today}>"
        for file in files
        for name, _, line in file.includes
        if (header := removed_header(name))
    }


def _shim_lines(uses: dict[str, list[Use]]) -> list[str]:
    lines = []
    for shim, found in uses.items():
        seen = {use.name.name: f"{use.name.name} ({use.path}:{use.line})" for use in reversed(found)}
        lines.append(f"{shim} for {', '.join(reversed(seen.values()))}")
    return lines


def _flag_lines(flags: Sequence[str]) -> list[str]:
    pairs = zip(flags, standards.raised(flags), strict=True)
    return [f"{before}: {after}, as PyTorch itself is compiled" for before, after in pairs if before != after]
