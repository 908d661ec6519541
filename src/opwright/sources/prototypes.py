"""Finds functions by name among the declarations of C or C++ source code.

The source is split into the statements outside all bodies; ``typedef`` names are resolved to standard types.
"""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterable, Iterator

from opwright.languages import Language
from opwright.record import record
from opwright.sources.annotations import Scopes
from opwright.sources.cpp.directives import without_dead_lines
from opwright.sources.cpp.line_markers import LineMarkers
from opwright.sources.cpp.tokens import (
    Tokens,
    after_template_lists,
    blank,
    is_within_parameters,
    line_of,
    readable,
    segments,
)
from opwright.sources.function_heads import UnreadableError, read_function
from opwright.sources.model import VIEWS, Function, Parameter
from opwright.sources.types import SPECIFIERS, standard_spelling

_DEFINED = re.compile(r"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*(?:\[[^\]]*\]\s*)*\Z")
_DEEPEST = 20
_BITS = {"char": 8, "short": 16, "int": 32, "long": 64, "long long": 64}


class Typedefs:
    """The ``typedef`` names of a source."""

    def __init__(self, every_statement: Iterable[Statement], language: Language) -> None:
        """Collect the typedefs among the statements."""
        self._language: Language = language
        self._written: dict[str, str] = {}
        for statement in every_statement:
            text = statement.text.removeprefix("__extension__").lstrip()
            if re.match(r"typedef\b", text) and (name := _DEFINED.search(text)):
                at = 1 if name.group(1) else 2
                key = name.group(at)
                # As a parameter's declaration, renamed: tree-sitter would take a name like int32_t for a type.
                written = text[len("typedef") : name.start(at)] + "opwright_" + text[name.end(at) :]
                if self._written.setdefault(key, written) != written:
                    self._written[key] = ""  # ambiguous, such as in two branches of an #if

    def function(self, function: Function) -> Function:
        """Return the function with typedefs of standard types resolved; other typedef names stay."""
        returned = " ".join(word for word in function.returns.split() if word not in SPECIFIERS).removeprefix("std::")
        parameters = tuple(self.parameter(parameter) for parameter in function.parameters)
        returns = self.parameter(Parameter("", function.returns, "other", returned)).element
        return Function(**{**function.__dict__, "parameters": parameters, "returns": returns})

    def parameter(self, parameter: Parameter) -> Parameter:
        """Return the parameter with a typedef of a standard type resolved; other typedef names stay."""
        view, element, const = parameter.view, parameter.element, parameter.const
        for _ in range(_DEEPEST if view in ("pointer", "scalar", "other") else 0):
            if (known := standard_spelling(element)) and not self._redefined(known):
                view = "pointer" if view == "pointer" else "scalar"
                return Parameter(parameter.name, parameter.text, view, known, const)
            meant = self._meaning(element)
            if meant is None or (view == "pointer" and meant.view == "pointer"):
                return Parameter(parameter.name, parameter.text, view, _unknown(element), const)
            view = "pointer" if view == "pointer" else meant.view
            element, const = meant.element, const or meant.const
        return parameter

    def _redefined(self, name: str) -> bool:
        """Return whether the source defines a name like ``bool`` or ``int32_t`` differently from C's headers."""
        if name not in self._written:
            return False
        element, view = name, "scalar"
        for _ in range(_DEEPEST):
            meant = self._meaning(element)
            element, view = (meant.element, meant.view) if meant else ("", "other")
            if element not in self._written:
                break
        return view != "scalar" or not _same(name, standard_spelling(element))

    def _meaning(self, name: str) -> Parameter | None:
        written = self._written.get(name)
        if not written:
            return None
        try:
            read = read_function(f"void f({written})", self._language, (), 1)
        except UnreadableError:
            return None
        return read.parameters[0] if len(read.parameters) == 1 else None


def _same(name: str, known: str) -> bool:
    """Return whether C's headers define the name `name` as the standard type `known`."""
    if name == "bool":
        return known == "_Bool"
    digits = re.search(r"\d+", name)
    bits = int(digits[0]) if digits else 64
    signed = not name.startswith("u") and name != "size_t"
    plain = known.removeprefix("unsigned ").removeprefix("signed ")
    return _BITS.get(plain) == bits and signed != known.startswith("unsigned ")


def _unknown(element: str) -> str:
    """Return the name of an unknown type, with a remark if it is also the name of a standard type."""
    return f"{element} (redefined)" if standard_spelling(element) else element


def with_standard_types(function: Function) -> Function:
    """Return the function with the usual spellings of standard types."""
    return Typedefs((), "c").function(function)


_HEAD = re.compile(r"(?:^|[^\w.>:~])((?:\w+\s*::\s*)*(\w+))\s*\(", re.ASCII)
_ADDED = re.compile(r"\b(?:__attribute__|__attribute|__asm__|__asm|asm|__declspec|_Alignas|__nonnull)\s*(?=\()")
_MARKED_GLOBAL = re.compile(r"__attribute__\s*\(\(\s*(?:__)?global(?:__)?\s*\)\)")
"""What ``__global__`` is after preprocessing with CUDA's own headers."""
_WORDS = re.compile(r"\b(?:__extension__|__restrict__|__restrict|restrict|_Noreturn|__signed__|extern)\b")
_C_INLINE = re.compile(r"\b__inline(?:__)?\b")
_CONST = re.compile(r"\b__const(?:__)?\b")


class Declarations:
    """The declarations and definitions of a source outside all bodies.

    Macros aren't expanded. In preprocessed code, line numbers are those of the original files.
    """

    def __init__(self, text: str, language: Language) -> None:
        """Parse `text`: a source file, or preprocessed code."""
        self._text = without_dead_lines(text)
        self._markers = LineMarkers(self._text)
        self._language: Language = language
        self._statements = list(statements(self._text))
        self._typedefs = Typedefs(self._statements, language)

    def find(self, name: str) -> tuple[list[Function], str]:
        """Return all declarations of a function, definitions first, and the error if one can't be parsed (or "")."""
        wanted = name.split("::")
        functions: list[Function] = []
        problem = ""
        for statement in self._statements:
            head = _head(statement.text, wanted[-1])
            if head is None:
                continue
            try:
                function = self._read(statement, *head)
            except UnreadableError as error:
                problem = str(error)
                continue
            path = function.name.split("::")
            if path[-len(wanted) :] == wanted:
                functions.append(function)
        return sorted(functions, key=lambda function: not function.defined), problem

    def names(self) -> list[str]:
        """Return the names of all declared or defined functions, in order."""
        names = (
            head.group(2)
            for statement in self._statements
            for head in _HEAD.finditer(_plain(statement.text, self._language))
            if _head(statement.text, head.group(2))
        )
        return list(dict.fromkeys(names))

    def _read(self, statement: Statement, name_at: int, end: int) -> Function:
        text = statement.text
        if text[end:].strip() and _old_style(text[end:]):
            raise UnreadableError(
                f"{_one_line(text)}` is a definition in the style before C89, with the types of its "
                "parameters behind the parentheses; write them inside: `f(int n, const float *x)"
            )
        head = _plain(text[:end], self._language)
        start = statement.offset + name_at
        path, line = self._place(start)
        read = read_function(head, self._language, statement.namespace, line - head.count("\n", 0, name_at))
        kernel = read.kernel or (self._language == "cuda" and bool(_MARKED_GLOBAL.search(text[:name_at])))
        placed = {"text": _one_line(text[:end]), "path": path, "defined": statement.defined, "kernel": kernel}
        return self._typedefs.function(Function(**{**read.__dict__, **placed}))

    def _place(self, offset: int) -> tuple[pathlib.Path | None, int]:
        """Return the file (None without line markers) and the line of an offset."""
        place = self._markers.place(offset)
        return (pathlib.Path(place.path), place.line) if place else (None, line_of(self._text, offset))


def has_known_types(function: Function, language: Language) -> bool:
    """Return whether all parameters have standard types or views, and, in C, the return type is a standard type."""
    kinds = ((p.view, p.element) for p in function.parameters)
    typed = all(view in VIEWS or standard_spelling(element) for view, element in kinds)
    return typed and (language != "c" or bool(standard_spelling(function.returns)))


def are_same(functions: Iterable[Function]) -> bool:
    """Return whether the functions differ only in their parameters' names."""
    kinds = [(f.name, f.returns, [(p.view, p.element, p.const) for p in f.parameters]) for f in functions]
    return all(one == other for one, other in itertools.pairwise(kinds))


def _head(text: str, name: str) -> tuple[int, int] | None:
    """Return the offsets of the name and the end of the parameters if `text` is the head of the function `name`."""
    first = after_template_lists(text)
    for match in _HEAD.finditer(text, first):
        if match.group(2) != name:
            continue
        before = text[first : match.start(1)]
        if _assigns(before) or re.match(r"typedef\b", before) or not (first or before.strip()):
            return None
        if not _balanced(before):
            return None
        end = _closed(text, match.end() - 1)
        return None if end is None else (match.start(2), end)
    return None


def _assigns(before: str) -> bool:
    """Return whether there is an assignment outside brackets: ``auto x = f(2)`` declares no ``f``."""
    if "=" not in before:
        return False
    tokens, at = Tokens(before), 0
    while at < len(tokens.all):
        if tokens.is_sign(at, "="):
            return True
        behind = tokens.after_angle(at) if tokens.is_sign(at, "<") else None
        at = behind or (tokens.partner.get(at, at) if tokens.is_sign(at, "(", "[", "{") else at) + 1
    return False


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")")


def _closed(text: str, opened: int) -> int | None:
    """Return the offset just past the parenthesis that closes the one at `opened`, or None."""
    depth = 0
    for bracket in re.finditer(r"[()]", text[opened:]):
        depth += 1 if bracket.group() == "(" else -1
        if depth == 0:
            return opened + bracket.end()
    return None


def _plain(head: str, language: Language) -> str:
    """Blank out specifiers and attributes that don't affect calls; offsets don't change."""
    for match in reversed(list(_ADDED.finditer(head))):
        end = _closed(head, match.end())
        if end is not None:
            head = head[: match.start()] + blank(head[match.start() : end]) + head[end:]
    head = _WORDS.sub(lambda match: blank(match.group()), head)
    head = _C_INLINE.sub(lambda match: "inline".ljust(len(match.group())), head)
    head = _CONST.sub(lambda match: "const".ljust(len(match.group())), head)
    return head if language != "c" else re.sub(r"\[\[.*?\]\]", lambda match: blank(match.group()), head)


def _old_style(tail: str) -> bool:
    """Return whether parameter declarations follow the parentheses (K&R style)."""
    plain = _ADDED.sub("", tail)
    return bool(
        re.match(r"\s*(?:register\s+|const\s+|unsigned\s+|struct\s+)*[A-Za-z_]\w*\s*[\s*]\s*[A-Za-z_]\w*", plain)
    )


def _one_line(text: str) -> str:
    return " ".join(readable(text).split())


_AGGREGATE = re.compile(r"(?:\b(?:struct|enum|union|class)\b[^()]*|=\s*|\]\s*)\Z")


@record
class Statement:
    """A declaration without its ``;``, or the head of a function.

    Attributes:
        text: its text, with comments, literals, directives and the contents of braces blanked out; lines and offsets
            don't change.
        offset: its offset in the source.
        namespace: the enclosing namespaces, outermost first.
        defined: whether a body follows.
    """

    text: str
    offset: int
    namespace: tuple[str, ...]
    defined: bool


def statements(text: str) -> Iterator[Statement]:
    """Yield all statements outside bodies, in order; code that can't be parsed yields meaningless statements."""
    splitter, at = _Splitter(), 0
    for part in segments(text):
        if part.start > at:  # a line continuation between two segments
            yield from splitter.take("code", blank(text[at : part.start]), at)
        yield from splitter.take(part.kind, text[part.start : part.end], part.start)
        at = part.end


class _Splitter:
    """Splits a source into statements; takes its segments in order."""

    def __init__(self) -> None:
        self._scopes = Scopes()
        self._start = 0
        self._pieces: list[str] = []
        self._aggregate: list[bool] = []  # for each open body: does its statement continue after it?

    def take(self, kind: str, text: str, offset: int) -> Iterator[Statement]:
        """Yield the statement that ends with this segment, if one does."""
        if kind == "brace":
            yield from self._brace(text, offset)
            return
        was_inside = self._scopes.in_body
        if kind == "directive":
            self._scopes.take(kind, text)
            if was_inside and not self._scopes.in_body:  # another branch begins outside
                self._aggregate.clear()
                self._begin(offset)
        self._add(text if kind == "code" else self._blank(kind, text))
        if kind != "directive":
            self._scopes.take(kind, text)

    def _blank(self, kind: str, text: str) -> str:
        """Return blanks for a segment, behind an empty literal for a literal, which may be a default argument."""
        stand_in = {"string": '""', "char": "0"}.get(kind, "")
        if kind == "string" and self._pieces and self._pieces[-1].rstrip().endswith("extern"):
            stand_in = ""
        return stand_in + blank(text[len(stand_in) :])

    def _brace(self, text: str, offset: int) -> Iterator[Statement]:
        inside = self._scopes.in_body
        if text == "{":
            yield from self._opened(offset)
            return
        self._scopes.take("brace", text)
        if text == "}" and inside:
            continues = self._aggregate.pop() if self._aggregate else False
            if not self._scopes.in_body:
                self._add(text) if continues else self._begin(offset + 1)
            else:
                self._add(" ")
        elif not inside:
            if text == ";":
                yield from self._statement(defined=False)
            self._begin(offset + 1)
        else:
            self._add(" ")

    def _opened(self, offset: int) -> Iterator[Statement]:
        before = "".join(self._pieces)
        inside = self._scopes.in_body
        self._scopes.take("brace", "{")
        if inside:
            self._aggregate.append(True)
            self._pieces.append(" ")
        elif self._scopes.in_body:
            continues = bool(_AGGREGATE.search(before)) or is_within_parameters(before)
            self._aggregate.append(continues)
            if not continues:
                yield from self._statement(defined=True)
            self._pieces.append("{")
        else:  # a namespace, or extern "C"
            self._begin(offset + 1)

    def _add(self, text: str) -> None:
        self._pieces.append(blank(text) if self._scopes.in_body else text)

    def _begin(self, offset: int) -> None:
        self._start = offset
        self._pieces = []

    def _statement(self, *, defined: bool) -> Iterator[Statement]:
        text = "".join(self._pieces)
        if text.strip():
            skipped = len(text) - len(text.lstrip())
            yield Statement(text.strip(), self._start + skipped, self._scopes.namespace(), defined)
