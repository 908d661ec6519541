"""The names of a prebuilt native runtime's files in a wheel."""

from __future__ import annotations

import platform
import sys

FACTS, LIBRARY = "runtime.json", "runtime.so"
"""The file that says what a runtime was built for (opwright.runtime.native.prebuilt), and the runtime."""


def platform_name() -> str:
    """Return the name of this platform, such as ``linux-x86_64``."""
    return f"{sys.platform}-{platform.machine()}"


def folder_name(minor: str) -> str:
    """Return the name of the folder with the runtime for a minor version of PyTorch, such as ``"2.13"``, here."""
    return f"torch{minor}-{platform_name()}"
