"""Logging, through the standard library's logger ``opwright``, and notices on stderr.

``OPWRIGHT_LOG=debug`` (or ``info``, ``warning``) sets the logger's level, and shows the log on stderr unless the
program has set up logging itself. ``debug`` logs commands, cache hits and the library of each kernel; ``info`` logs
slow work and its reason; ``warning`` logs problems that the user should solve. Calls aren't logged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

from opwright.errors import ToolchainError

__all__ = ["EVERY", "VARIABLE", "is_listened_to", "level", "listening", "logger", "moving", "notice", "progress"]

VARIABLE = "OPWRIGHT_LOG"
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

EVERY = 15.0
"""Seconds between two lines about the same work where the output is no terminal."""
_PATIENCE = 3.0
"""Seconds that work may take without a line about it on a terminal."""

logger = logging.getLogger("opwright")

_LISTENERS: list[Callable[[str], None]] = []
_MOVING: list[threading.Event] = []
"""What `moving` shows, in the order of its beginnings."""


def level() -> int | None:
    """Return the level that ``OPWRIGHT_LOG`` specifies; None if it isn't set.

    Raises:
        ToolchainError: the variable isn't a level.
    """
    requested = os.environ.get(VARIABLE, "").strip()
    if requested and requested.lower() not in LEVELS:
        raise ToolchainError(
            f"{VARIABLE}={requested!r} names no level, expected {', '.join(LEVELS)}\n  likely fix: {VARIABLE}=debug"
        )
    return LEVELS[requested.lower()] if requested else None


def progress(line: str) -> None:
    """Report slow work: log it at the level ``info``, and pass it to the listeners (see `listening`)."""
    logger.info(line)
    for listener in tuple(_LISTENERS):
        listener(line)


def notice(line: str, importance: int = logging.INFO) -> None:
    """Report something that the user waits for or has to know: on stderr if neither a log nor a listener takes it."""
    heard = _is_heard(importance)
    if importance == logging.INFO:
        progress(line)
        heard = heard or bool(_LISTENERS)
    elif heard:  # otherwise logging would print it itself, without Opwright's name
        logger.log(importance, line)
    if not heard:
        _write(f"opwright: {line}\n")


@contextlib.contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call `listener` with each line of `progress`, from any thread, inside this context."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def is_listened_to() -> bool:
    """Return whether there is a listener (see `listening`)."""
    return bool(_LISTENERS)


@contextlib.contextmanager
def moving(what: str) -> Iterator[None]:
    """Show how many seconds the body has taken, once it has taken a few: no wait looks like the end.

    Listeners are told each second; without them, a terminal has a line that is rewritten and then removed, and other
    outputs, and logs, a line every `EVERY` seconds. Of several at a time, the one that began last is shown.
    """
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done), daemon=True)
    try:
        teller.start()
    except RuntimeError:  # Python 3.12 and newer start no thread while the interpreter shuts down
        yield
        return
    _MOVING.append(done)
    try:
        yield
    finally:
        _MOVING.remove(done)
        done.set()
        teller.join()


def _tell(what: str, done: threading.Event) -> None:
    """Say from time to time how long `what` has taken, until it is done."""
    begun = said = time.monotonic()
    rewritten = False
    while not done.wait(1):
        now = time.monotonic()
        line = f"{what}: {now - begun:.0f} s"
        if now - begun < _PATIENCE or _MOVING[-1:] != [done]:
            continue
        if _LISTENERS:
            for listener in tuple(_LISTENERS):
                listener(line)
        elif not _is_heard(logging.INFO) and _is_terminal():
            _write(f"\r\x1b[Kopwright: {line}")
            rewritten = True
        elif now - said >= EVERY:
            said = now
            notice(line)
    if rewritten:
        _write("\r\x1b[K")


def _is_terminal() -> bool:
    with contextlib.suppress(Exception):  # there may be no stderr, or a closed one
        return sys.stderr.isatty()
    return False


def _is_heard(importance: int) -> bool:
    return _ASKED or _taken(importance)


def _taken(importance: int) -> bool:
    """Return whether the program has set up logging that shows messages of this importance."""
    return logger.isEnabledFor(importance) and logger.hasHandlers()


class _Stderr(logging.Handler):
    """The handler for ``OPWRIGHT_LOG``; if the program has its own handlers, they show the log instead."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            _write(self.format(record) + "\n")


def _write(text: str) -> None:
    with contextlib.suppress(Exception):  # there may be no stderr, or a closed one
        sys.stderr.write(text)
        sys.stderr.flush()


def _set_up() -> bool:
    """Set up logging if ``OPWRIGHT_LOG`` is set; return whether it was set up."""
    try:
        requested = level()
    except ToolchainError as error:
        _write(f"opwright: {error}\n")
        return False
    if requested is None:
        return False
    handler = _Stderr()
    line = "opwright[%(process)d] %(asctime)s.%(msecs)03d %(levelname)s: %(message)s"
    handler.setFormatter(logging.Formatter(line, "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(requested)
    return True


_ASKED = _set_up()
