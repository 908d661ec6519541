"""What a notebook shows: a line that tells how far it is, and errors at the cell's own lines."""

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
from opwright.sources.given import EXAMPLE, GIVEN_TO_LOAD

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_AROUND = 2
"""Lines that are shown before and after the one that is meant."""


class Line:
    """A line below the cell that says what is under way, and in its place at the end what was done.

    Where there is no kernel (IPython in a terminal) it is the terminal's current line that is written anew; and where
    that isn't a terminal either, the last one alone is printed.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._live = hasattr(shell, "kernel")
        self._terminal = not self._live and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._handle: Any = None

    def end(self, text: str) -> None:
        """Say what was done."""
        if self._live:
            self._show(text)
        else:
            self._rewrite("")
            print(text)

    def tell(self, line: str) -> None:
        """Say what is under way."""
        text = f"{line.removesuffix(' ...')} ..."
        if self._live:
            self._show(text)
        else:
            self._rewrite(text)

    def give_up(self) -> None:
        """Leave nothing under way."""
        if self._handle is not None:
            self._show("not loaded")
        self._rewrite("")

    def _rewrite(self, text: str) -> None:
        """Put it in place of the terminal's current line: cut, because a second line could not be taken back."""
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
    """A line that hears of what takes time."""
    line = Line(shell)
    try:
        with listening(line.tell):
            yield line
    except BaseException:
        line.give_up()
        raise


@contextlib.contextmanager
def point_at_cell(path: Path, text: str) -> Iterator[None]:
    """Let an error of Opwright's be shown without a traceback, with the line of the cell that it is about.

    Args:
        path: where the compiler finds the cell.
        text: what is in it.
    """
    try:
        yield
    except OpwrightError as error:
        vars(error)["_render_traceback_"] = partial(_rendered, error, path, text)  # what IPython asks for
        raise


def _rendered(error: OpwrightError, path: Path, text: str) -> list[str]:
    said = str(error)
    for known in {str(path), str(path.resolve())}:
        said = said.replace(f"{known}:", "cell:")
    said = said.replace(GIVEN_TO_LOAD, f'--ops "{EXAMPLE}"')
    first = re.search(r"\bcell:(\d+)", said)
    what, *rest = said.splitlines() or [""]
    lines = _excerpt(text.rstrip().split("\n"), int(first[1])) if first else ()
    return [f"{type(error).__name__}: {what}", *lines, *rest]


def _excerpt(lines: list[str], number: int) -> Iterator[str]:
    """The lines around the one that is meant, numbered as in the notebook; the magic's own is not among them."""
    for each in range(max(2, number - _AROUND), min(len(lines), number + _AROUND) + 1):
        yield f"{'---->' if each == number else '     '} {each:3} {lines[each - 1]}".rstrip()
