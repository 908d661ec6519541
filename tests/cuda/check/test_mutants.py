"""Right kernels, broken by machine: is every mutant caught, by the checker or by its result?

Each __syncthreads and __syncwarp is deleted, each bound is shifted by one, each offset of an index is changed. All
mutants of a kernel are built in one library. Those that survive are listed in survivors.txt, each with the reason why
it is no fault or why nothing tells it from one; the test fails where the list and what is found differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import opwright
from opwright.cuda import emulation
from tests.cuda.check.conftest import results
from tests.mutants.survivors import read

Arguments = Callable[..., list[Any]]
HERE = Path(__file__).parent
_COMPARED = re.compile(r"(?<= )(?:<=|>=|<|>) ")
_BARRIER = re.compile(r"__sync(?:threads|warp)\([^()]*\);")
_INDEX = re.compile(r"\[([^\[\]]+)\]")


class Mutant(NamedTuple):
    """A kernel's text with one change: what was changed, in which line of its file."""

    text: str
    line: int
    change: str


def _device_part(text: str) -> tuple[int, int]:
    """Where the kernel's own code begins and ends: what launches it isn't mutated."""
    signature = text.index("OPWRIGHT(")
    return (0, signature) if "__global__" in text[:signature] else (text.index("\n", signature) + 1, len(text))


def mutants(text: str, first_line: int) -> Iterator[Mutant]:
    """Every single change of the kernel's code."""
    part = _device_part(text)
    for match in _BARRIER.finditer(text, *part):
        yield _changed(text, first_line, match.span(), ";")
    for match in _COMPARED.finditer(text, *part):
        yield _changed(text, first_line, match.span(), f"{match[0]}1 + ")
    for match in _INDEX.finditer(text, *part):
        before = text[: match.start()].rstrip()
        declared = re.search(r"(?:__shared__|\bstruct \w+ {)[^;]*$", before)
        if not declared:
            yield _changed(text, first_line, match.span(1), f"({match[1]}) + 1")


def _changed(text: str, first_line: int, span: tuple[int, int], to: str) -> Mutant:
    line = first_line + text.count("\n", 0, span[0])
    return Mutant(text[: span[0]] + to + text[span[1] :], line, f"{text[slice(*span)].strip()} -> {to.strip()}")


def _renamed(text: str, name: str, number: int) -> str:
    """The same under names of its own, so that all mutants fit one library."""
    names = "|".join([rf"{name}\w*", *re.findall(r"^struct (\w+)", text, re.MULTILINE)])
    return re.sub(rf"\b({names})\b", rf"\1_m{number}", text)


def library(kernel: Any, folder: Path) -> tuple[list[Mutant], opwright.Operators]:
    """All mutants of a kernel, as operators `name_m0`, `name_m1`, ..."""
    found = list(mutants(kernel.text, kernel.line))
    path = folder / f"{kernel.name}_mutants.cu"
    path.write_text(
        "\n".join(["#include <opwright.h>", *(_renamed(m.text, kernel.name, i) for i, m in enumerate(found))])
    )
    return found, opwright.load(path, backend=opwright.emulate(check=True))


def _killed(op: Any, right: Any, given: list[Any]) -> str:
    """How: "flagged", "differs", or "" where it isn't."""
    expected = results(right, given)
    try:
        got = results(op, given)
    except opwright.KernelError:
        return "flagged"
    same = all(torch.allclose(a.double(), b.double(), atol=1e-4, rtol=1e-4) for a, b in zip(got, expected, strict=True))
    return "" if same else "differs"


def judged(kernel: Any, arguments: Arguments, plain: opwright.Operators, folder: Path) -> dict[str, str]:
    """Each mutant, by its line and change, and how it was killed in the first order that did."""
    found, built = library(kernel, folder)
    verdicts: dict[str, str] = {}
    for number, mutant in enumerate(found):
        verdict = ""
        for kind in ("forward", "reverse"):
            for seed, extra in ((0, 0), (1, 27), (2, 2)):
                given = arguments(kernel.text, seed=seed, extra=extra)
                with emulation.order(kind):
                    op = getattr(built, f"{kernel.name}_m{number}")
                    verdict = verdict or _killed(op, getattr(plain, kernel.name), given)
        verdicts[f"{kernel.file.name}: {kernel.name}: {mutant.change}: {number}"] = verdict
    return verdicts


def survivors() -> dict[str, str]:
    """The listed ones and their reasons."""
    return read(HERE / "survivors.txt")


@pytest.mark.exhaustive
def test_mutants_are_killed(kernel: Any, arguments: Arguments, tmp_path: Path) -> None:
    plain = opwright.load(HERE / "right" / "plain.cpp", namespace="mutants_plain")
    verdicts = judged(kernel, arguments, plain, tmp_path)
    assert verdicts, "no mutants of this kernel"
    alive = {mutant for mutant, verdict in verdicts.items() if not verdict}
    listed = {mutant for mutant in survivors() if mutant.startswith(f"{kernel.file.name}: {kernel.name}: ")}
    assert alive == listed


def test_every_survivor_is_explained() -> None:
    assert all(len(reason.split()) >= 5 for reason in survivors().values())
