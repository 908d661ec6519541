"""Runs a script with ``async`` as a name as the main program: ``python -m opwright.legacy.run.script train.py``.

Python compiles its main program itself, without import hooks. Call :func:`needs_async_name` before a script is
started.
"""

from __future__ import annotations

import os
import sys
import types

from opwright.legacy.idioms.async_keyword import compile_source, modern_source


def needs_async_name(path: str) -> bool:
    """Return whether Python can parse the script only if ``async`` is treated as a name.

    Raises:
        OSError: The script can't be read.
    """
    with open(path, "rb") as file:
        source = file.read()
    try:
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError:
        return modern_source(source) is not None
    except ValueError:  # not a text file
        return False
    return False


def main() -> None:
    """Run the script given as the first argument, as ``python SCRIPT ARGS...`` would."""
    del sys.argv[0]
    path = sys.argv[0]
    with open(path, "rb") as file:
        code = compile_source(file.read(), path)
    if not getattr(sys.flags, "safe_path", False):  # Python 3.11's -P
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = types.ModuleType("__main__")
    vars(module).update(__file__=os.path.abspath(path), __cached__=None)
    sys.modules["__main__"] = module
    exec(code, vars(module))  # noqa: S102 - runs the user's script


if __name__ == "__main__":
    main()
