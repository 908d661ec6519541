"""Kernels compiled from source just in time: each element type when it is first met."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opwright.codegen import Instance, library_text
from opwright.errors import SourceError
from opwright.signature import DType
from opwright.sources import Kernel, Source, scan
from opwright.toolchain import Built, Options, Unit, build, include_line


@dataclass
class JITSource:
    """One source file, and how to compile it."""

    path: Path
    options: Options
    on_build: Callable[[str, Built], None] | None = None
    source: Source = field(init=False)

    def __post_init__(self) -> None:
        """Read the file for the first time."""
        self.scan()

    def scan(self) -> None:
        """Read the file again: its kernels as they are now."""
        self.source = scan(self.path)
        if not self.source.kernels:
            raise SourceError(
                f'{self.path}: there is no OPWRIGHT("...") in it\n'
                '  expected one before each kernel: OPWRIGHT("f(x: T[...]) -> (y: T[...])")'
            )

    def library(self, name: str, types: Mapping[str, DType]) -> str:
        """The library with the kernel `name` for `types`, and all others that take the same type variables."""
        fits = [Instance(k, types) for k in self.source.kernels if _fits(k, name, types)]
        built = build(self.unit(fits), self.options)
        if self.on_build:
            self.on_build(name, built)
        return str(built.path)

    def unit(self, instances: Sequence[Instance]) -> Unit:
        """What becomes one library: in C++ the file itself is included, a C file is compiled beside it."""
        path = self.path.resolve()
        if self.source.language == "c":
            code = Unit(path.stem, f"{include_line(path)}\n", path, language="c")
            return Unit(path.stem, library_text(str(path), "", instances), None, extra=(code,))
        return Unit(path.stem, library_text(str(path), include_line(path), instances), path)


def _fits(kernel: Kernel, name: str, types: Mapping[str, DType]) -> bool:
    signature = kernel.signature
    same = set(signature.type_variables) == set(types)
    allowed = all(types[variable] in signature.allowed(variable) for variable in signature.type_variables if same)
    return signature.name == name or (same and allowed)
