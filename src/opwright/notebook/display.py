"""Output in a notebook: a progress line, and errors at the cell's own lines."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.errors import OpwrightError
from opwright.log import listening
from opwright.sources.ops import EXAMPLE, LOAD_ARGUMENT

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_CONTEXT = 2
"""Number of lines shown before and after the line with the error."""


class Line:
    """A progress line below the cell, replaced by the result at the end.

    In IPython without a notebook, the terminal's current line is rewritten; without a terminal, only the result is
    printed.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._live = hasattr(shell, "kernel")
        self._terminal = not self._live and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._handle: Any = None

    def end(self, text: str) -> None:
        """Show the result."""
        if self._live:
            self._show(text)
        else:
            self._rewrite("")
            print(text)

    def tell(self, line: str) -> None:
        """Show the current step."""
        text = f"{line.removesuffix(' ...')} ..."
        if self._live:
            self._show(text)
        else:
            self._rewrite(text)

    def give_up(self) -> None:
        """Remove the progress line."""
        if self._handle is not None:
            self._show("not loaded")
        self._rewrite("")

    def _rewrite(self, text: str) -> None:
        """Replace the terminal's current line; long text is cut, because a second line couldn't be removed again."""
        if self._terminal:
            room = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:room]}", end="", flush=True)

    def _show(self, text: str) -> None:
        from IPython.display import display

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


@contextlib.contextmanager
def progress_line(shell: InteractiveShell) -> Iterator[Line]:
    """Show a progress line while the body runs."""
    line = Line(shell)
    try:
        with listening(line.tell):
            yield line
    except BaseException:
        line.give_up()
        raise


@contextlib.contextmanager
def point_at_cell(path: Path, text: str) -> Iterator[None]:
    """Show Opwright's errors without a traceback, with the line of the cell to which they refer.

    Args:
        path: the file with the cell's text, as the compiler sees it.
        text: the cell's text.
    """
    try:
        yield
    except OpwrightError as error:
        vars(error)["_render_traceback_"] = partial(_rendered, error, path, text)  # IPython's hook
        raise


def _rendered(error: OpwrightError, path: Path, text: str) -> list[str]:
    message = str(error)
    for known in {str(path), str(path.resolve())}:
        message = message.replace(f"{known}:", "cell:")
    message = message.replace(LOAD_ARGUMENT, f'--ops "{EXAMPLE}"')
    first = re.search(r"\bcell:(\d+)", message)
    what, *rest = message.splitlines() or [""]
    lines = _excerpt(text.rstrip().split("\n"), int(first[1])) if first else ()
    return [f"{type(error).__name__}: {what}", *lines, *rest]


def _excerpt(lines: list[str], number: int) -> Iterator[str]:
    """Yield the lines around the error's, numbered as in the notebook, without the magic's line."""
    for each in range(max(2, number - _CONTEXT), min(len(lines), number + _CONTEXT) + 1):
        yield f"{'---->' if each == number else '     '} {each:3} {lines[each - 1]}".rstrip()
