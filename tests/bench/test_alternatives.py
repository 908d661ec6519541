"""What an operator can be compared with, and what is none of that."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.bench.alternatives import Alternatives, named_alternatives
from opwright.check.targets import find_operators
from opwright.errors import ArgumentError, SourceError

SOURCE = """#include <opwright.h>
OPWRIGHT("scaled(x: T[N], k: float = {factor}.0) -> (y: T[N]) where T in (f32)")
template <class T>
void scaled(Tensor<const T> x, double k, Tensor<T> y) {{
  parallel_for(y.numel(), [&](int64_t i) {{ y[i] = {factor} * T(k) * x[i]; }});
}}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An operator in a repository, of which the first revision had a smaller factor."""
    folder = tmp_path_factory.mktemp("repository")
    path = folder / "kernels" / "scaled.cpp"
    path.parent.mkdir()

    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)  # noqa: S607

    git("init", "-q", "-b", "trunk")
    for factor in (2, 3):
        path.write_text(SOURCE.format(factor=factor))
        git("add", ".")
        git("commit", "-q", "-m", f"factor {factor}")
    git("tag", "newest")
    return path


@pytest.fixture
def alternatives(source: Path, tmp_path: Path) -> Alternatives:
    return Alternatives(find_operators(str(source))[0], tmp_path, {}, "cpu")


def value(function: Callable[..., Any]) -> float:
    return float(function(torch.ones(4), 1.0)[0])


def test_an_expression_over_the_arguments(alternatives: Alternatives) -> None:
    assert value(alternatives.candidate("e", "3 * x * k").function) == 3
    assert value(alternatives.candidate("e", "torch.nn.functional.relu(x)").function) == 1
    assert value(alternatives.candidate("e", "F.threshold(x, 0.0, k) + math.pi").function) == pytest.approx(4.14159)
    assert value(alternatives.candidate("e", "\n  [x + each for each in range(3)][2]").function) == 3


def test_functions_and_modules(alternatives: Alternatives, tmp_path: Path) -> None:
    path = tmp_path / "others_of_scaled.py"
    path.write_text(
        "import torch\ndef thrice(x, k): return 3 * k * x\nclass Thrice(torch.nn.Module):\n"
        "    def forward(self, x, k): return thrice(x, k)\nready = Thrice()\n"
    )
    for name in ("thrice", "Thrice", "ready"):
        assert value(alternatives.candidate(name, f"{path}:{name}").function) == 3
    assert value(alternatives.candidate("a callable", lambda x, k: 5 * k * x).function) == 5


def test_another_build_and_revisions_of_the_source(alternatives: Alternatives, source: Path, tmp_path: Path) -> None:
    other = tmp_path / "scaled.cpp"
    other.write_text(SOURCE.format(factor=7))
    assert value(alternatives.candidate("other", str(other)).function) == 49 / 7
    assert value(alternatives.candidate("path", other).function) == 7
    assert value(alternatives.candidate("before", "HEAD~1").function) == 2
    assert value(alternatives.candidate("tag", "newest").function) == 3
    assert value(alternatives.subject.function) == 3
    command = ["git", "-C", str(source.parent), "status", "--porcelain"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""


def test_a_compiled_one_is_compiled_anew_for_each_sizes(
    alternatives: Alternatives, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def compiled(function: Any, *, dynamic: bool) -> Any:
        seen.append(dynamic)
        return function

    monkeypatch.setattr(torch, "compile", compiled)
    candidate = alternatives.candidate("c", "compile:3 * x * k")
    assert seen == []
    for _ in range(2):
        assert value(candidate.prepared().function) == 3
    assert seen == [False, False]


SUMS = """#include <opwright.h>
OPWRIGHT("running_squares(x: T[N]) -> (y: T[N]) where T in (f64)")
template <class T>
void running_squares(Tensor<const T, 1> x, Tensor<T, 1> y) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = T(sum += acc<T>(x[i]) * x[i]);
}
OPWRIGHT("running_squares_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void running_squares_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  acc<T> sum = 0;
  for (int64_t i = x.size(0) - 1; i >= 0; --i) grad_x[i] = T(2 * x[i] * (sum += grad_y[i]));
}
"""


@pytest.mark.slow
def test_a_derived_gradient_in_place_of_the_handwritten_one(tmp_path: Path) -> None:
    path = tmp_path / "running_squares.cpp"
    path.write_text(SUMS)
    made = Alternatives(find_operators(str(path))[0], tmp_path, {}, "cpu")
    x, incoming = torch.randn(2, 9, dtype=torch.float64)
    gradients = []
    for function in (made.candidate("d", "derived").function, made.subject.function):
        leaf = x.clone().requires_grad_()
        y = function(leaf)
        torch.testing.assert_close(y, x.square().cumsum(0))
        gradients += torch.autograd.grad(y, leaf, incoming)
    leaf = x.clone().requires_grad_()
    expected = torch.autograd.grad(leaf.square().cumsum(0), leaf, incoming)[0]
    for each in gradients:
        torch.testing.assert_close(each, expected)


NO_ALTERNATIVE = (
    " is no alternative to scaled()\n  expected:     an expression over x, k; module:name or file.py:name; a source "
    "file; derived; a git revision of the operator's source; one of these after compile:"
)
NO_BACKWARD = (
    "there is no derived gradient of scaled() to compare: there is no handwritten gradient whose source is known"
)
UNKNOWN = (
    "'x * undefined_name': undefined_name is neither an argument of the operator nor a module\n  arguments:    x, k"
)


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("nothing_of_the_kind", SourceError, "'nothing_of_the_kind'" + NO_ALTERNATIVE),
        ("HEAD~99", SourceError, "'HEAD~99'" + NO_ALTERNATIVE),
        ("--help", SourceError, "'--help'" + NO_ALTERNATIVE),
        ("x * undefined_name", ArgumentError, UNKNOWN),
        ("derived", ArgumentError, NO_BACKWARD),
        (7, ArgumentError, "an alternative is a callable or a text, not int: 7"),
    ],
)
def test_what_is_no_alternative(alternatives: Alternatives, given: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        alternatives.candidate("name", given)
    assert str(caught.value) == text


def test_a_revision_without_the_file(alternatives: Alternatives, source: Path) -> None:
    moved = source.with_name("moved.cpp")
    moved.write_text(SOURCE.format(factor=4))
    try:
        later = Alternatives(find_operators(str(moved))[0], alternatives.folder, {}, "cpu")
        with pytest.raises(SourceError, match=r"kernels/moved.cpp doesn't exist in revision HEAD \([0-9a-f]+\)"):
            later.candidate("before", "HEAD")
    finally:
        moved.unlink()


def test_the_operator_has_to_be_in_the_other_file(alternatives: Alternatives, tmp_path: Path) -> None:
    other = tmp_path / "two.cpp"
    text = SOURCE.format(factor=2)
    other.write_text(text.replace("scaled", "one") + text.replace("scaled", "two").replace("#include <opwright.h>", ""))
    with pytest.raises(SourceError, match=r"two.cpp has no operator scaled; it has: one, two"):
        alternatives.candidate("other", other)


def test_names() -> None:
    assert list(named_alternatives("x + 1")) == ["x + 1"]
    assert list(named_alternatives(torch.relu)) == ["relu"]
    assert list(named_alternatives([torch.relu, "HEAD"])) == ["relu", "HEAD"]
    assert named_alternatives({"a": 1}) == {"a": 1}
    assert list(named_alternatives([torch.relu, torch.relu, torch.relu])) == ["relu", "relu (2)", "relu (3)"]


@pytest.mark.slow
def test_one_operator_of_a_file(source: Path) -> None:
    assert [each.name for each in find_operators(f"{source}:scaled")] == ["scaled"]
    with pytest.raises(SourceError, match=r"scaled.cpp has no operator 'other'; it has: scaled"):
        find_operators(f"{source}:other")
    assert opwright.check(f"{source}:scaled", level="quick", only=("determinism",)).ok
