"""The environment in which compilers are started."""

from __future__ import annotations

import os
from pathlib import Path

SEARCHED_BY_COMPILERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_OURS = f"{Path(__file__).parents[2]}{os.sep}"


def compiler_environment() -> dict[str, str]:
    """Return the process's environment, without the folders of Opwright's own in the compilers' search paths.

    ``opwright run`` adds such folders for the compilers that old build scripts call themselves. A build of ours names
    the headers that it needs, and has the same cache key with and without ``opwright run``.
    """
    environment = dict(os.environ)
    for variable in SEARCHED_BY_COMPILERS:
        if _OURS in environment.get(variable, ""):
            folders = environment.pop(variable).split(os.pathsep)
            if others := [folder for folder in folders if not folder.startswith(_OURS)]:
                environment[variable] = os.pathsep.join(others)
    return environment
