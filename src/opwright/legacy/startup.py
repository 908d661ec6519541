"""What an interpreter does at its start where ``OPWRIGHT_LEGACY`` is set: next to nothing, until torch is imported."""

from __future__ import annotations

import contextlib
import os
import sys

VARIABLE = "OPWRIGHT_LEGACY"


def start() -> None:
    """`opwright.legacy.install`, if the variable says so. Never raises: no interpreter may fail to start for this."""
    if os.environ.get(VARIABLE, "0") in ("", "0"):
        return
    try:
        from opwright.legacy.installing import install

        install()
    except Exception as error:  # noqa: BLE001 - see above
        with contextlib.suppress(Exception):
            sys.stderr.write(f"opwright: {VARIABLE} has no effect: {type(error).__name__}: {error}\n")
