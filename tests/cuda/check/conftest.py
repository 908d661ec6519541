"""Kernels in sections, and inputs made from their signatures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

HERE = Path(__file__).parent
ORDERS = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]
SIZES = {"N": 101, "M": 37, "R": 21, "C": 35, "K": 5, "A": 3, "B": 6, "T": 0}
_SECTION = re.compile(r"^// (?:kernel|fault): (\w+)(?:, (\w+), (.*)|, (\w+))?$", re.MULTILINE)
_MEND = re.compile(r"\s*// (right|missing): (.*)")
_INPUT = re.compile(r"(\w+): (\w+)(?:\[([^\]]*)\])?(\?)?!?")


class Section(NamedTuple):
    """One kernel of a file: its operator's name, its text, and where that begins (a line's number).

    Attributes:
        kind: of the fault that is planted in it.
        says: what the report of it has to say.
    """

    file: Path
    name: str
    text: str
    line: int
    kind: str = ""
    says: str = ""

    @property
    def marked(self) -> set[int]:
        """The lines that bear `here`."""
        lines = self.text.splitlines()
        return {self.line + number for number, line in enumerate(lines) if line.endswith("// here")}

    @property
    def mended(self) -> str:
        """The right twin: `// right: ` is what the line before should be, `// missing: ` a line that isn't there."""
        lines: list[str] = []
        for line in self.text.splitlines():
            mend = _MEND.fullmatch(line)
            if mend and mend[1] == "right":
                lines.pop()
            lines.append(mend[2] if mend else line)
        return "\n".join(lines)


def sections(folder: str) -> Iterator[Section]:
    """All kernels of the folder's CUDA sources."""
    for file in sorted((HERE / folder).glob("*.cu")):
        text = file.read_text("utf-8")
        found = list(_SECTION.finditer(text))
        for match, end in zip(found, [*(m.start() for m in found[1:]), len(text)], strict=True):
            line = text.count("\n", 0, match.start()) + 1
            kind, says = match[2] or match[4] or "", match[3] or ""
            yield Section(file, match[1], text[match.start() : end], line, kind, says)


def preambles(folder: str) -> Iterator[str]:
    """What stands before the first kernel of each of the folder's CUDA sources."""
    for file in sorted((HERE / folder).glob("*.cu")):
        text = file.read_text("utf-8")
        yield text[: next(_SECTION.finditer(text)).start()]


def _made(dtype: str, shape: list[int], extra: int, generator: torch.Generator) -> torch.Tensor:
    if dtype in {"i32", "i64"}:
        kind = torch.int32 if dtype == "i32" else torch.int64
        return torch.randint(-2, SIZES["M"] + extra + 2, shape, generator=generator, dtype=kind)
    if dtype == "u8":
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    return torch.randn(shape, generator=generator)


def _size(dim: str, extra: int) -> int:
    dim = dim.strip()
    if dim.isdigit():
        return int(dim)
    if dim in SIZES:
        return SIZES[dim] + extra
    return SIZES["N"] + SIZES["K"] - 1 + 2 * extra  # N + K - 1


def inputs(text: str, seed: int = 0, extra: int = 0) -> list[float | torch.Tensor | None]:
    """Arguments that fit the signature in `text`, random, the same for a seed; `extra` more along every named axis."""
    signature = re.search(r'OPWRIGHT\("\w+\((.*?)\) (?:->|launch)', text)
    assert signature
    generator = torch.Generator().manual_seed(seed)
    made: list[float | torch.Tensor | None] = []
    for _name, dtype, dims, optional in _INPUT.findall(signature[1]):
        if dtype == "float":
            made.append(1.5)
        elif optional:
            made.append(None)
        else:
            made.append(_made(dtype, [_size(dim, extra) for dim in dims.split(",")], extra, generator))
    return made


def results(op: Any, given: list[Any]) -> list[torch.Tensor]:
    """What the operator returns, and what it has made of its arguments."""
    copies = [each.clone() if isinstance(each, torch.Tensor) else each for each in given]
    found = op(*copies)
    returned = () if found is None else found if isinstance(found, tuple) else (found,)
    return [*returned, *(each for each in copies if isinstance(each, torch.Tensor))]


@pytest.fixture(scope="session")
def arguments() -> Callable[..., list[float | torch.Tensor | None]]:
    return inputs


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for folder, fixture in (("right", "kernel"), ("faults", "planted")):
        if fixture in metafunc.fixturenames:
            found = list(sections(folder))
            metafunc.parametrize(fixture, found, ids=[each.name for each in found])
