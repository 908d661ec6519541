"""Sources whose functions bear no mark: where each function is whose signature is given in ``ops``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opwright.errors import CompileError, SourceError
from opwright.sources import Function, Given, Kernel, Source
from opwright.sources.mismatch import meant
from opwright.sources.prototypes import Declarations, same, understood
from opwright.toolchain import Unit
from opwright.toolchain.preprocess import preprocessed

if TYPE_CHECKING:
    from opwright.codegen.source import KernelSource


def with_given(source: KernelSource) -> Source:
    """What is in the source, with a kernel for each signature that was given for it.

    Raises:
        SourceError: no function of that name is declared in it, or several are.
        CompileError: the source has to be preprocessed, and can't be.
    """
    found, finder = source.source, _Finder(source)
    functions = [finder.find(given) for given in source.given]
    kernels = [
        Kernel(given.signature, function, function.line, function.path or found.path, found.language, given)
        for given, function in zip(source.given, functions, strict=True)
    ]
    return Source(found.path, found.language, (*found.kernels, *kernels), found.includes)


class _Finder:
    """Looks in the source's own text first: the preprocessor is asked only where that doesn't tell all."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._language = source.source.language
        self._plain = Declarations(source.text, self._language)
        self._expanded: Declarations | None = None

    def find(self, given: Given) -> Function:
        found, _ = self._plain.find(given.function)
        if found and all(understood(function, self._language) for function in found) and same(found):
            return _best(found)
        if self._expanded is None:
            self._expanded = Declarations(preprocessed(self._unit(), self._source.options), self._language)
        expanded, problem = self._expanded.find(given.function)
        if not expanded:
            raise self._missing(given, problem, self._plain.names() or self._expanded.names())
        if not same(expanded):
            raise self._several(given, expanded)
        return _best(expanded)

    def _unit(self) -> Unit:
        source = self._source
        heading = "#include <opwright.h>\n" if self._language != "c" else ""
        return Unit(source.path.stem, heading + source.user_text(), source.path.resolve(), self._language, embeds=True)

    def _missing(self, given: Given, problem: str, names: Sequence[str]) -> SourceError:
        name, place = given.function, self._source.path
        if problem:
            return _error(given, f"{place}: {given.signature.name}: the declaration can't be read: `{problem}`", "")
        if self._is_macro(name):
            fix = f'write a function that uses it, and give that one\'s name: ops={{"my_{name}": "{name}(...)"}}'
            return _error(given, f"{place}: {given.signature.name}: {name} is a macro, not a function", fix)
        similar = meant(name, names)
        fix = f'did you mean {similar}? Give the function\'s name: ops={{"{similar}": "{given.signature.name}(...)"}}'
        listed = ", ".join(dict.fromkeys(self._plain.names())) or "none"
        return _error(
            given,
            f"{place}: {given.signature.name}: no function {name} is declared in it",
            fix if similar else f"check the name, or include the header that declares {name}",
            f"\n  functions:  {listed}",
        )

    def _is_macro(self, name: str) -> bool:
        try:
            defined = preprocessed(self._unit(), self._source.options, macros=True)
        except CompileError:
            return False
        return f"\n#define {name}" in f"\n{defined}"

    def _several(self, given: Given, found: Iterable[Function]) -> SourceError:
        listed = "".join(f"\n  function:   {f.text}  ({f.path or self._source.path}:{f.line})" for f in found)
        return _error(
            given,
            f"{self._source.path}: {given.signature.name}: {given.function} is declared more than once, differently",
            "write one function with a name of its own that calls the one you mean",
            listed,
        )


def _best(found: Sequence[Function]) -> Function:
    """A definition or, if there is none, a prototype that names its parameters."""
    return next((function for function in found if all(p.name for p in function.parameters)), found[0])


def _error(given: Given, problem: str, fix: str, between: str = "") -> SourceError:
    last = f"\n  likely fix: {fix}" if fix else ""
    return SourceError(f"{problem}\n  signature:  {given.signature}  (given in ops){between}{last}")
