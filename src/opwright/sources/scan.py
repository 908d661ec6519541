"""Scans a source file for its kernels: annotations, the functions after them, and doc comments (``///``)."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from opwright.errors import SignatureError, SourceError
from opwright.languages import LANGUAGES, Language
from opwright.signature import NotationError, parse
from opwright.signature.names import operator_of, overload_of
from opwright.sources.annotations import Annotation, find_annotations
from opwright.sources.cpp.directives import included, without_dead_lines
from opwright.sources.cpp.macros import Definitions, expand
from opwright.sources.cpp.tokens import MalformedError, Token, Tokens, line_of, segments
from opwright.sources.function_heads import Alias, UnreadableError, aliases, read_function, resolve_aliases
from opwright.sources.model import Function, Kernel, Source

_EMULATED = 'backend="emulate" runs its kernels on a machine without a GPU'


def scan(path: pathlib.Path, text: str | None = None) -> Source:
    """Find every ``OPWRIGHT("...")`` of a file, and parse the signature and the head of the function after it.

    Args:
        path: the file; its suffix determines the language (C, C++ or CUDA).
        text: source code to scan instead of the file's contents.

    Raises:
        SourceError: the file can't be read, isn't C, C++ or CUDA, or contains an annotation that can't be parsed.
        SignatureError: a signature is wrong; the message begins with the file and line.
    """
    language = language_of(path)
    text = without_dead_lines(read_text(path) if text is None else text)
    parts = segments(text)
    kernels: list[Kernel] = []
    known: dict[str, Alias] | None = None if language != "c" else {}
    definitions: Definitions | None = None
    try:
        for annotation in find_annotations(text, parts):
            known = aliases(text) if known is None else known
            definitions = definitions or Definitions(text, parts, path)
            kernel = _kernel(path, language, text, annotation, known, definitions)
            if kernel.signature.pointwise and kernel.function.returns != "void":
                _check_returns(kernel, _body(text, parts, annotation))
            elif kernel.signature.skippable and not kernel.signature.pointwise:
                kernel = _with_tests(kernel, _body(text, parts, annotation))
            _check_unique(kernel, kernels)
            kernels.append(kernel)
    except MalformedError as error:
        raise SourceError(f"{path}:{line_of(text, error.offset)}: {error}") from None
    headers = (included(part) for part in parts if part.kind == "directive")
    return Source(path, language, tuple(kernels), tuple(str(header) for header in headers if header))


def language_of(path: pathlib.Path) -> Language:
    """Return the language (C, C++ or CUDA) for the file's suffix.

    Raises:
        SourceError: the suffix is unknown.
    """
    if path.suffix in LANGUAGES:
        return LANGUAGES[path.suffix]
    arrived = f"has the suffix {path.suffix!r}" if path.suffix else "has no suffix"
    raise SourceError(
        f"{path}: {arrived}, expected one of {', '.join(LANGUAGES)}\n"
        "  likely fix: rename it: .cpp for C++, .c for C, .cu for CUDA; a header is included by one of them"
    )


def read_text(path: Path) -> str:
    """Return the file's content as text; bytes that aren't UTF-8 are kept as surrogates.

    Raises:
        SourceError: the file can't be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise SourceError(f"{path}: can't be read: {error.strerror or error}{_found_instead(path)}") from error


def _found_instead(path: Path) -> str:
    """Return, for a file that isn't there, the file beside it that was probably meant."""
    from opwright.closest_name import closest_name

    if path.exists():
        return ""
    beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    similar = closest_name(path.name, (name for name in beside if Path(name).suffix == path.suffix), cutoff=0.85)
    here = f'a relative path begins at the current folder; in a script, use Path(__file__).parent / "{path.name}"'
    return f"\n  likely fix: {f'did you mean {similar}?' if similar else here}"


def _kernel(
    path: pathlib.Path,
    language: Language,
    text: str,
    annotation: Annotation,
    known: dict[str, Alias],
    definitions: Definitions,
) -> Kernel:
    """Return the kernel of an annotation: its signature and the head of the function after it."""
    line, head_line = line_of(text, annotation.offset), line_of(text, annotation.head_offset)
    try:
        signature = parse(annotation.text)
    except NotationError as error:
        place = line_of(text, annotation.offset_of(error.position))
        raise SignatureError(f"{path}:{place}: {error}") from None
    if language == "c++" and re.search(r"\b__global__\b", annotation.head):
        raise SourceError(
            f"{path}:{head_line}: {signature.name}: __global__ is CUDA, and this file is C++\n"
            f"  likely fix: rename it to {path.with_suffix('.cu').name}; {_EMULATED}"
        )
    head, macros = expand(annotation.head, definitions.at(annotation.head_offset))
    try:
        function = _read(head, annotation, language, head_line)
    except UnreadableError as error:
        template = ", perhaps after `template <class T>`" if language != "c" else ""
        told = [f"\n  macro:      {_told(name, why)}" for name, why in macros.items()]
        known_macro = next((name for name, why in macros.items() if why), None)
        fix = f"\n  likely fix: write there what {known_macro} stands for" if known_macro else ""
        if annotation.head.lstrip().startswith("namespace"):
            fix = "\n  likely fix: write OPWRIGHT(...) inside the namespace, directly before the function"
        raise SourceError(
            f"{path}:{line}: {signature.name}: what follows OPWRIGHT(...) can't be read as a function: `{error}`\n"
            f"  expected `void name(...) {{ ... }}`{template}{''.join(told)}{fix}"
        ) from None
    if language == "c":
        from opwright.sources.prototypes import with_standard_types

        function = with_standard_types(function)
    function = Function(**dict(function.__dict__, macros=tuple(_told(name, why) for name, why in macros.items())))
    return Kernel(signature, resolve_aliases(function, known), line, path, language)


def _read(head: str, annotation: Annotation, language: Language, line: int) -> Function:
    """Read a head whose macros are expanded; as it is written, if only that can be read."""
    try:
        return read_function(head, language, annotation.namespace, line)
    except UnreadableError:
        if head == annotation.head:
            raise
    try:
        return read_function(annotation.head, language, annotation.namespace, line)
    except UnreadableError:
        return read_function(head, language, annotation.namespace, line)


def _told(name: str, why: str) -> str:
    return f"{name} isn't expanded: it {why}" if why else f"{name} is expanded here"


def _body(text: str, parts: Sequence[Token], annotation: Annotation) -> str:
    """Return the body of the function after an annotation, with its braces."""
    start, depth = annotation.head_offset + len(annotation.head), 0
    for part in parts:
        if part.start >= start and part.kind == "brace":
            depth += (part.text == "{") - (part.text == "}")
            if depth <= 0 and part.text == "}":
                return text[start : part.end]
    return text[start:]


def _check_returns(kernel: Kernel, body: str) -> None:
    """Refuse a function with a result that never returns: compilers only warn of it, and the result is anything."""
    returns = kernel.function.returns
    if ";" in body and body.endswith("}") and not _MAY_RETURN.search(body):
        raise SourceError(
            f"{kernel.path}:{kernel.function.line}: {kernel.signature.name}: the function returns `{returns}`, and "
            f"there is no return in it\n  likely fix: return the value of {kernel.signature.results[0].name}"
        )


def _with_tests(kernel: Kernel, body: str) -> Kernel:
    """Return the kernel with the parameters that its function tests for being there."""
    names = [parameter.name for parameter in kernel.function.parameters]
    function = Function(**dict(kernel.function.__dict__, tested=find_tested(body, names)))
    return Kernel(**dict(kernel.__dict__, function=function))


def _check_unique(kernel: Kernel, earlier: list[Kernel]) -> None:
    """Refuse the name of another operator; signatures of one name can be alternatives, but overloads have one each."""
    name = kernel.signature.name
    for other in earlier:
        same = kernel.signature.operator == other.signature.operator
        if other.signature.name == name and (same or overload_of(name)):
            operator = operator_of(name)
            raise SourceError(
                f"{kernel.path}:{kernel.line}: {name} was defined before, in line {other.line}"
                f"{', with the same signature' * same}; each operator has one signature and one function\n"
                f"  likely fix: give one of them another name, as {name}2, make them overloads, as "
                f"{operator}.one and {operator}.two, or leave one out"
            )


_MAY_RETURN = re.compile(r"\b(?:return|throw)\b|\b[A-Z][A-Z0-9_]+\b")  # or a macro, which may
_COMMENT = re.compile(r"\s*///[ \t]?(?!/)(.*?)\s*")
_OF_DECLARATION = re.compile(r"\s*[^\s/#].*[^;}\s]\s*|\s*[\w>]\s*")


def comment(kernel: Kernel, path: Path, text: str) -> str:
    """Return the ``///`` lines right above a kernel's mark, without the slashes.

    If the kernel has no mark, return the lines above its function, whose declaration may begin on lines before the
    one with its name. Return "" if an included file declares the function.
    """
    if kernel.path != path:
        return ""
    above = text.splitlines()[: kernel.line - 1]
    while kernel.given and above and _OF_DECLARATION.fullmatch(above[-1]):
        above.pop()
    lines: list[str] = []
    while above and (match := _COMMENT.fullmatch(above.pop())):
        lines.append(match[1])
    return "\n".join(reversed(lines))


_NULL = {"nullptr", "NULL", "0"}
_MEMBERS = ("needed", "data")
_JUNCTIONS = ("&&", "||", "?")


def find_tested(body: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the names that a function's body tests for being there, in their order.

    A gradient or residual that nobody wants isn't there, and a kernel that writes it without a test would write through
    a null pointer. So the runtime gives memory to those that the kernel never tests.

    A test is ``if (g)``, ``!g``, ``g && ...``, ``g ? ... : ...``, ``bool(g)``, ``g.needed()``, ``g.data()``, or a
    comparison with null. Whether each use stands behind the test isn't examined.
    """
    tokens = Tokens(body)
    tested = {
        token.text for at, token in enumerate(tokens.all) if token.kind == "word" and _is_test(tokens, at)
    }  # of any word
    return tuple(name for name in names if name in tested)


def _is_test(tokens: Tokens, at: int) -> bool:
    if tokens.is_sign(at - 1, ".", "->", "::"):
        return False  # another thing's member
    if tokens.is_sign(at + 1, "."):
        return tokens.is_word(at + 2, *_MEMBERS)
    first, last = at, at
    while tokens.is_sign(first - 1, "(") and tokens.is_sign(last + 1, ")"):
        first, last = first - 1, last + 1
        if tokens.is_word(first - 1, "if", "while", "bool", "constexpr"):
            return True
        if tokens.is_word(first - 1) or tokens.is_sign(first - 1, ">", ")", "]"):
            return False  # the argument of a call
    before, after = tokens.is_sign(first - 1, *_JUNCTIONS, "!"), tokens.is_sign(last + 1, *_JUNCTIONS)
    if tokens.is_sign(first - 1, "!"):
        return not tokens.is_sign(last + 1, "[", "(")
    if tokens.is_sign(last + 1, "==", "!=") and _is_null(tokens, last + 2):
        return True
    if tokens.is_sign(first - 1, "==", "!=") and _is_null(tokens, first - 2):
        return True
    starts = before or tokens.is_sign(first - 1, "(", "=", ",", ";", "{", "}") or tokens.is_word(first - 1, "return")
    ends = after or tokens.is_sign(last + 1, ")", ";", ",", "}")
    return starts and ends and (before or after)


def _is_null(tokens: Tokens, at: int) -> bool:
    return 0 <= at < len(tokens.all) and tokens.all[at].text in _NULL
