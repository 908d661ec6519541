"""Linking the object file of one unit into the libraries of others, for which it is compiled once."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.build.builder import build
from opwright.toolchain.cache.manifest import add_to_depfile
from opwright.toolchain.cache.store import files_read

if TYPE_CHECKING:
    from opwright.toolchain.build.compilation import Compilation
    from opwright.toolchain.build.plan import Unit
    from opwright.toolchain.compilers.flags import Options


class LinkObject(NamedTuple):
    """The `Addition` to a unit that links the object file of another one.

    Attributes:
        unit: the other unit; its sources stand in its text (`Unit.embeds`).
        options: its options, which are `Options.relocatable`.
    """

    unit: Unit
    options: Options

    @property
    def identity(self) -> str:
        """A hash of the texts and options. The headers are recorded as read by the library, too."""
        units = (self.unit, *self.unit.extra)
        facts = (self.options, *((unit.name, unit.text, unit.cflags) for unit in units))
        return sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()

    def build(self, on_progress: Callable[[str], None] | None = None) -> Path:
        """Return the object file from the cache, or build it.

        Raises:
            CompileError: the compiler refused the code.
            ToolchainError: there is no usable compiler or cache folder.
        """
        return build(self.unit, self.options, on_progress=on_progress).path

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """Return the object file; the library is built again if a header of it changes."""
        made, depfile = self.build(), compilation.work / f"{index}.d"
        if read := files_read(made):
            add_to_depfile(depfile, read)
        else:  # what it was made of isn't known, so the library is linked anew each time
            depfile.unlink()
        return [made]
