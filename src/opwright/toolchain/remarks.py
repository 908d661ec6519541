"""What the compiler says of its own work: whether it vectorised a loop."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.build import build
from opwright.toolchain.compiler import find_compiler
from opwright.toolchain.flags import Options, header_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opwright.toolchain.plan import Unit

_FLAGS = {
    "gcc": ("-fopt-info-vec-optimized-missed",),
    "clang": ("-Rpass=loop-vectorize", "-Rpass-missed=loop-vectorize", "-Rpass-analysis=loop-vectorize"),
}
_REMARK = re.compile(r"^(?P<file>\S.*?):(?P<line>\d+):\d+: (?:optimized|missed|remark): +(?P<text>.*)$")
_DONE = re.compile(r"(?:loop vectorized using|vectorized loop)")
_REFUSED = re.compile(r"couldn't vectorize loop|loop not vectorized")
_REASON = re.compile(r"(?:not vectorized|loop not vectorized): (?P<reason>.*?)\.?(?: \[-R.*)?$")


class LoopRemark(NamedTuple):
    """What became of a loop.

    Attributes:
        vectorized: whether it works on several elements at once.
        why: the compiler's reason where it doesn't, with the place where it has one.
    """

    vectorized: bool
    why: str = ""


def loop_remark(unit: Unit, options: Options, file: Path, line: int) -> LoopRemark:
    """What the compiler says of the loop at that place of `unit`, which is compiled for this.

    Raises:
        CompileError: it doesn't compile.
        ToolchainError: there is no compiler.
    """
    words = _FLAGS[find_compiler("c++").kind]
    built = build(unit, replace(options, extra_cflags=(*options.extra_cflags, *words)))
    log = built.path.parent / "build.log"
    text = log.read_text(errors="replace") if log.exists() else ""
    return read_remark(text, str(file), line)


def read_remark(text: str, file: str, line: int) -> LoopRemark:
    """The same, from what the compiler has written."""
    reason, ours = "", False
    for place, said in _remarks(text):
        here = place == (file, line)
        if here and _DONE.match(said):
            return LoopRemark(True)
        found = _REASON.match(said)
        if found and (here or ours):  # gcc says first which loop it couldn't vectorise, and then at which statement
            generated = here or place[0].startswith(str(header_dir()))
            where = "" if generated else f" ({place[0]}:{place[1]})"
            reason = reason or found["reason"] + where
        ours = here and bool(_REFUSED.match(said))
    return LoopRemark(False, reason)


def _remarks(text: str) -> Iterator[tuple[tuple[str, int], str]]:
    for line in text.splitlines():
        if match := _REMARK.match(line):
            yield (match["file"], int(match["line"])), match["text"]
