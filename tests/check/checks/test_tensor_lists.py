"""opwright check of operators with lists of tensors: drawn calls, gradients, reproducers, lists of other lengths."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.errors import SourceError

SOURCE = """
#include <opwright.h>

OPWRIGHT("weigh(xs: list[T[M, each N]], w: T[M]) -> (ys: list[T[M, each N]], total: T[]) where T in (f32, f64)")
template <class T>
void weigh(List<const T, 2> xs, Tensor<const T, 1> w, List<T, 2> ys, Tensor<T, 0> total) {
  total() = 0;
  for (int64_t i = 0; i < LENGTH; ++i)
    for (int64_t m = 0; m < w.size(0); ++m)
      for (int64_t n = 0; n < xs[i].size(1); ++n) total() += ys[i](m, n) = w[m] * xs[i](m, n);
}

OPWRIGHT("weigh_backward(grad_ys: list[T[M, each N]], grad_total: T[], xs: list[T[M, each N]], w: T[M])"
         " -> (grad_xs: list[T[M, each N]], grad_w: T[M])")
template <class T>
void weigh_backward(List<const T, 2> grad_ys, Tensor<const T, 0> grad_total, List<const T, 2> xs, Tensor<const T, 1> w,
                    List<T, 2> grad_xs, Tensor<T, 1> grad_w) {
  for (int64_t m = 0; m < w.size(0) && grad_w; ++m) grad_w[m] = 0;
  for (int64_t i = 0; i < xs.size(); ++i)
    for (int64_t m = 0; m < w.size(0); ++m)
      for (int64_t n = 0; n < xs[i].size(1); ++n) {
        const T g = grad_ys[i](m, n) + grad_total();
        if (grad_w) grad_w[m] += g * xs[i](m, n);
        if (grad_xs) grad_xs[i](m, n) = GRADIENT;
      }
}
"""


def weigh(xs: list[torch.Tensor], w: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    ys = [w[:, None] * x for x in xs]
    return ys, sum((y.sum() for y in ys), w.new_zeros(()))


def written(folder: Path, length: str = "xs.size()", gradient: str = "g * w[m]") -> Path:
    source = folder / "weigh.cpp"
    source.write_text(SOURCE.replace("LENGTH", length).replace("GRADIENT", gradient))
    return source


@pytest.mark.exhaustive
def test_a_right_operator(tmp_path: Path) -> None:
    report = opwright.check(written(tmp_path), reference=weigh, level="quick", isolate=False)
    assert not report.findings, report
    ran = {outcome.check for outcome in report if outcome.status == "passed"}
    assert {"agreement", "bad calls", "layouts", "gradcheck", "opcheck", "fake kernel"} <= ran


@pytest.mark.slow
def test_a_wrong_gradient_of_a_tensor(tmp_path: Path) -> None:
    report = opwright.check(
        written(tmp_path, gradient="i == 1 ? g : g * w[m]"), level="quick", only=("gradients",), isolate=False
    )
    text = str(report)
    assert "xs[1]" in text
    assert "xs_0, xs_1, xs_2" in text
    assert "[xs_0, xs_1, xs_2], w" in text


def test_a_kernel_that_is_wrong_for_longer_lists(tmp_path: Path) -> None:
    source = written(tmp_path, length="(xs.size() < 3 ? xs.size() : 3)")
    report = opwright.check(source, reference=weigh, level="quick", only=("agreement",), isolate=False)
    (finding,) = report.findings
    assert "with lists of 4 and 0 tensors: " in str(finding)
    code = finding.reproducer
    assert "weigh([xs_0, xs_1, xs_2, xs_3], w)" in code
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - it is what is tested
    assert isinstance(names["xs_3"], torch.Tensor)


@pytest.mark.exhaustive
def test_a_function_of_python_with_lists() -> None:
    report = opwright.check(
        weigh, signature="weigh(xs: list[T[M, each N]], w: T[M]) -> (ys: list[T[M, each N]], total: T[])", level="quick"
    )
    assert not report.findings, report


def test_example_calls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="calls of operators with lists of tensors can't be given"):
        opwright.check(written(tmp_path), examples={"weigh": [([torch.ones(1, 1)], torch.ones(1))]}, isolate=False)
