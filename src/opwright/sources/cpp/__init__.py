"""C, C++ and CUDA source code, read without a compiler: tokens, directives, line markers and edits.

All code that reads source code uses these modules, so comments, literals and directives are parsed in one place.
"""

from __future__ import annotations
