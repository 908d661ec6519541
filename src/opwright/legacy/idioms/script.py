"""Run a script that has ``async`` as a name as the main program: ``python -m opwright.legacy.idioms.script train.py``.

Python reads its main program itself, where no import hook sees it. Whoever starts a script asks :func:`needed` first.
"""

from __future__ import annotations

import os
import sys
import types

from opwright.legacy.idioms.async_keyword import compile_source, modern_source

__all__ = ["main", "needed"]


def needed(path: str) -> bool:
    """Whether Python can't parse the script, but can once ``async`` is read as a name.

    Raises:
        OSError: It can't be read.
    """
    with open(path, "rb") as file:
        source = file.read()
    try:
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        return modern_source(source) is not None
    except ValueError:  # no text at all
        return False
    return False


def main() -> None:
    """Run the script named first, as Python would run it."""
    del sys.argv[0]
    path = sys.argv[0]
    with open(path, "rb") as file:
        code = compile_source(file.read(), path)
    if not getattr(sys.flags, "safe_path", False):  # Python 3.11's -P
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = types.ModuleType("__main__")
    vars(module).update(__file__=os.path.abspath(path), __cached__=None)
    sys.modules["__main__"] = module
    exec(code, vars(module))  # noqa: S102 - that is what running a script is


if __name__ == "__main__":
    main()
