"""Tracebacks without Opwright's own frames: an error of a user's source or call begins at the user's line.

``OPWRIGHT_LOG=debug`` keeps every frame, and the errors that led to this one.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import sysconfig
import types
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from opwright.errors import OpwrightError
from opwright.log import logger

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Error = TypeVar("_Error", bound=BaseException)

_OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_PYTHONS = os.path.join(sysconfig.get_paths()["stdlib"], "")


def entry(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Return a public function that raises Opwright's errors, and Ctrl-C's, without frames of Opwright below its own.

    Frames of other code that Opwright called, such as a reference that `opwright.check` compares with, stay.
    """

    @functools.wraps(function)
    def called(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        """Call the function; an error comes without Opwright's own frames."""
        try:
            return function(*args, **kwargs)
        except (OpwrightError, KeyboardInterrupt) as error:
            if keeps_all():
                raise
            raise trimmed(error) from None
        except TypeError as error:
            frames = error.__traceback__
            if frames is None or frames.tb_next is not None or not (hint := _misspelt(function, str(error))):
                raise
            raise TypeError(f"{error}{hint}") from None

    return called


def _misspelt(function: Callable[..., object], text: str) -> str:
    """Return the fix for a call with a keyword that the function doesn't have; "" for other errors."""
    found = re.search(r"unexpected keyword argument '(\w+)'", text)
    if found is None:
        return ""
    import inspect

    from opwright.closest_name import closest_name

    names = list(inspect.signature(function).parameters)
    meant = next((name for name in names if name.endswith(f"_{found[1]}")), None) or closest_name(found[1], names)
    return f"\n  likely fix: did you mean {meant}=?" if meant else f"\n  likely fix: it takes {', '.join(names)}"


def keeps_all() -> bool:
    """Return whether tracebacks keep all frames, for the development of Opwright."""
    return logger.isEnabledFor(logging.DEBUG)


def trimmed(error: _Error) -> _Error:
    """Return the error with a traceback without frames of Opwright and of the standard library that it used."""
    frames = []
    at = error.__traceback__
    while at is not None:
        if not _is_ours(at.tb_frame.f_code.co_filename):
            frames.append(at)
        at = at.tb_next
    kept: types.TracebackType | None = None
    for frame in reversed(frames):
        kept = types.TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(kept)


def _is_ours(file: str) -> bool:
    of_python = file.startswith(_PYTHONS) and "-packages" + os.sep not in file
    return file.startswith((_OURS, "<")) or of_python  # <string>: methods that dataclasses generates
