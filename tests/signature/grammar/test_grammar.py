"""The notation's grammar, as it is written down, and the parser accept the same texts: each is tried on the other's."""

from __future__ import annotations

import re
from pathlib import Path

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

import opwright.signature
from opwright.errors import SignatureError
from opwright.signature import Signature, parse
from opwright.signature.dtypes import BY_NAME
from opwright.signature.grammar.tokens import NotationError, Tokens

ROOT = Path(__file__).parents[3]
TEXT = (Path(opwright.signature.__file__).parent / "notation.lark").read_text()
EXAMPLES = re.findall(r"^//> (.*)$", TEXT, re.MULTILINE)
GRAMMAR = lark.Lark(TEXT, start="signature", parser="lalr")


def in_grammar(text: str) -> bool:
    try:
        GRAMMAR.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def misread(text: str) -> str | None:
    """What the parser says where it found another word than it expected; rules of another kind don't count."""
    try:
        parse(text)
    except NotationError as error:
        return error.message if re.match("expected|nothing follows", error.message) else None
    return None


def refused(text: str) -> bool:
    try:
        parse(text)
    except SignatureError:
        return True
    return False


@pytest.mark.parametrize("text", EXAMPLES)
def test_its_examples_are_signatures(text: str) -> None:
    assert in_grammar(text)
    parse(text)


def test_every_paragraph_has_an_example_or_is_about_words() -> None:
    without = [paragraph for paragraph in TEXT.split("\n\n") if "//> " not in paragraph]
    assert len(without) == 1
    assert without[0].startswith("// Words.")


def test_its_element_types_are_all_there_are() -> None:
    (rule,) = re.findall(r"^DTYPE(?:\.1)?: (.*(?:\n +\|.*)*)$", TEXT, re.MULTILINE)
    assert sorted([*re.findall(r'"(\w+)"', rule), "bool"]) == sorted(BY_NAME)


def test_signatures_of_the_examples_and_the_docs_are_in_it() -> None:
    sources = [
        *(ROOT / "docs").glob("*.md"),
        *(path for pattern in ("*.c", "*.cpp", "*.cu") for path in (ROOT / "examples").rglob(pattern)),
    ]
    marks = [mark for path in sources for mark in re.findall(r'OPWRIGHT\(((?:\s*"[^"]*")+)\s*\)', path.read_text())]
    marks = [mark for mark in marks if mark != '"..."']  # as prose has it
    assert len(marks) > 60
    for mark in marks:
        assert in_grammar("".join(re.findall(r'"([^"]*)"', mark))), mark


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data())
def test_signatures_drawn_at_random_are_in_it(signatures: st.SearchStrategy[Signature], data: st.DataObject) -> None:
    assert in_grammar(str(data.draw(signatures)))


WORDS = {
    "NAME": st.sampled_from(["x", "y", "N", "M", "k", "grad_y"]),
    "VARIABLE": st.sampled_from(["T", "U", "Index"]),
    "INT": st.integers(0, 70).map(str),
    "NUMBER": st.sampled_from(["0", "1.5", ".5", "2.", "1e-3", "1.5E+2"]),
}
KEYWORDS = {
    terminal.name: st.just(terminal.pattern.value) for terminal in GRAMMAR.terminals if terminal.pattern.value.isalpha()
}
SENTENCES = from_lark(
    GRAMMAR, start="signature", explicit={name: word.map(" {} ".format) for name, word in (WORDS | KEYWORDS).items()}
)


@pytest.mark.slow
@settings(deadline=None)
@given(SENTENCES)
def test_the_parser_reads_every_sentence_of_it(text: str) -> None:
    assert in_grammar(text)
    assert misread(text) is None


def test_sentences_are_of_every_kind() -> None:
    """What a test draws has to reach the grammar's corners; here they are asked for by name."""
    for text in (
        "f() -> ()",
        "f(x: T) -> (y: T;)",
        "f(x: T!?) -> (;)",
        "f.a(x: T) -> (y: T)",
        "f(x: T[-(-N)*2//M - 1]) launch over ... threads 1",
    ):
        assert in_grammar(text)
        assert misread(text) is None


def tokens_of(text: str) -> list[str]:
    tokens, words = Tokens(text), list[str]()
    while tokens.kind != "end":
        words.append(tokens.take())
    return words


def edits(text: str) -> set[str]:
    """The text with one word or mark left out, or another put in, at each place."""
    words = tokens_of(text)
    more = [[], *([word] for word in (",", ".", ";", "T", "N", "2", "...", "?", "-", "="))]
    put_in = ([*words[:at], *word, *words[at:]] for at in range(len(words) + 1) for word in more)
    left_out = ([*words[:at], *words[at + 1 :]] for at in range(len(words)))
    return {" ".join(edited) for edited in (*put_in, *left_out)}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_both_accept_the_same_of_what_is_nearly_right(example: str) -> None:
    for text in edits(example):
        if in_grammar(text):
            assert misread(text) is None, text
        else:
            assert refused(text), text
