"""Finds and replaces removed and deprecated names in extensions written for an older PyTorch.

:func:`examine` reads one file of either generation: C and CUDA with ``TH/TH.h`` and the related Python code, or C++ and
CUDA with ``torch/extension.h``. It rewrites only code that it fully understands.
"""

from __future__ import annotations

from opwright.migrate.examine import examine
from opwright.migrate.finding import Examined, Finding
from opwright.migrate.project import first_generation, source_files, write_file

__all__ = ["Examined", "Finding", "examine", "first_generation", "source_files", "write_file"]
