"""The mistakes of mistakes.py, through the whole stack and the real compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import opwright
from opwright import CompileError
from tests.messages.mistakes import BODY_BEGINS, MISTAKES
from tests.messages.raising import Write, failing


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake(tmp_path: Path, name: str) -> None:
    mistake = MISTAKES[name]
    source = tmp_path / f"mistake_{[*MISTAKES].index(name)}.cpp"
    source.write_text(mistake.text)
    rank = 2 if "M" in mistake.signature else 1
    x = torch.ones([4] * rank, dtype=getattr(torch, mistake.dtype))
    text = failing(lambda: opwright.load(source).f(x), CompileError)
    number = BODY_BEGINS + mistake.line - 1
    place, said = re.split(r": error: ", text.splitlines()[0], maxsplit=1)
    assert re.fullmatch(rf"{re.escape(str(source))}:{number}(:\d+)?", place)
    assert said == mistake.problem
    assert text.splitlines()[1] == f"{number:5} | {source.read_text().splitlines()[number - 1]}"
    assert f"\n  likely fix: {mistake.fix}\n" in text
    assert "candidate" not in text
    log = Path(re.findall(r"^full log: (.*)$", text, re.MULTILINE)[0]).read_text()
    assert re.search(r"^command: .*-std=c\+\+17", log, re.MULTILINE)


@pytest.mark.slow
def test_an_enum_without_a_choice(write: Write) -> None:
    text = """enum class Mode { mean, total };
OPWRIGHT("rows(x: T[N], mode: mean | sum) -> (y: T[N])")
template <class T>
void rows(Tensor<const T, 1> x, Mode mode, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = mode == Mode::mean ? x[i] : 2 * x[i];
}"""
    source = write(text, "enum_without.cpp")
    said = failing(lambda: opwright.load(source).rows(torch.ones(2), "sum"), CompileError)
    first, line, signature, compiler, fix, _ = said.splitlines()
    assert re.fullmatch(rf"{source}:5:\d+: error: Mode has no enumerator sum, which mode can be", first)
    assert line == "    5 | void rows(Tensor<const T, 1> x, Mode mode, Tensor<T, 1> y) {"
    assert signature.startswith("  signature:  rows(x: T[N], mode: mean | sum) -> (y: T[N])")
    assert compiler == "  compiler:   'sum' is not a member of 'Mode'"
    assert fix == "  likely fix: enum class Mode { mean, sum };"


@pytest.mark.slow
def test_two_types_of_max(write: Write) -> None:
    """Twenty-five lines of gcc's on candidates are in the log."""
    line = "y[i] = std::max(x[i], 0.0);"
    body = MISTAKES["std::exp without its header"].text.replace("y[i] = std::exp(x[i]);", line)
    source = write(f"#include <algorithm>\n{body}", "two_types.cpp")
    text = failing(lambda: opwright.load(source).f(torch.ones(2)), CompileError)
    problem = "std::max takes two values of one type, and these are float and double"
    assert re.match(rf"{source}:\d+:\d+: error: {problem}\n", text)
    assert "\n  likely fix: write y[i] = std::max<T>(x[i], 0.0)\n" in text
    assert len(text.splitlines()) < 10


@pytest.mark.slow
def test_a_missing_header_and_cuda_in_cpp(write: Write) -> None:
    text = MISTAKES["shape"].text
    source = write(f"#include <no_such_header.h>\n{text}", "headerless.cpp")
    said = failing(lambda: opwright.load(source).f(torch.ones(2)), CompileError)
    problem = "error: the header no_such_header.h isn't in any of the folders that are searched"
    assert problem in said.splitlines()[0]
    assert '\n  likely fix: name its folder, load(..., include_dirs=["..."]), or install what it belongs to' in said
    source = write(f"__global__ void k(float *x) {{}}\n{text}", "cuda_in.cpp")
    said = failing(lambda: opwright.load(source).f(torch.ones(2)), CompileError)
    assert "error: __global__ is CUDA, and this file is C++" in said.splitlines()[0]
    assert '\n  likely fix: give the file the suffix .cu; backend="emulate" runs' in said
