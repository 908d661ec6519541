"""``install``, ``uninstall`` and ``status``: every change to torch, made when torch is there, and taken back again."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

from opwright.legacy.change import Change
from opwright.legacy.importing import after_import, is_imported

_OFFERS = ("opwright.legacy.ffi_module", "opwright.legacy.autograd", "opwright.legacy.idioms")
"""The modules with a tuple ``CHANGES`` and, of those that need not wait for torch, ``WITHOUT_TORCH``.

Interpreters start with them: they import next to nothing themselves.
"""

_LOCK = threading.RLock()


class Status(NamedTuple):
    """What `install` has done.

    Attributes:
        installed: whether `install` was called, and not taken back.
        waiting: whether the changes are made when torch is imported, which it hasn't been yet.
        changes: those that have been made, in their order.
    """

    installed: bool
    waiting: bool
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        """A line for each change."""
        if not self.installed:
            return "opwright.legacy is not installed"
        if self.waiting:
            head = "opwright.legacy is installed; torch, which isn't imported yet, is as it was"
        else:
            head = "opwright.legacy is installed"
        width = max((len(change.name) for change in self.changes), default=0)
        return "\n".join([head, *(f"  {each.name:{width}}  {each.does}" for each in self.changes)])


class _Installation:
    """The one installation of this process."""

    def __init__(self) -> None:
        self.installed = False
        self.made: list[tuple[Change, Callable[[], None]]] = []
        self.call_off: Callable[[], None] | None = None

    def make(self, *, with_torch: bool) -> None:
        """Make the changes that need torch, or those that don't; or none."""
        try:
            for name in _OFFERS:
                module = importlib.import_module(name)
                without: tuple[Change, ...] = getattr(module, "WITHOUT_TORCH", ())
                changes = [each for each in module.CHANGES if each not in without] if with_torch else without
                self.made += ((change, change.apply()) for change in changes)
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Take everything back, last first."""
        if self.call_off:
            self.call_off()
        self.call_off = None
        while self.made:
            self.made.pop()[1]()
        self.installed = False


_installation = _Installation()


def install() -> None:
    """Give this process's torch what it had until 0.4.1, `torch.utils.ffi` first of all; `status` lists it.

    Where torch hasn't been imported, that waits until it is. Calling it again does nothing.
    """
    with _LOCK:
        if _installation.installed:
            return
        _installation.make(with_torch=False)
        if is_imported("torch"):
            _installation.make(with_torch=True)
        else:
            _installation.call_off = after_import("torch", _make_quietly)
        _installation.installed = True


def _make_quietly() -> None:
    """At the end of ``import torch``, which must go well all the same."""
    with _LOCK:
        _installation.call_off = None
        try:
            _installation.make(with_torch=True)
        except Exception as error:  # noqa: BLE001 - whatever it is, torch itself is all right
            with contextlib.suppress(Exception):
                sys.stderr.write(f"opwright: legacy support is not installed: {type(error).__name__}: {error}\n")


def uninstall() -> None:
    """Take back everything that `install` did. What was imported or built meanwhile stays."""
    with _LOCK:
        _installation.undo()


def status() -> Status:
    """What `install` has changed in torch."""
    with _LOCK:
        made = tuple(change for change, _ in _installation.made)
        return Status(_installation.installed, _installation.call_off is not None, made)
