"""Extensions written for an older PyTorch: what in them is removed or deprecated, and what to write instead.

:func:`examine` reads one file, of either generation: C and CUDA with ``TH/TH.h`` and the Python around it, or C++ and
CUDA with ``torch/extension.h``. It rewrites what it fully understands and leaves alone what it doesn't.
"""

from __future__ import annotations

from opwright.migrate.examine import examine
from opwright.migrate.files import chosen, write
from opwright.migrate.generations import first_generation
from opwright.migrate.model import Examined, Finding

__all__ = ["Examined", "Finding", "chosen", "examine", "first_generation", "write"]
