"""Warnings of what is called hundreds of times."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def warned_once() -> Iterator[None]:
    """Meanwhile each warning is shown once. Python forgets which ones were, whenever somebody changes the filters."""
    shown: set[tuple[str, type[Warning], str, int]] = set()
    before = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if (each := (str(message), category, filename, lineno)) not in shown:
            shown.add(each)
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
