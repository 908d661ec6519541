"""The direct path: calls from Python that go past PyTorch's parser and dispatcher (``csrc/direct/direct.h``).

An operator stays the ``OpOverload`` that graphs know. Its class becomes a subclass, written in C, whose only difference
is what a call does: where all tensors are plain ones and nothing intervenes (no mode, transform, profiler, subclass or
forward-mode tangent), it runs the operator itself. Every other call goes PyTorch's own way, as all do with
``OPWRIGHT_DIRECT=0``. Results, graphs and errors are the same.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import torch

from opwright.runtime.interface import Explain
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket, address_of

if TYPE_CHECKING:
    from opwright.runtime.native.runtime import Native


class ChooserAddress(int):
    """The address of what chooses between alternatives; other operators have plain ones."""


class DirectPath:
    """The direct path of this process.

    Attributes:
        obstacle: why there is none; empty if there is one.
    """

    def __init__(self, library: Native) -> None:
        """Look up what is needed of Python and of PyTorch."""
        self._library = library
        self.obstacle = _obstacle() or self._start()

    def _start(self) -> str:
        probe = torch.empty(0)
        address = address_of(probe)
        if address is None:
            return "this PyTorch doesn't say where a tensor is"
        reason = self._library.direct_start(probe, address, True, bool)
        return reason.decode() if reason else ""

    def type_of(self, kind: type, explain: Explain) -> Any:
        """Return the subclass of `kind`, an overload's or a packet's class, whose calls take the direct path.

        Return None if there is no direct path. `explain`: see `interface.Explain`; it is called for errors
        of either path.
        """
        return None if self.obstacle else self._type(kind, explain)

    @functools.cache  # noqa: B019 - there is one object
    def _type(self, kind: type, explain: Explain) -> Any:
        which = (OpOverload, OpOverloadPacket).index(kind)
        return self._library.direct_type(which, f"opwright.{kind.__name__}".encode(), kind, explain)

    def set(self, target: OpOverload | OpOverloadPacket, operator: int | None) -> None:
        """Let calls of `target` run the operator at this address; None: they go PyTorch's way."""
        if not self.obstacle:
            chooses = isinstance(operator, ChooserAddress)
            (self._library.direct_choose if chooses else self._library.direct_set)(target, operator)


def _obstacle() -> str:
    """Return why this process can't have a direct path; empty if it can."""
    if os.environ.get("OPWRIGHT_DIRECT") == "0":
        return "OPWRIGHT_DIRECT=0"
    if sys.implementation.name != "cpython":
        return f"it is for CPython, and this is {sys.implementation.name}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no GIL"
    return ""
