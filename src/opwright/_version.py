"""The version of Opwright, and the versions of PyTorch that it supports, defined only here."""

from __future__ import annotations

import re

__version__ = "0.1.0.dev0"

OLDEST_PYTORCH = "2.10"
"""The oldest version of PyTorch that Opwright supports."""

TESTED_PYTORCH = ("2.10", "2.11", "2.12", "2.13", "2.14")
"""The minor versions of PyTorch that are tested; docs/versions.md has the results."""


def minor(version: str) -> tuple[int, ...]:
    """Return a version's first two numbers, ``(2, 13)`` for ``2.13.0a0+cpu``; PyTorch's C++ interfaces go with them."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def format_minor(version: str) -> str:
    """Return a version's first two numbers as text: ``2.13``."""
    return ".".join(map(str, minor(version)))


def is_too_old(version: str) -> bool:
    """Return whether a version of PyTorch is older than those that Opwright supports; alphas count as the release.

    A version without numbers isn't too old.
    """
    return bool(minor(version)) and minor(version) < minor(OLDEST_PYTORCH)
