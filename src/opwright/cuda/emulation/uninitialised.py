"""Shows the compiler's warnings of local variables that are read before anything is written to them.

The checker doesn't watch a thread's own variables, most of which are in registers; of arrays see local_arrays.py.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from opwright.log import notice
from opwright.toolchain import header_dir
from opwright.toolchain.messages.diagnostics import readable, split, user_place

if TYPE_CHECKING:
    from opwright.toolchain import Built, Compiler

_FLAG = re.compile(r"\s*\[-W(?:maybe-)?uninitialized\]$")


def asking(compiler: Compiler) -> tuple[str, ...]:
    """Return the compiler's options for these warnings; they have no effect beside ``-w``.

    gcc's second is for a sum in a loop that may have no rounds, too. clang has no such option.
    """
    return ("-Wuninitialized", *(() if compiler.kind == "clang" else ("-Wmaybe-uninitialized",)))


def with_warnings(built: Built) -> Built:
    """Return `built`, after a warning for each such variable of the author's if it has just been compiled.

    The column is that of the rewritten line, and left out.
    """
    if built.log is None:
        return built
    ours = str(header_dir())
    warned = dict.fromkeys(
        f"warning: {place._replace(column=0)}: {_FLAG.sub('', each.text)}\n"
        "  likely fix: give it a value where it is declared"
        for each in split(readable(built.log.read_text("utf-8", "replace")))
        if each.kind == "warning" and _FLAG.search(each.text)
        if (place := user_place(each, lambda file: not file.startswith(ours)))
    )
    for line in warned:
        notice(line, logging.WARNING)
    return built
