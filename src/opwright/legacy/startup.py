"""Startup of an interpreter with ``OPWRIGHT_LEGACY`` set: does almost nothing until torch is imported.

Also makes `torch.utils.cpp_extension`, once imported, provide Opwright's ``load`` and ``BuildExtension``.
"""

from __future__ import annotations

import contextlib
import os
import sys

VARIABLE = "OPWRIGHT_LEGACY"


def start() -> None:
    """Run `opwright.legacy.install`, and substitute Opwright's extension builder, if the variable requests it.

    Never raises: an error must not prevent an interpreter from starting.
    """
    _emulate_cuda()
    if os.environ.get(VARIABLE, "0") in ("", "0"):
        return
    try:
        from opwright.legacy.installation import install
        from opwright.legacy.patching import after_import

        install()
        after_import("torch.utils.cpp_extension", _substitute)
    except Exception as error:  # noqa: BLE001 - see above
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: {VARIABLE} has no effect: {type(error).__name__}: {error}\n")


def emulates_cuda() -> bool:
    """Return whether `opwright run --emulate` has started this interpreter."""
    # `aten.pytorch.EMULATION_VARIABLE`, by its name: the import would slow every start of an interpreter.
    return os.environ.get("OPWRIGHT_EMULATE_CUDA", "0") not in ("", "0")


def _emulate_cuda() -> None:
    """Provide a device of type cuda as soon as torch is imported, if `opwright run --emulate` requests it."""
    if not emulates_cuda():
        return
    try:
        from opwright.aten.emulation.start import begin_with_torch

        begin_with_torch()
    except Exception as error:  # noqa: BLE001 - see `start`
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: CUDA isn't emulated: {type(error).__name__}: {error}\n")


def _substitute() -> None:
    """Substitute our builder at the end of ``import torch.utils.cpp_extension``; report errors, never raise."""
    try:
        from opwright.cpp_extension import substitute

        substitute()
    except Exception as error:  # noqa: BLE001 - PyTorch's own builder works, too
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: PyTorch builds extensions itself: {type(error).__name__}: {error}\n")
