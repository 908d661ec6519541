"""Which runtime: ``OPWRIGHT_RUNTIME`` decides; else the native one, and the Python one where that can't be had."""

from __future__ import annotations

import logging
import os

from opwright.errors import ToolchainError
from opwright.log import notice
from opwright.runtime.interface import Runtime

VARIABLE = "OPWRIGHT_RUNTIME"


def selected() -> Runtime:
    """The runtime for this process.

    Raises:
        ToolchainError: the native one is asked for and can't be built or loaded, or the variable says something else.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked == "python":
        return _python()
    if asked == "native":
        return _native()
    if asked:
        raise ToolchainError(
            f"{VARIABLE}={asked} names no runtime, expected native or python\n"
            "  likely fix: unset it; then the native one is used, or the one in Python where there is no compiler"
        )
    try:
        return _native()
    except ToolchainError as error:
        notice(_warning(error), logging.WARNING)
        return _python()


def _warning(error: ToolchainError) -> str:
    """One line: what is used instead, why, and what to do about it."""
    reason = str(error).partition("\n")[0]
    return (
        "using the runtime in Python, which is slower at each call, because the native one can't be "
        f"built: {reason}; with a C++ compiler (g++ 11 or clang++ 15, or newer) it is built at the "
        f"next start, and {VARIABLE}=python leaves this line out"
    )


def _native() -> Runtime:
    from opwright.runtime.native_runtime import NativeRuntime

    return NativeRuntime()


def _python() -> Runtime:
    from opwright.runtime.python.runtime import PythonRuntime

    return PythonRuntime()
