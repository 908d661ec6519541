"""``%load_ext opwright``: the cell magic ``%%opwright``, which compiles a cell of C++, C or CUDA to operators.

Imported only by IPython.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.notebook.magic import NAME, Magic

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add the magic to a shell."""
    shell.magics_manager.register_function(Magic(shell).run, "cell", NAME)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magic from a shell."""
    shell.magics_manager.magics["cell"].pop(NAME, None)
