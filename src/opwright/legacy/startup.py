"""What an interpreter does at its start where ``OPWRIGHT_LEGACY`` is set: next to nothing, until torch is imported.

Also `torch.utils.cpp_extension`, where something imports that, then gives Opwright's ``load`` and ``BuildExtension``.
"""

from __future__ import annotations

import contextlib
import os
import sys

VARIABLE = "OPWRIGHT_LEGACY"


def start() -> None:
    """`opwright.legacy.install`, and Opwright's extension builder, if the variable says so.

    Never raises: no interpreter may fail to start for this.
    """
    if os.environ.get(VARIABLE, "0") in ("", "0"):
        return
    try:
        from opwright.legacy.importing import after_import
        from opwright.legacy.installing import install

        install()
        after_import("torch.utils.cpp_extension", _substitute)
    except Exception as error:  # noqa: BLE001 - see above
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: {VARIABLE} has no effect: {type(error).__name__}: {error}\n")


def _substitute() -> None:
    """At the end of ``import torch.utils.cpp_extension``, which must go well all the same."""
    try:
        from opwright.aten.substitute import install

        install()
    except Exception as error:  # noqa: BLE001 - PyTorch's own does its work, too
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: PyTorch builds extensions itself: {type(error).__name__}: {error}\n")
