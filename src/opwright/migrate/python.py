"""Python: what came along with extensions of an older PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from opwright.aten.compat.tokens import Stream, Token
from opwright.migrate.flags import flag_findings
from opwright.migrate.model import Edit, Finding, Status
from opwright.migrate.python_tokens import python_stream

__all__ = ["find"]


class _Idiom(NamedTuple):
    """Something of older Pythons for PyTorch.

    Attributes:
        name: as a person would write it.
        pattern: what it looks like in normalised text; a group named ``word`` is what `becomes` takes the place of.
        status: whether today's PyTorch refuses it, or only warns or ignores it.
        today: what to write instead.
        becomes: what takes the word's place, where that is all.
    """

    name: str
    pattern: re.Pattern[str]
    status: Status
    today: str
    becomes: str = ""


# The arguments of a call before the one that is looked for, with calls in them; so long, lest a file takes for ever.
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
_CHANGED = re.compile(r"(?:\* \*|/ /|< <|> >|[-+*/%@&|^]) =")  # what takes a place, and no number
_DELETED = re.compile(r"\bdel [\w. ]*$")
_PROSE = re.compile(r"\w*(?:\"{3}|'{3})\s*(?!-)\S")
_FUNCTION = re.compile(r"\bclass (?P<name>\w+) \( (?:\w+ \. )*Function \) :")
_DECORATOR = r"@ \w+ (?:\. \w+ )*(?:\( [^()]*\) )?"
_MADE_STATIC = re.compile(r"\bforward = staticmethod \( forward \)")
_FORWARD = re.compile(rf"(?P<static>@ staticmethod (?:{_DECORATOR})*)?\bdef forward \( \w+")


def find(text: str) -> list[Finding]:
    """Everything in a Python text, decoded as latin-1, in order of lines."""
    source = python_stream(text)
    strings = (token for token in source.tokens if token.kind == "string")
    return sorted([*_idioms(source), *_first_elements(source), *_functions(source), *_flags(source, strings)])


def _idioms(source: Stream) -> Iterator[Finding]:
    for idiom in _IDIOMS:
        for match in idiom.pattern.finditer(source.text):
            edits: tuple[Edit, ...] = ()
            if idiom.becomes:
                word = source.tokens[source.index(match.start("word"))]
                edits = (Edit(word.start, word.end, idiom.becomes),)
            line = source.line(source.index(match.start("word") if idiom.becomes else match.start()))
            yield Finding(line, idiom.name, idiom.status, idiom.today, edits)


def _first_elements(source: Stream) -> Iterator[Finding]:
    """``loss.data[0]``: of a loss, which has no axis any more, the number; of another tensor perhaps its first row."""
    for first, behind in source.find(_FIRST):
        loss = _is_a_loss(source, first)
        written = _CHANGED.match(source.words(behind, behind + 3)) or _DELETED.search(
            source.words(max(first - 9, 0), first)
        )
        edit = Edit(source.tokens[first].start, source.tokens[behind - 1].end, ".item()")
        edits = (edit,) if loss and not written else ()
        note = "" if edits else "it is written to" if written else "a tensor with axes has a first element still"
        yield Finding(source.line(first), ".data[0]", "removed", ".item()", edits, note)


def _is_a_loss(source: Stream, behind: int) -> bool:
    """Whether the word before a token names one loss."""
    before = source.tokens[behind - 1] if behind else None
    word = before.text.lower() if before and before.kind == "word" else ""
    return "loss" in word and "losses" not in word


def _functions(source: Stream) -> Iterator[Finding]:
    """Functions whose forward is a method of an instance."""
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


def _flags(source: Stream, strings: Iterator[Token]) -> Iterator[Finding]:
    for token in strings:
        if _PROSE.match(source.source, token.start):
            continue  # a docstring
        yield from flag_findings(source.source, token.start, token.end, rewritten=True)
