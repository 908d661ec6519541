"""Says which call hasn't returned, where one takes very long: a loop without end can't be ended within its process."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SECONDS = 120.0
"""After how long it is said; a compiler may be what a judgement waits for, for as long as that."""


@dataclass(eq=False)
class _Begun:
    """A call that hasn't returned yet."""

    described: Callable[[], str]
    since: float
    told: bool = False


_begun: list[_Begun] = []
_where = [""]


def now(where: str) -> None:
    """What is being done: the operator, and the check."""
    _where[0] = where


@contextlib.contextmanager
def calling(described: Callable[[], str]) -> Iterator[None]:
    """A call, or what is done with one; `described` gives its arguments in words."""
    begun = _Begun(described, time.monotonic())
    _begun.append(begun)
    try:
        yield
    finally:
        _begun.remove(begun)


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Meanwhile stderr is told of the innermost call that takes too long, once."""
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(ended,), name="opwright-check-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(ended: threading.Event) -> None:
    while not ended.wait(SECONDS / 8):
        late = [each for each in list(_begun) if time.monotonic() - each.since > SECONDS]
        if late and not late[-1].told:
            said = f"a call hasn't returned for {SECONDS:g} s, with {late[-1].described()}"
            sys.stderr.write(f"\nopwright check: {_where[0]}: {said}\n")
            sys.stderr.flush()
        for each in late:
            each.told = True
