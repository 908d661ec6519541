"""``install``, ``uninstall`` and ``status``: apply the changes to torch once it is imported, and undo them."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

from opwright.legacy.patching import Change, after_import, is_imported

_OFFERS = ("opwright.legacy.ffi_module", "opwright.legacy.autograd", "opwright.legacy.idioms")
"""Modules with a tuple ``CHANGES``, and ``WITHOUT_TORCH`` for the changes that don't need torch.

They are imported when an interpreter starts, so they import almost nothing themselves.
"""

_LOCK = threading.RLock()


class Status(NamedTuple):
    """The state of the installation.

    Attributes:
        installed: whether `install` was called and not undone.
        waiting: whether the changes wait for the import of torch.
        changes: the changes that have been made, in order.
    """

    installed: bool
    waiting: bool
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        """Return one line per change."""
        if not self.installed:
            return "opwright.legacy is not installed"
        if self.waiting:
            head = "opwright.legacy is installed; torch, which isn't imported yet, is as it was"
        else:
            head = "opwright.legacy is installed"
        width = max((len(change.name) for change in self.changes), default=0)
        return "\n".join([head, *(f"  {change.name:{width}}  {change.does}" for change in self.changes)])


class _Installation:
    """The single installation of this process."""

    def __init__(self) -> None:
        self.installed = False
        self.made: list[tuple[Change, Callable[[], None]]] = []
        self.call_off: Callable[[], None] | None = None

    def make(self, *, with_torch: bool) -> None:
        """Make the changes that need torch, or those that don't; if one fails, undo all."""
        try:
            for name in _OFFERS:
                module = importlib.import_module(name)
                without: tuple[Change, ...] = getattr(module, "WITHOUT_TORCH", ())
                changes = [change for change in module.CHANGES if change not in without] if with_torch else without
                self.made += ((change, change.apply()) for change in changes)
        except BaseException:
            self.undo()
            raise

    def undo(self) -> None:
        """Undo everything, in reverse order."""
        if self.call_off:
            self.call_off()
        self.call_off = None
        while self.made:
            self.made.pop()[1]()
        self.installed = False


_installation = _Installation()


def install() -> None:
    """Restore the interfaces of PyTorch up to 0.4.1 in this process's torch, such as `torch.utils.ffi`; see `status`.

    If torch isn't imported yet, the changes are made when it is. Calling this again does nothing.
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
    """Make the changes at the end of ``import torch``; report an error instead of raising it."""
    with _LOCK:
        _installation.call_off = None
        try:
            _installation.make(with_torch=True)
        except Exception as error:  # noqa: BLE001 - torch itself is usable despite any error
            with contextlib.suppress(Exception):
                sys.stderr.write(f"opwright: legacy support is not installed: {type(error).__name__}: {error}\n")


def uninstall() -> None:
    """Undo all changes of `install`. Modules imported or built in the meantime stay."""
    with _LOCK:
        _installation.undo()


def status() -> Status:
    """Return the changes that `install` has made to torch."""
    with _LOCK:
        changes = tuple(change for change, _ in _installation.made)
        return Status(_installation.installed, _installation.call_off is not None, changes)
