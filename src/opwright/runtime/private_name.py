"""A private name of PyTorch: looked up when it is needed, and reported once if this PyTorch lacks it."""

from __future__ import annotations

import contextlib
import logging
import pkgutil
from typing import Any

import torch

from opwright._version import OLDEST_PYTORCH
from opwright.errors import UnsupportedError
from opwright.log import notice

NAMES: list[PrivateName] = []


class PrivateName:
    """A private name of PyTorch.

    Attributes:
        path: the full name, beginning with ``torch``; for an attribute of an object, its class and the attribute.
        why: the purpose for which it is needed.
        without: what happens if PyTorch lacks it.
        since: the first of the versions that Opwright supports that has it.
    """

    def __init__(self, path: str, why: str, without: str, *, since: str = OLDEST_PYTORCH) -> None:
        self.path, self.why, self.without, self.since = path, why, without, since
        self._found: Any = None
        self._warned = False
        NAMES.append(self)

    def find(self) -> Any:
        """Return the object with this full name, or None if this PyTorch lacks it."""
        if self._found is None:
            with contextlib.suppress(ImportError, AttributeError):
                self._found = pkgutil.resolve_name(self.path)
        return self._found

    def of(self, owner: Any) -> Any:
        """Return this attribute of `owner`, or None if this PyTorch lacks it."""
        return getattr(owner, self.attribute, None)

    @property
    def attribute(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    def warn(self) -> None:
        """Warn once of the consequences of this name's absence."""
        if not self._warned:
            self._warned = True
            notice(f"PyTorch {torch.__version__} has no {self.path}: {self.without}", logging.WARNING)

    def needed(self, what: str, owner: Any = None) -> Any:
        """Return the object or `owner`'s attribute; raise UnsupportedError, naming the feature `what`, if absent."""
        if (found := self.find() if owner is None else self.of(owner)) is None:
            raise UnsupportedError(
                f"{what} needs {self.path}, which PyTorch {torch.__version__} doesn't have\n"
                "  likely fix: a version of PyTorch that this Opwright was tested with, or a newer Opwright"
            )
        return found
