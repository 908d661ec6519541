"""``python -m opwright.legacy.script FILE ...`` runs a script that Python can't parse since ``async`` is a name in it.

Only for those: any other script is Python's own affair (`opwright run`).
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Become the script named first: its arguments, its folder on the path, its ``__main__``."""
    del sys.argv[0]
    path = os.path.abspath(sys.argv[0])
    if not getattr(sys.flags, "safe_path", False):  # Python 3.11
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    from opwright.legacy.idioms.async_keyword import compile_source

    with open(path, "rb") as file:
        code = compile_source(file.read(), path)
    namespace = vars(sys.modules["__main__"])
    for name in [name for name in namespace if name not in ("__name__", "__builtins__")]:
        del namespace[name]
    namespace |= {"__file__": path, "__doc__": None, "__spec__": None, "__package__": None, "__loader__": None}
    exec(code, namespace)  # noqa: S102 - as Python does with the script it is given


if __name__ == "__main__":
    main()
