"""Finds the kernels of a source file."""

from __future__ import annotations

import pathlib

from opwright.errors import SignatureError, SourceError
from opwright.signature import NotationError, parse
from opwright.sources.aliases import Alias, aliases, unaliased
from opwright.sources.declarations import UnreadableError, read_function
from opwright.sources.lexer import Annotation, MalformedError, find_annotations, includes, line_of, without_dead_lines
from opwright.sources.model import Kernel, Language, Source

__all__ = ["language_of", "scan"]

_SUFFIXES: dict[Language, str] = {"c": ".c", "c++": ".cpp .cc .cxx .C .c++", "cuda": ".cu .cuh"}
_LANGUAGES = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def scan(path: pathlib.Path, text: str | None = None) -> Source:
    """Finds every ``OPWRIGHT("...")`` of a file and reads it and the head of the function behind it.

    Args:
        path: the file; its suffix says whether it is C, C++ or CUDA.
        text: what to read in place of the file's contents.

    Raises:
        SourceError: the file can't be read, is none of C, C++ and CUDA, or holds an annotation that can't be
            understood.
        SignatureError: a signature is wrong; the text begins with file and line.
    """
    language = language_of(path)
    data = without_dead_lines(_contents(path) if text is None else text.encode("utf-8", "surrogateescape"))
    kernels: list[Kernel] = []
    known: dict[str, Alias] | None = None if language != "c" else {}
    try:
        for annotation in find_annotations(data):
            known = aliases(data) if known is None else known
            kernel = _kernel(path, language, data, annotation, known)
            _check_unique(kernel, kernels)
            kernels.append(kernel)
    except MalformedError as error:
        raise SourceError(f"{path}:{line_of(data, error.offset)}: {error}") from None
    return Source(path, language, tuple(kernels), includes(data))


def language_of(path: pathlib.Path) -> Language:
    """C, C++ or CUDA, by the file's suffix.

    Raises:
        SourceError: it is none of them.
    """
    if path.suffix in _LANGUAGES:
        return _LANGUAGES[path.suffix]
    arrived = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
    raise SourceError(f"{path}: {arrived}, expected one of {', '.join(_LANGUAGES)}")


def _contents(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror or error}") from error


def _kernel(
    path: pathlib.Path, language: Language, data: bytes, annotation: Annotation, known: dict[str, Alias]
) -> Kernel:
    line, head_line = line_of(data, annotation.offset), line_of(data, annotation.head_offset)
    try:
        signature = parse(annotation.text)
    except NotationError as error:
        place = line_of(data, annotation.offset_of(error.position))
        raise SignatureError(f"{path}:{place}: {error}") from None
    try:
        function = read_function(annotation.head, language, annotation.namespace, head_line)
    except UnreadableError as error:
        template = ", perhaps after `template <class T>`" if language != "c" else ""
        raise SourceError(
            f"{path}:{line}: {signature.name}: what follows OPWRIGHT(...) can't be read as a function: `{error}`\n"
            f"  expected `void name(...) {{ ... }}`{template}"
        ) from None
    if language == "c":
        from opwright.sources.c_types import spelled  # C++ doesn't need it

        function = spelled(function)
    return Kernel(signature, unaliased(function, known), line, path, language)


def _check_unique(kernel: Kernel, earlier: list[Kernel]) -> None:
    for other in earlier:
        if other.signature.name == kernel.signature.name:
            raise SourceError(
                f"{kernel.path}:{kernel.line}: {kernel.signature.name} was defined before, in line {other.line}; "
                "each operator has one signature and one function"
            )
