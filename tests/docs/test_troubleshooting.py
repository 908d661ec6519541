"""The page of error texts: each heading is a text that is raised, or somebody else's whose cause Opwright knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from opwright.aten import error_hints
from opwright.aten.pytorch import Torch
from opwright.errors import CompileError
from opwright.toolchain.messages import failures, loaders
from tests.docs.raised import ROOT, is_raised

PAGE = ROOT / "docs/troubleshooting.md"
_HEADING = re.compile(r"^### (`+)(?P<text>.+)\1(?: \((?P<whose>\w+)\))?$")
TORCH = Torch(Path("torch"), "2.13.0", None, "13.0")


class Heading(NamedTuple):
    """A text, and who says it; nobody is Opwright."""

    text: str
    whose: str


def headings() -> list[Heading]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("### ")]
    found = [_HEADING.match(line) for line in lines]
    assert all(found), [line for line, match in zip(lines, found, strict=True) if not match]
    return [Heading(match["text"], match["whose"] or "") for match in found if match]


HEADINGS = headings()


def of(whose: str) -> list[str]:
    return [each.text for each in HEADINGS if each.whose == whose]


def test_what_is_quoted_stands_once_and_is_somebodys() -> None:
    assert len({each.text for each in HEADINGS}) == len(HEADINGS) > 60
    assert {each.whose for each in HEADINGS} == {"", "compiler", "loader", "PyTorch"}


@pytest.mark.parametrize("text", of(""))
def test_a_text_of_ours_is_raised(text: str) -> None:
    assert is_raised(text)


def advice(text: str) -> str:
    """What is said of a compiler's text: of one that failed to build a kernel, or an extension."""
    said = failures.advice(text, 1)
    return said or str(error_hints.compile_error(CompileError(f"{text}\nfull log: x"), TORCH))


@pytest.mark.parametrize("text", of("compiler"))
def test_the_cause_of_a_compilers_text_is_known(text: str) -> None:
    assert "likely fix:" in advice(text.replace("...", "x"))


@pytest.mark.parametrize("text", of("loader"))
def test_the_cause_of_a_loaders_text_is_known(text: str) -> None:
    said = text.replace("...", "/x.so")
    assert loaders.loading_problem(said) or error_hints.import_problem("x", said, str, TORCH)


def overwritten_after_saving() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = y * y
    y.mul_(2)
    z.sum().backward()


PYTORCHS: dict[str, Callable[[], object]] = {
    "one of the variables needed for gradient": overwritten_after_saving,
    "a leaf Variable that requires grad": lambda: torch.ones(2, requires_grad=True).mul_(2),
}


# What would take seconds to bring about, with the file that it is written in.
WRITTEN = {"We ran into an error when deserializing the saved file.": "export/__init__.py"}


@pytest.mark.parametrize("text", of("PyTorch"))
def test_a_text_of_pytorchs_is_raised(text: str) -> None:
    if text in WRITTEN:
        assert text in (Path(torch.__file__).parent / WRITTEN[text]).read_text()
        return
    [run] = [run for start, run in PYTORCHS.items() if text.startswith(start)]
    with pytest.raises(RuntimeError, match=re.escape(text)):
        run()
