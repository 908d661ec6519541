"""Functions without an ``OPWRIGHT`` mark: finds the declarations of the functions whose signatures are in ``ops``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opwright.closest_name import closest_name
from opwright.errors import CompileError, SourceError
from opwright.sources import ExternalSignature, Function, Kernel, Source
from opwright.sources.ops import instance_of, with_defaults
from opwright.sources.prototypes import Declarations, are_same, has_known_types
from opwright.toolchain import Unit, header_dir
from opwright.toolchain.build.builder import preprocessed

if TYPE_CHECKING:
    from opwright.codegen.source import KernelSource


def with_given(source: KernelSource) -> Source:
    """Return the source's contents, with a kernel for each signature that ``ops`` specifies for it.

    Raises:
        SourceError: no function of that name is declared in the source, or several are.
        CompileError: the source has to be preprocessed, and the preprocessor fails.
    """
    plain, finder = source.source, _Finder(source)
    functions = [finder.find(given) for given in source.given]
    kernels = [
        Kernel(
            given.signature,
            function,
            function.line,
            function.path or plain.path,
            plain.language,
            given,
        )
        for given, function in zip(source.given, functions, strict=True)
    ]
    return Source(plain.path, plain.language, (*plain.kernels, *kernels), plain.includes)


class _Finder:
    """A finder of declarations. It reads the source itself first, and runs the preprocessor only if necessary."""

    def __init__(self, source: KernelSource) -> None:
        self._source = source
        self._language = source.source.language
        self._plain = Declarations(source.text, self._language)
        self._expanded: Declarations | None = None

    def find(self, given: ExternalSignature) -> Function:
        """Return the function's declaration: from the text as it is, or preprocessed if types are unknown."""
        functions = self._instances(given, self._plain.find(given.function)[0])
        if (
            functions
            and all(has_known_types(function, self._language) for function in functions)
            and are_same(functions)
        ):
            return _best(functions)
        if self._expanded is None:
            self._expanded = Declarations(preprocessed(self._unit(), self._source.options), self._language)
        expanded, problem = self._expanded.find(given.function)
        expanded = self._instances(given, expanded)
        if not expanded:
            raise self._missing(given, problem, self._plain.names() or self._expanded.names())
        if not are_same(expanded):
            raise self._several(given, expanded)
        return _best(expanded)

    def _instances(self, given: ExternalSignature, found: Sequence[Function]) -> list[Function]:
        """Return the functions, or the instances of them that ops names."""
        if given.arguments is None:
            return [*found]
        try:
            return [instance_of(function, given.arguments) for function in with_defaults(found)]
        except ValueError as error:
            fix = "give one argument for each template parameter that has no default, of a template"
            raise _error(given, f"{self._source.path}: {given.signature.name}: {error}", fix) from None

    def _unit(self) -> Unit:
        source = self._source
        if self._language == "cuda" and getattr(self._source.backend, "name", "") != "nvcc":
            return self._emulated()
        heading = "#include <opwright.h>\n" if self._language != "c" else ""
        return Unit(source.path.stem, heading + source.user_text(), source.path.resolve(), self._language, embeds=True)

    def _emulated(self) -> Unit:
        """Return the unit with the emulator's headers in place of CUDA's: declarations are read without a toolkit."""
        shadow = header_dir() / "opwright" / "emulation" / "shadow"
        flags = (f"-I{shadow}", "-D__CUDACC__", "-DOPWRIGHT_EMULATION", "-DOPWRIGHT_EMULATION_REWRITTEN")
        path, text = self._source.path, "#include <cuda_runtime.h>\n#include <opwright.h>\n" + self._source.user_text()
        return Unit(path.stem, text, path.resolve(), "c++", embeds=True, cflags=flags)

    def _missing(self, given: ExternalSignature, problem: str, names: Sequence[str]) -> SourceError:
        name, place = given.function, self._source.path
        if problem:
            return _error(given, f"{place}: {given.signature.name}: the declaration can't be read: `{problem}`", "")
        if self._is_macro(name):
            fix = f'write a function that uses it, and give that one\'s name: ops={{"my_{name}": "{name}(...)"}}'
            return _error(given, f"{place}: {given.signature.name}: {name} is a macro, not a function", fix)
        similar = closest_name(name, names)
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

    def _several(self, given: ExternalSignature, found: Iterable[Function]) -> SourceError:
        listed = "".join(f"\n  function:   {f.text}  ({f.path or self._source.path}:{f.line})" for f in found)
        return _error(
            given,
            f"{self._source.path}: {given.signature.name}: {given.function} is declared more than once, differently",
            "write one function with a name of its own that calls the one you mean",
            listed,
        )


def _best(found: Sequence[Function]) -> Function:
    """Return the first declaration that names its parameters; otherwise the first one."""
    return next((function for function in found if all(p.name for p in function.parameters)), found[0])


def _error(given: ExternalSignature, problem: str, fix: str, between: str = "") -> SourceError:
    last = f"\n  likely fix: {fix}" if fix else ""
    return SourceError(f"{problem}\n  signature:  {given.signature}  (given in ops){between}{last}")
