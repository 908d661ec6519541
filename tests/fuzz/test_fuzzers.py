"""The fuzzers find what is wrong: each is shown something that is."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

import opwright
from tests.fuzz import expressions, mutations, programs
from tests.fuzz.calls import outcome
from tests.fuzz.judge import Wrong
from tests.fuzz.operators import Call, Target, draw, infos

SOURCE = """#include <opwright.h>
OPWRIGHT("square(x: T[N]) -> (y: T[N]) where T in (f32)")
template <class T>
void square(Tensor<const T, 1> x, Tensor<T, 1> y) { for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * %s; }
"""


def target(path: Path, text: str) -> Target:
    path.write_text(text)
    registered = opwright.load(path).__loaded__.registered["square"]
    return Target("square", registered.op, registered.kernel.signature, (), ellipsis=False, mask=False, strided=False)


def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    wrong = target(tmp_path / "calls_wrong.cpp", SOURCE % "2")
    right = target(tmp_path / "calls_right.cpp", SOURCE % "x[i]")
    x = torch.tensor([1.0, 3.0])
    assert outcome(Call(right, {"x": x})) == "right"
    with pytest.raises(Wrong, match=r"y is .* expected"):
        outcome(Call(wrong, {"x": x}))


def test_a_refusal_is_judged(tmp_path: Path) -> None:
    square = target(tmp_path / "judged.cpp", SOURCE % "x[i]")
    wrong = torch.ones(2, 2)
    assert outcome(Call(square, {"x": wrong}, fits=False)) == "ArgumentError"
    with pytest.raises(Wrong, match="a call that fits was refused"):
        outcome(Call(square, {"x": wrong}))


def test_no_change_reads_a_huge_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    square = target(tmp_path / "huge.cpp", SOURCE % "x[i]")
    monkeypatch.setattr(mutations, "WRONG", {"sparse": mutations.WRONG["sparse"]})
    monkeypatch.setattr(mutations, "ODD", {"sliced": mutations.ODD["sliced"]})
    for seed in range(10):
        call = Call(square, {"x": torch.ones(()).expand(2**40)})
        mutations._change_tensor(call, random.Random(seed))
        assert not call.done


def test_calls_are_reproducible(tmp_path: Path) -> None:
    square = target(tmp_path / "calls_again.cpp", SOURCE % "x[i]")
    one, other = (draw(square, random.Random("7")) for _ in range(2))
    assert infos(one) == infos(other)
    assert torch.equal(one.arguments["x"], other.arguments["x"])


@pytest.mark.slow
def test_a_wrong_program_is_found_and_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("({} * {} + A(1) - A(1))", np.multiply, 2)
    monkeypatch.setitem(expressions.OPERATORS, "multiply", (row[0].replace("- A(1)", ""), *row[1:]))
    form = programs.FORMS[0]
    e = ("add", ("multiply", ("x",), ("abs", ("y",))), ("sqrt", ("abs", ("w",))))
    program = programs.Program("op", form, "f32", e, "exp", 3, 0)
    numbers = iter(range(100))
    ops = programs.library([program], tmp_path, next(numbers))
    assert programs.failure(program, ops.op, 0)
    small, problem = programs.shrink(program, 0, tmp_path, numbers)
    assert small.function is None
    assert small.expression[0] == "multiply"
    assert len(str(small.expression)) < len(str(e)) / 2
    assert "want" in problem
