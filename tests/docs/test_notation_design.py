"""The page of the notation's design: its grammar is a grammar, and its table says what the parser takes."""

from __future__ import annotations

import re
from pathlib import Path

import lark
import pytest
import torch

import opwright.signature
from opwright.errors import SignatureError
from opwright.signature import parse
from opwright.signature.schema import schema

PAGE = (Path(__file__).parents[2] / "docs/explanation/notation_design.md").read_text()
TODAY = (Path(opwright.signature.__file__).parent / "notation.lark").read_text()
STATUS = [
    (example.replace("\\|", "|"), status)
    for example, status in re.findall(r"^\| [^|]+ \| `(.+)` \| (\w+) \|$", PAGE, re.MULTILINE)
]


def block(heading: str) -> str:
    (text,) = re.findall(rf"^## {heading}\n.*?```text\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def rules(text: str) -> dict[str, str]:
    """The rules of a grammar by their names, without comments."""
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    found = re.findall(r"^((_?\w+)(?:\{\w+\}|\.1)?:.*(?:\n .*)*)", plain, re.MULTILINE)
    return {name: rule for rule, name in found}


GRAMMAR = lark.Lark(
    "\n".join((rules(TODAY) | rules(block("Grammar"))).values()) + "\n%ignore /[ \\t\\n]+/",
    start="signature",
    parser="lalr",
)
EXAMPLES = re.findall(r"^(\w.*)\n    (.*)$", block("Ten examples"), re.MULTILINE)


def test_there_are_ten_examples_and_a_table() -> None:
    assert len(EXAMPLES) == 10
    assert {status for _, status in STATUS} <= {"exists", "planned"}
    assert len(STATUS) > 20


@pytest.mark.parametrize("text", [text for text, _ in [*EXAMPLES, *STATUS]])
def test_its_grammar_reads_its_signatures(text: str) -> None:
    GRAMMAR.parse(text)


@pytest.mark.parametrize("text", re.findall(r"^//> (.*)$", TODAY, re.MULTILINE))
def test_its_grammar_reads_what_is_written_today(text: str) -> None:
    GRAMMAR.parse(text)


@pytest.mark.parametrize(("text", "status"), STATUS)
def test_what_is_said_to_exist_does_and_nothing_else(text: str, status: str) -> None:
    if status == "exists":
        parse(text)
    else:
        with pytest.raises(SignatureError):
            parse(text)


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_the_schemas_of_examples_that_exist(text: str, expected: str) -> None:
    try:
        signature = parse(text)
    except SignatureError:
        return
    assert schema(signature) == expected


@pytest.mark.parametrize("expected", [expected for _, expected in EXAMPLES])
def test_the_schemas_are_some_that_pytorch_reads(expected: str) -> None:
    assert torch._C.parse_schema(expected).name == expected.partition("(")[0].partition(".")[0]
