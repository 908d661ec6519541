"""The cell magic: source in a cell, operators in the user's namespace."""

from __future__ import annotations

import builtins
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opwright.notebook.options import LANGUAGES, Asked, read, usage
from opwright.notebook.showing import point_at_cell, progress_line
from opwright.signature import DType, Signature

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from opwright.runtime import Operators

NAME = "opwright"
_FIRST = re.compile(r'\bOPWRIGHT\s*\(\s*(?:R"\w*\(|")\s*([A-Za-z]\w*)')
_GIVEN = re.compile(r"\s*([A-Za-z]\w*)\s*\(")
_CUDA = re.compile(r"\b__(?:global|device)__\b|<<<")


class Magic:
    """``%%opwright`` in one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def run(self, line: str, cell: str) -> None:
        """Make operators of the cell, and load them again when it is run again.

        ``%%opwright --help`` shows the options. The operators land in the notebook under their own names; or, after
        ``%%opwright ops``, together under the name ``ops``. The kernels are compiled right away, for float32 if they
        allow it.
        """
        try:
            asked = read(line)
        except click.UsageError as error:
            from IPython.core.error import UsageError

            raise UsageError(f"%%opwright: {error.format_message()}\n%%opwright --help shows what there is") from None
        if asked is None:
            print(usage())
            return
        self._land(asked, _Cell(asked, cell))

    def _land(self, asked: Asked, cell: _Cell) -> None:
        with progress_line(self._shell) as said, point_at_cell(cell.path, cell.text):
            started = time.perf_counter()
            found, how, more = cell.load()
            names = {asked.variable: found} if asked.variable else _named(found)
            more += self._hidden(names)
            self._shell.push(names)
            said.end(f"{how} in {time.perf_counter() - started:.2f} s{more}\n{_contents(found)}")

    def _hidden(self, names: Iterable[str]) -> str:
        """What there is to say of names that are Python's own until now; nothing of those that the user has given."""
        user, theirs = self._shell.user_ns, self._shell.user_ns_hidden  # of IPython's own `open` and `exit` both know
        hidden = [name for name in names if hasattr(builtins, name) and user.get(name) is theirs.get(name)]
        listed = ", ".join(hidden)
        return f"; Python's own {listed} is hidden: del {listed} brings it back" if hidden else ""


class _Cell:
    """A cell's text, and what becomes of it."""

    def __init__(self, asked: Asked, text: str) -> None:
        self._asked = asked
        self.text = f"\n{text}"
        """Below an empty line, in place of the magic's: lines have the numbers that the notebook shows."""
        language = asked.language or ("cuda" if _CUDA.search(text) else "cpp")
        first = _GIVEN.match(asked.ops[0]) if asked.ops else _FIRST.search(text)
        self._language, self._name = language, asked.namespace or (first[1] if first else "cell")

    @property
    def path(self) -> Path:
        """Where the text lies, for the compiler and for messages."""
        from opwright.codegen.collect import written

        return written(self._name, LANGUAGES[self._language], self.text)

    def load(self) -> tuple[Any, str, str]:
        """The operators, or an extension's module; what was done, and what there is to say of it.

        Raises:
            OpwrightError: as `opwright.load_inline`, `opwright.load`.
        """
        from opwright import front
        from opwright.aten.recognise import is_extension
        from opwright.runtime.loading import loaded
        from opwright.runtime.reloading import changes

        words: dict[str, Any] = dict(self._asked.words)
        if not self._asked.ops and is_extension(self.text):
            return front.load(self.path, namespace=self._name, **words), "built", ""
        before = {id(ops): ops._registered for ops in loaded()}  # noqa: SLF001 - our own
        ops = front.load_inline(
            self._name,
            **{self._language: self.text},  # type: ignore[arg-type]
            ops=self._asked.ops or None,
            dtypes=() if self._asked.lazy else self._dtypes(),
            **words,
        )
        if id(ops) not in before:
            return ops, "loaded", ""
        return ops, "loaded again", changes(before[id(ops)], ops._registered)  # noqa: SLF001

    def _dtypes(self) -> list[Any]:
        """The element types to compile for: those that are asked for, else the usual one of each type variable."""
        import torch

        usual = str(torch.get_default_dtype()).removeprefix("torch.")
        found = set(self._asked.dtypes)
        for signature in () if found else self._signatures():
            found.update(_usual(signature, usual))
        return [getattr(torch, dtype.torch_name) for dtype in found or {DType.F32}]

    def _signatures(self) -> Iterable[Signature]:
        from opwright.signature import parse
        from opwright.sources import scan

        yield from (parse(text) for text in self._asked.ops)
        yield from (kernel.signature for kernel in scan(self.path, self.text).kernels)


def _usual(signature: Signature, preferred: str) -> Iterable[DType]:
    for variable in signature.type_variables:
        allowed = signature.allowed(variable)
        yield next((dtype for dtype in allowed if dtype.torch_name == preferred), allowed[0])


def _named(found: Operators | Any) -> Mapping[str, Any]:
    """What lands in the notebook: operators without their backwards, or a module's public names."""
    import torch

    # What TORCH_LIBRARY registers is found below torch.ops, by its own names.
    names = [name for name in dir(found) if not name.startswith("_")] if found is not torch.ops else []
    return {name: getattr(found, name) for name in names if name.partition("_backward")[0] not in {*names} - {name}}


def _contents(found: Operators | Any) -> str:
    return "\n".join((value.__doc__ or name).partition("\n")[0] for name, value in _named(found).items())
