"""The cell magic ``%%opwright``: compiles a cell and puts its operators into the user's namespace."""

from __future__ import annotations

import builtins
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opwright.notebook.display import point_at_cell, progress_line
from opwright.notebook.options import LANGUAGES, Arguments, help_text, parse_line
from opwright.signature import DType, Signature
from opwright.signature.names import operator_of, public

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from opwright.runtime import Operators

NAME = "opwright"
_MARK = re.compile(r'\bOPWRIGHT\s*\(\s*(?:R"\w*\(|")\s*([A-Za-z]\w*)')
_SIGNATURE = re.compile(r"\s*([A-Za-z]\w*)\s*\(")
_CUDA = re.compile(r"\b__(?:global|device)__\b|<<<")


class Magic:
    """The magic in one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def run(self, line: str, cell: str) -> None:
        """Compile the cell to operators; running the cell again reloads them.

        ``%%opwright --help`` shows the options. The operators become variables under their own names; with
        ``%%opwright ops``, attributes of the variable ``ops``. The kernels are compiled right away, for float32 if they
        allow it.
        """
        try:
            arguments = parse_line(line)
        except click.UsageError as error:
            from IPython.core.error import UsageError

            raise UsageError(f"%%opwright: {error.format_message()}\n%%opwright --help shows what there is") from None
        if arguments is None:
            print(help_text())
            return
        self._load(arguments, _Cell(arguments, cell))

    def _load(self, arguments: Arguments, cell: _Cell) -> None:
        with progress_line(self._shell) as line, point_at_cell(cell.path, cell.text):
            started = time.perf_counter()
            operators, outcome, remarks = cell.load()
            names = {arguments.variable: operators} if arguments.variable else _public(operators)
            remarks += self._hidden_builtins(names)
            self._shell.push(names)
            line.end(f"{outcome} in {time.perf_counter() - started:.2f} s{remarks}\n{_contents(operators)}")

    def _hidden_builtins(self, names: Iterable[str]) -> str:
        """Return a remark about names that hide Python's builtins, unless the user has assigned them before."""
        user, theirs = self._shell.user_ns, self._shell.user_ns_hidden  # both contain IPython's own `open` and `exit`
        hidden = [name for name in names if hasattr(builtins, name) and user.get(name) is theirs.get(name)]
        listed = ", ".join(hidden)
        return f"; Python's own {listed} is hidden: del {listed} brings it back" if hidden else ""


class _Cell:
    """A cell: its text, its language and its namespace."""

    def __init__(self, arguments: Arguments, text: str) -> None:
        self._arguments = arguments
        self.text = f"\n{text}"
        """Begins with an empty line in place of the magic's, so that line numbers match the notebook's."""
        self._language = arguments.language or ("cuda" if _CUDA.search(text) else "cpp")
        first = _SIGNATURE.match(arguments.ops[0]) if arguments.ops else _MARK.search(text)
        self._name = arguments.namespace or (first[1] if first else "cell")

    @property
    def path(self) -> Path:
        """Return the file that contains the text, for the compiler and for messages."""
        from opwright.codegen.collect import written

        return written(self._name, LANGUAGES[self._language], self.text)

    def load(self) -> tuple[Any, str, str]:
        """Return the operators or an extension's module, a word for the outcome, and remarks.

        Raises:
            OpwrightError: as in `opwright.load_inline` and `opwright.load`.
        """
        from opwright import frontends as front
        from opwright.aten.front_end import is_extension
        from opwright.runtime.load.loading import everything_loaded
        from opwright.runtime.register.overloads import changes

        options: dict[str, Any] = dict(self._arguments.options)
        if not self._arguments.ops and is_extension(self.text):
            return front.load(self.path, namespace=self._name, **options), "built", ""
        before = {id(each.operators): each.registered for each in everything_loaded()}
        ops = front.load_inline(
            self._name,
            **{self._language: self.text},  # type: ignore[arg-type]
            ops=self._arguments.ops or None,
            dtypes=() if self._arguments.lazy else self._dtypes(),
            **options,
        )
        if id(ops) not in before:
            return ops, "loaded", ""
        return ops, "loaded again", changes(before[id(ops)], ops.__loaded__.registered)

    def _dtypes(self) -> list[Any]:
        """Return the element types to compile for: the options', or the default of each type variable."""
        import torch

        default = str(torch.get_default_dtype()).removeprefix("torch.")
        dtypes = set(self._arguments.dtypes)
        for signature in () if dtypes else self._signatures():
            dtypes.update(_default_types(signature, default))
        return [getattr(torch, dtype.torch_name) for dtype in dtypes or {DType.F32}]

    def _signatures(self) -> Iterable[Signature]:
        from opwright.signature import parse
        from opwright.sources import scan

        yield from (parse(text) for text in self._arguments.ops)
        yield from (kernel.signature for kernel in scan(self.path, self.text).kernels)


def _default_types(signature: Signature, preferred: str) -> Iterable[DType]:
    for variable in signature.type_variables:
        allowed = signature.allowed(variable)
        yield next((dtype for dtype in allowed if dtype.torch_name == preferred), allowed[0])


def _public(operators: Operators | Any) -> Mapping[str, Any]:
    """Return the names for the notebook: operators without their backwards, or a module's public names."""
    import torch

    # Operators that TORCH_LIBRARY registers are found below torch.ops.
    names = [name for name in dir(operators) if not name.startswith("_")] if operators is not torch.ops else []
    return {name: getattr(operators, name) for name in names if name in public(names)}


def _contents(operators: Operators | Any) -> str:
    """Return a line for each operator, overload, alternative and variant among the names for the notebook."""
    shown = dict(_public(operators))
    if loaded := getattr(operators, "__loaded__", None):
        every = {name: op for each in loaded.registered.values() for name, op in each.ops.items()}
        shown = {name: op for name, op in every.items() if operator_of(name) in shown}
    return "\n".join((value.__doc__ or name).partition("\n")[0] for name, value in shown.items())
