"""The version of Opwright, and the versions of PyTorch that it supports, defined only here."""

from __future__ import annotations

__version__ = "0.1.0.dev0"

OLDEST_PYTORCH = "2.10"
"""The oldest version of PyTorch that Opwright supports."""

TESTED_PYTORCH = ("2.10", "2.11", "2.12", "2.13", "2.14")
"""The minor versions of PyTorch that are tested; docs/versions.md has the results."""
