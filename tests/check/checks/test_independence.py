"""Independent axes: ten false promises are found and named, ten true ones pass, and axes that look so are proposed."""

from __future__ import annotations

from pathlib import Path

import opwright
from opwright.check import Report

FALSE = """
#include <opwright.h>
#define ROWS for (int64_t i = 0; i < x.size(0); ++i)

OPWRIGHT("minus_mean(x: f64[N]) -> (y: f64[N]) independent N")
void minus_mean(Tensor<const double, 1> x, Tensor<double, 1> y) {
  double sum = 0;
  ROWS sum += x[i];
  ROWS y[i] = x[i] - sum / x.size(0);
}
OPWRIGHT("by_largest(x: f64[N, C]) -> (y: f64[N, C]) independent N, C")
void by_largest(Tensor<const double, 2> x, Tensor<double, 2> y) {
  for (int64_t c = 0; c < x.size(1); ++c) {
    double largest = 0;
    ROWS largest = max(largest, abs(x(i, c)));
    ROWS y(i, c) = x(i, c) / (1 + largest);
  }
}
OPWRIGHT("mean(x: f64[N, C]) -> (y: f64[C]) independent N")
void mean(Tensor<const double, 2> x, Tensor<double, 1> y) {
  for (int64_t c = 0; c < x.size(1); ++c) {
    y[c] = 0;
    ROWS y[c] += x(i, c) / x.size(0);
  }
}
OPWRIGHT("at_position(x: f64[N]) -> (y: f64[N]) independent N")
void at_position(Tensor<const double, 1> x, Tensor<double, 1> y) { ROWS y[i] = x[i] * (1 + i); }

OPWRIGHT("running(x: f64[B, N]) -> (y: f64[B, N]) independent B, N")
void running(Tensor<const double, 2> x, Tensor<double, 2> y) {
  ROWS {
    double state = 0;
    for (int64_t n = 0; n < x.size(1); ++n) y(i, n) = state = 0.9 * state + x(i, n);
  }
}
OPWRIGHT("everywhere_the_sum(x: f64[N]) -> (y: f64[N]) independent N")
void everywhere_the_sum(Tensor<const double, 1> x, Tensor<double, 1> y) {
  double sum = 0;
  ROWS sum += x[i];
  ROWS y[i] = sum;
}
OPWRIGHT("pairs(x: f64[N]) -> (y: f64[N]) independent N")
void pairs(Tensor<const double, 1> x, Tensor<double, 1> y) { ROWS y[i] = i % 2 ? x[i] + x[i - 1] : x[i]; }

OPWRIGHT("with_bias(x: f64[N, C], b: f64[C]) -> (y: f64[C]) independent N")
void with_bias(Tensor<const double, 2> x, Tensor<const double, 1> b, Tensor<double, 1> y) {
  for (int64_t c = 0; c < b.size(0); ++c) {
    y[c] = b[c];
    ROWS y[c] += x(i, c);
  }
}
OPWRIGHT("clipped_where_any_is_nan(x: f64[N]) -> (y: f64[N]) independent N")
void clipped_where_any_is_nan(Tensor<const double, 1> x, Tensor<double, 1> y) {
  bool strange = false;
  ROWS strange |= !(abs(x[i]) <= 1e30);
  ROWS y[i] = strange ? 0 : x[i];
}
OPWRIGHT("scaled(x: f64[N], w: f64[]) -> (y: f64[N]) independent N")
void scaled(Tensor<const double, 1> x, Tensor<const double, 0> w, Tensor<double, 1> y) { ROWS y[i] = w() * x[i]; }
OPWRIGHT("scaled_backward(grad_y: f64[N], x: f64[N], w: f64[]) -> (grad_x: f64[N], grad_w: f64[]) independent N")
void scaled_backward(Tensor<const double, 1> g, Tensor<const double, 1> x, Tensor<const double, 0> w,
                     Tensor<double, 1> grad_x, Tensor<double, 0> grad_w) {
  if (grad_x) ROWS grad_x[i] = w() * g[i];
  if (grad_w) grad_w() = 0;
  if (grad_w) ROWS grad_w() += g[i] * x[i] / x.size(0);
}
"""

TRUE = """
#include <opwright.h>
#define ROWS for (int64_t i = 0; i < x.size(0); ++i)

OPWRIGHT("conv(x: T[N, L], w: T[K]) -> (y: T[N, L-K+1]) where T in (f32, f64) independent N")
template <class T>
void conv(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> y) {
  ROWS for (int64_t l = 0; l < y.size(1); ++l) {
    y(i, l) = 0;
    for (int64_t k = 0; k < w.size(0); ++k) y(i, l) += x(i, l + k) * w[k];
  }
}
OPWRIGHT("conv_backward(grad_y: T[N, L-K+1], x: T[N, L], w: T[K]) -> (grad_x: T[N, L], grad_w: T[K]) independent N")
template <class T>
void conv_backward(Tensor<const T, 2> g, Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 2> grad_x,
                   Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < grad_x.numel(); ++i) grad_x.flat(i) = 0;
  for (int64_t k = 0; k < w.size(0); ++k) grad_w[k] = 0;
  ROWS for (int64_t l = 0; l < g.size(1); ++l)
    for (int64_t k = 0; k < w.size(0); ++k) {
      grad_x(i, l + k) += g(i, l) * w[k];
      grad_w[k] += g(i, l) * x(i, l + k);
    }
}
OPWRIGHT("total(x: f32[N, C]) -> (y: f32[C]) independent N, C")
void total(Tensor<const float, 2> x, Tensor<float, 1> y) {
  for (int64_t c = 0; c < y.size(0); ++c) {
    double sum = 0;
    ROWS sum += x(i, c);
    y[c] = float(sum);
  }
}
OPWRIGHT("matmul(a: f64[M, K], b: f64[K, N]) -> (c: f64[M, N]) independent M, N, K")
void matmul(Tensor<const double, 2> a, Tensor<const double, 2> b, Tensor<double, 2> c) {
  gemm(false, false, c.size(0), c.size(1), a.size(1), 1.0, a.data(), a.size(1), b.data(), b.size(1), 0.0, c.data(),
       c.size(1));
}
OPWRIGHT("take(x: f64[M, C], at: i64[N] in [0, M)) -> (y: f64[N, C]) independent N, C")
void take(Tensor<const double, 2> x, Tensor<const int64_t, 1> at, Tensor<double, 2> y) {
  for (int64_t n = 0; n < at.size(0); ++n)
    for (int64_t c = 0; c < x.size(1); ++c) y(n, c) = x(at[n], c);
}
OPWRIGHT("recurrent(x: f64[B, N], start: f64[B]?) -> (y: f64[B, N], steps: int) independent B")
void recurrent(Tensor<const double, 2> x, Tensor<const double, 1> start, Tensor<double, 2> y, int64_t &steps) {
  steps = x.numel();
  ROWS {
    double state = start ? start[i] : 0;
    for (int64_t n = 0; n < x.size(1); ++n) y(i, n) = state = 0.9 * state + x(i, n);
  }
}
OPWRIGHT("add_to(x: f64[N, C]!, y: f64[C]) independent N, C")
void add_to(Tensor<double, 2> x, Tensor<const double, 1> y) {
  ROWS for (int64_t c = 0; c < y.size(0); ++c) x(i, c) += y[c];
}
OPWRIGHT("largest(x: f64[N, C]) -> (y: f64[N], at: i64[N]) independent N")
void largest(Tensor<const double, 2> x, Tensor<double, 1> y, Tensor<int64_t, 1> at) {
  OPWRIGHT_CHECK(x.size(1) > 0, "there is no largest");
  ROWS {
    at[i] = 0;
    for (int64_t c = 1; c < x.size(1); ++c) at[i] = x(i, c) > x(i, at[i]) ? c : at[i];
    y[i] = x(i, at[i]);
  }
}
OPWRIGHT("norms(x: T[..., G, D]) -> (y: T[..., G]; square: T[..., G]) where T in (f64) independent G")
template <class T>
void norms(Tensor<const T> x, Tensor<T> y, Tensor<T> square) {
  const int64_t d = x.size(x.ndim() - 1);
  for (int64_t i = 0; i < y.numel(); ++i) {
    T sum = 0;
    for (int64_t j = 0; j < d; ++j) sum += x.flat(i * d + j) * x.flat(i * d + j);
    y.flat(i) = sqrt(sum);
    if (square) square.flat(i) = sum;
  }
}
OPWRIGHT("norms_backward(grad_y: T[..., G], x: T[..., G, D], square: T[..., G]) -> (grad_x: T[..., G, D])"
         " independent G")
template <class T>
void norms_backward(Tensor<const T> g, Tensor<const T> x, Tensor<const T> square, Tensor<T> grad_x) {
  const int64_t d = x.size(x.ndim() - 1);
  for (int64_t i = 0; i < x.numel(); ++i) grad_x.flat(i) = g.flat(i / d) * x.flat(i) / sqrt(square.flat(i / d));
}
OPWRIGHT("groups(x: T[G, D], w: T[G]) -> (y: T[D]) where T in (f64) batched independent G derived")
template <class T>
void groups(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  for (int64_t d = 0; d < y.size(0); ++d) {
    y[d] = 0;
    ROWS y[d] += x(i, d) * w[i];
  }
}
OPWRIGHT("either(x: f64[N], all: bool) -> (y: f64[N], sign: bool[N]? if all) independent N")
void either(Tensor<const double, 1> x, bool all, Tensor<double, 1> y, Tensor<bool, 1> sign) {
  ROWS y[i] = abs(x[i]);
  if (sign) ROWS sign[i] = x[i] < 0;
}
"""

UNSAID = """
#include <opwright.h>
OPWRIGHT("unsaid(x: f64[N, M], w: f64[M]) -> (y: f64[N])")
void unsaid(Tensor<const double, 2> x, Tensor<const double, 1> w, Tensor<double, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) {
    double sum = 1;
    for (int64_t j = 0; j < w.size(0); ++j) sum *= x(i, j) + w[j];
    y[i] = sum;
  }
}
OPWRIGHT("sorted(x: f64[N]) -> (y: f64[N])")
void sorted(Tensor<const double, 1> x, Tensor<double, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) {
    int64_t at = 0;
    for (int64_t j = 0; j < y.size(0); ++j) at += x[j] < x[i] || (x[j] == x[i] && j < i);
    y[at] = x[i];
  }
}
OPWRIGHT("element(x: T) -> (y: T) where T in (f64)")
template <class T> T element(T x) { return 2 * x; }
"""

SAYS = {
    "minus_mean": "minus_mean is called independent along N, but y is ",
    "by_largest": "by_largest is called independent along N, but y is ",
    "mean": "mean is called independent along N, but y, the sum over the slices, is ",
    "at_position": "at_position is called independent along N, but y is ",
    "running": "running is called independent along N, but y is ",
    "everywhere_the_sum": "everywhere_the_sum is called independent along N, but y is ",
    "pairs": "pairs is called independent along N, but y is ",
    "with_bias": "with_bias is called independent along N, but y, the sum over the slices, is ",
    "clipped_where_any_is_nan": "clipped_where_any_is_nan is called independent along N, but y is ",
    "scaled": "scaled_backward is called independent along N, but grad_w, the sum over the slices, is ",
}


def checked(folder: Path, name: str, text: str) -> Report:
    file = folder / f"{name}.cpp"
    file.write_text(text)
    return opwright.check(str(file), only=("independence",), level="quick")


def test_ten_false_promises_are_found_and_named(tmp_path: Path) -> None:
    report = checked(tmp_path, "promises_broken", FALSE)
    assert {outcome.operator for outcome in report} == SAYS.keys()
    for outcome in report:
        (finding,) = outcome.findings
        assert finding.kind == "not-independent"
        assert finding.message.startswith(SAYS[outcome.operator]), finding.message
        assert finding.message.endswith("\n  likely fix: leave N out of `independent`")
        assert f"ops.{outcome.operator}(" in finding.reproducer


def test_ten_true_ones_pass(tmp_path: Path) -> None:
    report = checked(tmp_path, "promises_kept", TRUE)
    assert len(report.operators) == 10
    assert not report.findings, report.to_text()
    assert [outcome.status for outcome in report] == ["passed"] * 10, report.to_text(verbose=True)
    assert all(outcome.calls >= 6 for outcome in report)


CANCELLED = """
#include <opwright.h>
OPWRIGHT("cancelled(x: f64[N, M]) -> (y: f64[N]) independent N")
void cancelled(Tensor<const double, 2> x, Tensor<double, 1> y) {
  const int64_t m = x.size(1);
  for (int64_t i = 0; i < x.size(0); ++i) {
    double up = 0, down = 0;
    for (int64_t j = 0; j < m; ++j) up += sin(x(i, j)), down += sin(x(i, m - 1 - j));
    y[i] = x.size(0) % 2 ? up - down : down - up;
  }
}
"""


def test_sums_that_cancel_may_be_rounded_in_any_order(tmp_path: Path) -> None:
    report = checked(tmp_path, "promises_cancelled", CANCELLED)
    assert report.ok, str(report)


def test_axes_that_look_independent_are_proposed(tmp_path: Path) -> None:
    unsaid, sorted_, element = checked(tmp_path, "promises_unsaid", UNSAID)
    assert unsaid.detail == (
        "it looks independent: unsaid along N; if it is meant to be, write `independent N` behind unsaid"
    )
    assert sorted_.detail.endswith("calls in parts: no axis looks independent")
    assert element.status == "skipped"
    assert element.detail == "a pointwise operator is independent along every axis, without a word"


REFUSES = """
#include <opwright.h>
OPWRIGHT("of_ascending(x: f64[N, C], at: i64[2] in [0, 10)) -> (y: f64[N, C])")
void of_ascending(Tensor<const double, 2> x, Tensor<const int64_t, 1> at, Tensor<double, 2> y) {
  OPWRIGHT_CHECK(at[0] <= at[1], "at must ascend");
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = (x(i, j) - x(0, j)) * (1 + at[1] - at[0]);
}
"""


def test_axes_are_proposed_though_the_kernel_refuses_some_calls(tmp_path: Path) -> None:
    (outcome,) = checked(tmp_path, "promises_unsaid_and_refused", REFUSES)
    assert "it looks independent: of_ascending along C; if it is meant to be, write `independent C`" in outcome.detail


def test_what_opwright_did_not_build_is_checked_by_the_signature_that_is_given() -> None:
    report = opwright.check(
        lambda x: x - x.mean(), signature="f(x: f64[N]) -> (y: f64[N]) independent N", only=("independence",)
    )
    assert report.kinds == {"not-independent"}
    report = opwright.check(
        lambda x: x * 2, signature="f(x: f64[N]) -> (y: f64[N]) independent N", only=("independence",), level="quick"
    )
    assert report.ok


def test_what_has_no_such_axis_is_skipped(tmp_path: Path) -> None:
    text = """
    #include <opwright.h>
    OPWRIGHT("f(x: f64[2*N]) -> (y: f64[2*N])")
    void f(Tensor<const double, 1> x, Tensor<double, 1> y) { for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i]; }
    """
    (outcome,) = checked(tmp_path, "promises_impossible", text)
    assert (outcome.status, outcome.detail) == ("skipped", "it has no axis that could be independent")
