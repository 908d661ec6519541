"""The only part that knows PyTorch: operators registered, checked, allocated, called and differentiated."""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401 - asked for here, so that the error says what to install
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Opwright needs PyTorch 2.10 or newer to load operators, and none is installed. "
        "Install it with `pip install opwright[torch]`, or choose a build on pytorch.org.",
        name=error.name,
    ) from error

from opwright.runtime.loading import load, unwatch
from opwright.runtime.namespace import Operators
from opwright.runtime.registry import started

__all__ = ["Operators", "load", "name", "unwatch"]


def name() -> str:
    """Which runtime this process uses: ``native`` or ``python``.

    Raises:
        ToolchainError: the one that OPWRIGHT_RUNTIME asks for can't be built or loaded.
    """
    return started().name
