"""The compiler's vectorisation remarks: whether it vectorised a loop, and why not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.build.builder import build
from opwright.toolchain.compilers.compiler import find_compiler
from opwright.toolchain.compilers.flags import Options, header_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opwright.toolchain.build.plan import Unit

_FLAGS = {
    "gcc": ("-fopt-info-vec-optimized-missed",),
    "clang": ("-Rpass=loop-vectorize", "-Rpass-missed=loop-vectorize", "-Rpass-analysis=loop-vectorize"),
}
_REMARK = re.compile(r"^(?P<file>\S.*?):(?P<line>\d+):\d+: (?:optimized|missed|remark): +(?P<text>.*)$")
_DONE = re.compile(r"(?:loop vectorized using|vectorized loop)")
_REFUSED = re.compile(r"couldn't vectorize loop|loop not vectorized")
_REASON = re.compile(r"(?:not vectorized|loop not vectorized): (?P<reason>.*?)\.?(?: \[-R.*)?$")


class LoopRemark(NamedTuple):
    """The compiler's remark on a loop.

    Attributes:
        vectorized: whether the loop was vectorised.
        why: the compiler's reason if not, with file and line if known.
    """

    vectorized: bool
    why: str = ""


def loop_remark(unit: Unit, options: Options, file: Path, line: int) -> LoopRemark:
    """Compile `unit` and return the compiler's remark on the loop at `line` of `file`.

    Raises:
        CompileError: `unit` doesn't compile.
        ToolchainError: there is no compiler.
    """
    flags = _FLAGS[find_compiler("c++").kind]
    built = build(unit, replace(options, extra_cflags=(*options.extra_cflags, *flags)))
    log = built.path.parent / "build.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return read_remark(text, str(file), line)


def read_remark(text: str, file: str, line: int) -> LoopRemark:
    """Parse the remark on the loop at `line` of `file` from the compiler's output `text`."""
    reason, ours = "", False
    for place, remark in _remarks(text):
        here = place == (file, line)
        if here and _DONE.match(remark):
            return LoopRemark(True)
        match = _REASON.match(remark)
        if match and (here or ours):  # gcc first reports the loop that it couldn't vectorise, then the statement
            generated = here or place[0].startswith(str(header_dir()))
            where = "" if generated else f" ({place[0]}:{place[1]})"
            reason = reason or match["reason"] + where
        ours = here and bool(_REFUSED.match(remark))
    return LoopRemark(False, reason)


def _remarks(text: str) -> Iterator[tuple[tuple[str, int], str]]:
    for line in text.splitlines():
        if match := _REMARK.match(line):
            yield (match["file"], int(match["line"])), match["text"]
