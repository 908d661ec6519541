"""Finds and rewrites outdated idioms in Python code for extensions of an older PyTorch.

The code is split into tokens that fit all versions of Python: the standard library's tokenizer refuses Python 2, and
``.cuda(async=True)`` is a syntax error today.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opwright.migrate.finding import Finding, Status
from opwright.migrate.flags import flag_findings
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.normalized import NormalizedText
from opwright.sources.cpp.tokens import Token

_TOKEN = re.compile(
    r"""
    (?P<space> (?:\s|\\\r?\n)+ )
  | (?P<comment> \#[^\n]* )
  | (?P<string> (?:[bBuUfF]?[rR]?|[rR][bBfF]) (?: (?P<triple>\"{3}|'{3})(?:[^\\]|\\.)*?(?:(?P=triple)|\Z)
                                                | "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'? ) )
  | (?P<number> \.?\d(?:[eE][+-]|\w|\.)* )
  | (?P<word> [^\W\d]\w* )
  | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def python_stream(source: str) -> NormalizedText:
    """Return the tokens of Python source code; never fails, even if the code is invalid."""
    tokens = []
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind not in {"space", "comment"}:
            text = '""' if kind == "string" else match.group()
            tokens.append(Token(kind, text, match.start(), match.end()))
    return NormalizedText(source, tokens)


class _Idiom(NamedTuple):
    """An outdated idiom of Python code for PyTorch.

    Attributes:
        name: the idiom's name, for messages.
        pattern: its pattern in normalized code; the group ``word``, if any, is the word that `becomes` replaces.
        status: whether today's PyTorch has removed it, or only warns about or ignores it.
        today: the replacement to write instead.
        becomes: the word that replaces the group ``word``, if this is the only change; else empty.
    """

    name: str
    pattern: re.Pattern[str]
    status: Status
    today: str
    becomes: str = ""


# The preceding arguments of a call, which may contain calls; their length is limited to bound the matching time.
_BEFORE = r"\( (?:(?:[^()]|\( (?:[^()]|\( [^()]*\) )*\)){0,400}, )?"
_FFI = "`opwright run build.py` builds it as it is; opwright.legacy.create_extension is the function"
_IDIOMS = (
    _Idiom(
        "torch.utils.ffi",
        re.compile(r"\b(?:from|import) torch \. utils \. ffi\b|\bfrom torch \. utils import ffi\b"),
        "removed",
        _FFI,
    ),
    _Idiom(
        "cffi_modules", re.compile(r"\bcffi_modules ="), "removed", "`opwright run setup.py ...` builds it as it is"
    ),
    _Idiom(
        "async=",
        re.compile(rf"\. (?:cuda|to|copy_|type) {_BEFORE}(?P<word>async) ="),
        "removed",
        "non_blocking=",
        "non_blocking",
    ),
    _Idiom(
        "saved_variables", re.compile(r"\. (?P<word>saved_variables)\b"), "removed", "saved_tensors", "saved_tensors"
    ),
    _Idiom(
        "retain_variables=",
        re.compile(rf"\. backward {_BEFORE}(?P<word>retain_variables) ="),
        "removed",
        "retain_graph=",
        "retain_graph",
    ),
    _Idiom("volatile=", re.compile(r"\bvolatile ="), "removed", "with torch.no_grad():"),
    _Idiom("Variable(...)", re.compile(r"(?<!def )(?<!class )\bVariable \("), "deprecated", "the tensor itself"),
    _Idiom("torch.legacy", re.compile(r"\btorch \. legacy\b"), "removed", "torch.nn"),
    _Idiom(
        "torch._thnn",
        re.compile(r"\btorch \. _thnn\b|\btorch \. nn \. backends\b|\btype2backend\b"),
        "removed",
        "torch.nn.functional",
    ),
    _Idiom(
        "torch.testing.get_all_dtypes",
        re.compile(r"\btorch \. testing (?:\. |import (?:\w+ , )*)get_all_\w+"),
        "removed",
        "a list of dtypes",
    ),
)
_FIRST = re.compile(r"\. data \[ 0 \](?! (?:\[|=(?! =)))")
_CHANGED = re.compile(r"(?:\* \*|/ /|< <|> >|[-+*/%@&|^]) =")  # augmented assignments need a variable, not a number
_DELETED = re.compile(r"\bdel [\w. ]*$")
_CLASS_NAME = re.compile(r"""[bBuU]?(["'])(?:torch\.)?(?:cuda\.)?\w*Tensor\1""")
_TYPE_NAME = re.compile(r"\b(?:type \( [^()]* \)|__class__) \. __name__ (?:[=!] =|in\b)")
_TODAY_OF_NAMES = "x.type(), or x.dtype: the class is torch.Tensor for every element type"
_MADE_INTEGER = r"\. (?:long|int|short|char|byte) \( \)"
_INTEGERS = re.compile(rf"\b(?P<name>\w+) = (?:\w+ \. )*\w+(?: \( \))? {_MADE_INTEGER}(?! [-.*+/%\[(])")
_INDICES = re.compile(r"\b\w+ , (?P<name>\w+) = (?:\w+ (?:\( [^()]*\) )?\. )*(?:max|min|sort|topk) \(")
_DIVISION = re.compile(rf"(?:{_MADE_INTEGER}|(?<![.\w] )\b(?P<name>[^\W\d]\w*)) (?P<mark>/)(?! /)")
_PROSE = re.compile(r"\w*(?:\"{3}|'{3})\s*(?!-)\S")
_FUNCTION = re.compile(r"\bclass (?P<name>\w+) \( (?:\w+ \. )*Function \) :")
_DECORATOR = r"@ \w+ (?:\. \w+ )*(?:\( [^()]*\) )?"
_MADE_STATIC = re.compile(r"\bforward = staticmethod \( forward \)")
_FORWARD = re.compile(rf"(?P<static>@ staticmethod (?:{_DECORATOR})*)?\bdef forward \( \w+")


def find(text: str) -> list[Finding]:
    """Return the findings in Python source code, decoded as latin-1, ordered by line."""
    source = python_stream(text)
    strings = [token for token in source.tokens if token.kind == "string"]
    found = [*_idioms(source), *_first_elements(source), *_functions(source), *_flags(source, iter(strings))]
    return sorted([*found, *_names_of_types(source, strings), *_divisions(source)])


def _idioms(source: NormalizedText) -> Iterator[Finding]:
    for idiom in _IDIOMS:
        for match in idiom.pattern.finditer(source.text):
            edits: tuple[Edit, ...] = ()
            if idiom.becomes:
                word = source.tokens[source.index(match.start("word"))]
                edits = (Edit(word.start, word.end, idiom.becomes),)
            line = source.line(source.index(match.start("word") if idiom.becomes else match.start()))
            yield Finding(line, idiom.name, idiom.status, idiom.today, edits)


def _first_elements(source: NormalizedText) -> Iterator[Finding]:
    """Yield each ``x.data[0]``, with an edit if `x` is a loss, which is 0-dim; other tensors may have a first row."""
    for first, behind in source.find(_FIRST):
        loss = _is_a_loss(source, first)
        written = _CHANGED.match(source.joined(behind, behind + 3)) or _DELETED.search(
            source.joined(max(first - 9, 0), first)
        )
        edit = Edit(source.tokens[first].start, source.tokens[behind - 1].end, ".item()")
        edits = (edit,) if loss and not written else ()
        note = "" if edits else "it is written to" if written else "a tensor with axes has a first element still"
        yield Finding(source.line(first), ".data[0]", "removed", ".item()", edits, note)


def _is_a_loss(source: NormalizedText, behind: int) -> bool:
    """Return whether the word before a token is the name of a single loss."""
    before = source.tokens[behind - 1] if behind else None
    word = before.text.lower() if before and before.kind == "word" else ""
    return "loss" in word and "losses" not in word


def _functions(source: NormalizedText) -> Iterator[Finding]:
    """Yield each autograd Function whose ``forward`` isn't static."""
    for match in _FUNCTION.finditer(source.text):
        forward = _FORWARD.search(source.text, match.end())
        ends = _FUNCTION.search(source.text, match.end())
        end = ends.start() if ends else len(source.text)
        is_static = forward and (forward["static"] or _MADE_STATIC.search(source.text, forward.end(), end))
        if forward and forward.start() < end and not is_static:
            name = f"{match['name']}, a Function with state"
            line = source.line(source.index(match.start()))
            yield Finding(
                line, name, "removed", "@staticmethod forward(ctx, ...) and backward, called by apply", (), ""
            )


def _names_of_types(source: NormalizedText, strings: Sequence[Token]) -> Iterator[Finding]:
    """Yield each comparison of a class's name with an old tensor class: ``type(x).__name__ == 'LongTensor'``."""
    names = {token.start for token in strings if _CLASS_NAME.fullmatch(source.source[token.start : token.end])}
    for match in _TYPE_NAME.finditer(source.text) if names else ():
        first = source.index(match.start())
        behind = next((i for i in range(first, len(source.tokens)) if source.tokens[i].start in names), None)
        if behind is not None and source.line(behind) == source.line(first):
            yield Finding(source.line(first), "type(x).__name__", "removed", _TODAY_OF_NAMES)


def _divisions(source: NormalizedText) -> Iterator[Finding]:
    """Yield each ``/`` of what is certainly integers: results of ``.long()``, indices that max, sort, topk return."""
    integers = {match["name"] for names in (_INDICES, _INTEGERS) for match in names.finditer(source.text)}
    for match in _DIVISION.finditer(source.text):
        if match["name"] is None or match["name"] in integers:
            line = source.line(source.index(match.start("mark")))
            yield Finding(line, "/ of integer tensors", "removed", "//, which rounds down (/ gives fractions)")


def _flags(source: NormalizedText, strings: Iterator[Token]) -> Iterator[Finding]:
    for token in strings:
        if _PROSE.match(source.source, token.start):
            continue  # a docstring
        yield from flag_findings(source.source, token.start, token.end, rewritten=True)
