"""Sources written for an older PyTorch, as they are: what they need of it that is gone.

:func:`needed` reads sources and says which of our headers bring it back. Nothing is included that a source doesn't use,
and nothing here needs PyTorch.
"""

from __future__ import annotations

from opwright.aten.compat.needs import Compat, needed

__all__ = ["Compat", "needed"]
