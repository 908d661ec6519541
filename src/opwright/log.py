"""What Opwright does, told to the standard library's logger ``opwright``; nothing is shown unless somebody asks.

``OPWRIGHT_LOG=debug`` (or ``info``, ``warning``) sets the logger's level, and shows it on stderr where the program
hasn't set up logging itself. ``debug`` has commands, cache hits and what each kernel is loaded from; ``info`` what
takes time, and why it had to be done; ``warning`` what somebody should do something about. Calls aren't logged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator

from opwright.errors import ToolchainError

__all__ = ["VARIABLE", "level", "listening", "logger", "notice", "progress"]

VARIABLE = "OPWRIGHT_LOG"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

logger = logging.getLogger("opwright")

_LISTENERS: list[Callable[[str], None]] = []


def level() -> int | None:
    """The level that ``OPWRIGHT_LOG`` asks for; None where it isn't set.

    Raises:
        ToolchainError: it names none.
    """
    asked = os.environ.get(VARIABLE, "").strip()
    if asked and asked.lower() not in LEVELS:
        raise ToolchainError(
            f"{VARIABLE}={asked!r} names no level, expected {', '.join(LEVELS)}\n  likely fix: {VARIABLE}=debug"
        )
    return LEVELS[asked.lower()] if asked else None


def progress(line: str) -> None:
    """Tell of something that takes time: at the level ``info``, and to those who are `listening`."""
    logger.info(line)
    for listener in tuple(_LISTENERS):
        listener(line)


def notice(line: str, importance: int = logging.INFO) -> None:
    """Tell of something that a person waits for or has to know: on stderr, where neither log nor listener take it."""
    heard = _ASKED or _taken(importance)
    if importance == logging.INFO:
        progress(line)
        heard = heard or bool(_LISTENERS)
    elif heard:  # else logging would write it by itself, without our name
        logger.log(importance, line)
    if not heard:
        _write(f"opwright: {line}\n")


@contextlib.contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Have each line of `progress`, from any thread, for as long as this lasts."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def _taken(importance: int) -> bool:
    """Whether the program has set up logging so that it shows this."""
    return logger.isEnabledFor(importance) and logger.hasHandlers()


class _Stderr(logging.Handler):
    """What ``OPWRIGHT_LOG`` shows; where the program has handlers of its own, it is they that show it."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            _write(self.format(record) + "\n")


def _write(text: str) -> None:
    with contextlib.suppress(Exception):  # no stderr, or a closed one: nobody looks
        sys.stderr.write(text)
        sys.stderr.flush()


def _set_up() -> bool:
    """Whether the variable asks for anything."""
    try:
        asked = level()
    except ToolchainError as error:
        _write(f"opwright: {error}\n")
        return False
    if asked is None:
        return False
    handler = _Stderr()
    line = "opwright[%(process)d] %(asctime)s.%(msecs)03d %(levelname)s: %(message)s"
    handler.setFormatter(logging.Formatter(line, "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(asked)
    return True


_ASKED = _set_up()
