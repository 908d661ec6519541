"""Startup code for the children of ``opwright run``, whose search path begins with this folder.

Any Python may import this, including one that is too old for Opwright or doesn't have it; then it does nothing. It
also runs the ``sitecustomize`` that it hides.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [_path for _path in sys.path if os.path.abspath(_path) != _here]
_own = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - the hidden one, if there is one
except ImportError as _error:
    if getattr(_error, "name", "sitecustomize") != "sitecustomize":
        raise
    if _own is not None:
        sys.modules["sitecustomize"] = _own

if sys.version_info >= (3, 10):
    try:
        from opwright.legacy.startup import start
    except ImportError:
        pass
    else:
        start()
