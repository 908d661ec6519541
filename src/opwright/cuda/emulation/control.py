"""In which order, and by how many workers, emulated blocks run."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_ORDERS = ("forward", "reverse", "random")


class _Settings(NamedTuple):
    order: str = "forward"
    seed: int = 0
    workers: int = 0


_settings = [_Settings()]
_libraries: dict[Path, ctypes.CDLL] = {}


@contextlib.contextmanager
def order(kind: str, seed: int = 0) -> Iterator[None]:
    """Launches within the ``with`` run their blocks, and the threads of a block, in this order.

    A right kernel gives the same in every one (up to the rounding of floating-point atomics).

    Args:
        kind: ``"forward"`` (as it is without this), ``"reverse"`` or ``"random"``.
        seed: which random order.

    Raises:
        ValueError: `kind` is none of the three.
    """
    if kind not in _ORDERS:
        raise ValueError(f"order({kind!r}) names no order, expected one of {', '.join(map(repr, _ORDERS))}")
    with _changed(_settings[-1]._replace(order=kind, seed=seed)):
        yield


@contextlib.contextmanager
def workers(count: int) -> Iterator[None]:
    """Launches within the ``with`` share their blocks among this many threads of the operating system.

    Args:
        count: how many; 0: one for each processor, as it is without this.

    Raises:
        ValueError: `count` is negative.
    """
    if count < 0:
        raise ValueError(f"workers({count}) is negative, expected how many threads share a launch's blocks")
    with _changed(_settings[-1]._replace(workers=count)):
        yield


@contextlib.contextmanager
def _changed(settings: _Settings) -> Iterator[None]:
    _settings.append(settings)
    _apply()
    try:
        yield
    finally:
        del _settings[next(at for at, each in enumerate(_settings) if each is settings)]  # equal ones may be others'
        _apply()


def adopt(path: Path) -> None:
    """Have the runtime at `path` do what is set here, from now on."""
    if path not in _libraries:
        library = ctypes.CDLL(str(path))
        library.opwright_emulation_order.argtypes = [ctypes.c_int, ctypes.c_uint64]
        library.opwright_emulation_workers.argtypes = [ctypes.c_int]
        _libraries[path] = library
        _apply()


def _apply() -> None:
    settings = _settings[-1]
    for library in _libraries.values():
        library.opwright_emulation_order(_ORDERS.index(settings.order), settings.seed)
        library.opwright_emulation_workers(settings.workers)
