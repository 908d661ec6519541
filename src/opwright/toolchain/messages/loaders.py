"""Explanation of a loader's (``dlopen``'s) messages about libraries."""

from __future__ import annotations

import os
import re

_VERSION_MISSING = re.compile(
    r"^(?P<library>.+?): version `(?P<version>[^']+)' not found \(required by (?P<by>.+)\)$", re.MULTILINE
)
_STANDARD_LIBRARY = re.compile(r"(?:GLIBCXX|CXXABI)_")


def loading_problem(message: str) -> str | None:
    """Explain a loader's (``dlopen``'s) message about a library if building it again wouldn't help.

    Args:
        message: the loader's message.

    Returns:
        The explanation with the likely fix, or None if a rebuild may help (the file may be damaged).
    """
    if match := _VERSION_MISSING.search(message):
        return f"{_older_library(match['by'], match['library'], match['version'])}\n  loader:     {message}"
    if "failed to map segment" in message:
        return (
            f"{message}\n  likely fix: its folder is on a file system that is mounted noexec; "
            "set TORCH_EXTENSIONS_DIR to a folder elsewhere"
        )
    if "static TLS" in message:
        return f"{message}\n  likely fix: load it earlier, or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
    return None


def _older_library(by: str, library: str, version: str) -> str:
    if not _STANDARD_LIBRARY.match(version):
        return (
            f"{by} can't be loaded: it was linked on a system whose {os.path.basename(library)} has {version}, "
            f"and this one ({library}) doesn't\n"
            "  likely fix: build it here, or on the oldest system that it shall run on"
        )
    return (
        f"{by} can't be loaded: the C++ library in this process, {library}, is older than the compiler's: "
        f"it lacks {version}\n"
        "  likely fix: update it (in a conda environment: conda install -c conda-forge libstdcxx-ng), or compile with "
        "an older compiler (CXX=g++-11), or start with LD_PRELOAD=$(g++ -print-file-name=libstdc++.so.6)"
    )
