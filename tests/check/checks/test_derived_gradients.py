"""Handwritten backwards that numerical differences can't tell from right ones, against the derived gradient."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.check import Report, check

BEGIN = "#include <opwright.h>\n"
NORM = """
OPWRIGHT("norm(x: T[B, N]) -> (y: T[B, N]; scale: T[B]) where T in (f32, f64)")
template <class T>
void norm(Tensor<const T, 2> x, Tensor<T, 2> y, Tensor<T, 1> scale) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T sum = 0;
    for (int64_t i = 0; i < x.size(1); ++i) sum += x(b, i) * x(b, i);
    scale[b] = rsqrt(sum / T(x.size(1)) + T(1e-5));
    for (int64_t i = 0; i < x.size(1); ++i) y(b, i) = x(b, i) * scale[b];
  }
}
OPWRIGHT("norm_backward(grad_y: T[B, N], x: T[B, N], scale: T[B]) -> (grad_x: T[B, N])")
template <class T>
void norm_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> scale, Tensor<T, 2> grad_x) {
  for (int64_t b = 0; b < x.size(0); ++b) {
    T dot = 0;
    for (int64_t i = 0; i < x.size(1); ++i) dot += grad_y(b, i) * x(b, i);
    const T s = scale[b];
    for (int64_t i = 0; i < x.size(1); ++i)
      grad_x(b, i) = s * (grad_y(b, i) - x(b, i) * (SQUARE) * dot / T(x.size(1))) FAULT;
  }
}
"""
RIGHT = NORM.replace("FAULT", "").replace("SQUARE", "s * s")
PRODUCT = """
OPWRIGHT("product(a: T[M, K], b: T[K, N]) -> (y: T[M, N]) where T in (f32, f64)")
template <class T>
void product(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> y) {
  opwright::gemm(false, false, a.size(0), b.size(1), a.size(1), -1.0, a.data(), a.size(1), b.data(), b.size(1), 0.0,
                 y.data(), b.size(1));
}
OPWRIGHT("product_backward(grad_y: T[M, N], a: T[M, K], b: T[K, N]) -> (grad_a: T[M, K], grad_b: T[K, N])")
template <class T>
void product_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> grad_a,
                      Tensor<T, 2> grad_b) {
  const int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  if (grad_a) opwright::gemm(false, true, M, K, N, -1.0, grad_y.data(), N, b.data(), N, 0.0, grad_a.data(), K);
  if (grad_b) opwright::gemm(true, false, K, N, M, FACTOR, a.data(), K, grad_y.data(), N, 0.0, grad_b.data(), N);
}
"""
POINTWISE = """
OPWRIGHT("bent(x: T, w: T) -> (y: T)")
template <class T> T bent(T x, T w) { return w * x * x; }
OPWRIGHT("bent_backward(grad_y: T, x: T, w: T) -> (grad_x: T, grad_w: T)")
template <class T>
void bent_backward(T grad_y, T x, T w, T &grad_x, T &grad_w) {
  grad_x = grad_y * w * x * T(FACTOR), grad_w = grad_y * x * x;
}
"""
WRONG = {
    "in the tenth digit": (NORM.replace("FAULT", "* T(1 + 1e-10)").replace("SQUARE", "s * s"), "grad_x"),
    "by a term": (NORM.replace("FAULT", "+ T(1e-9) * x(b, i)").replace("SQUARE", "s * s"), "grad_x"),
    "from a size on": (
        NORM.replace("FAULT", "* T(x.size(1) > 30 ? 0.5 : 1)").replace("SQUARE", "s * s"), "(ratio 0.5)"
    ),
    "of a product": (PRODUCT.replace("FACTOR", "-1.00000000001"), "grad_b"),
    "pointwise": (POINTWISE.replace("FACTOR", "2.0000000001"), "grad_x"),
}  # fmt: skip


def judged(folder: Path, name: str, text: str, **options: object) -> Report:
    path = folder / f"oracle_{name.replace(' ', '_')}.cpp"
    path.write_text(BEGIN + text)
    return check(path, only=("derived gradients",), level="quick", **options)  # type: ignore[arg-type]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_small_error_is_found(name: str, tmp_path: Path) -> None:
    text, told = WRONG[name]
    (finding,) = judged(tmp_path, name, text).findings
    assert finding.kind == "wrong-gradient"
    assert told in finding.message
    assert ", the gradient derived from the forward " in finding.message


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("norm", RIGHT),
        ("another order of operations", NORM.replace("FAULT", "").replace("SQUARE", "1 / (1 / (s * s))")),
        ("product", PRODUCT.replace("FACTOR", "-1.0")),
        ("pointwise", POINTWISE.replace("FACTOR", "2")),
    ],
)
def test_a_right_backward_passes(name: str, text: str, tmp_path: Path) -> None:
    report = judged(tmp_path, f"right {name}", text)
    assert report.ok, report
    (outcome,) = report.outcomes
    assert outcome.status == "passed"
    assert " elements against the derived gradient" in outcome.detail


CLIPPED = """
OPWRIGHT("clipped(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void clipped(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = max(x[i], T(0)) * T(2) + abs(x[i]);
}
OPWRIGHT("clipped_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void clipped_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) grad_x[i] = grad_y[i] * (x[i] >= 0 ? T(3) : T(-1));
}
"""


@pytest.mark.slow
def test_at_a_kink_either_side_is_right(tmp_path: Path) -> None:
    examples = [(_tensor([0.0, 1.0, -1.0, 0.0]),), (_tensor([0.0, 0.0]),)]
    report = judged(tmp_path, "kink", CLIPPED, examples=examples)
    assert report.ok, report


def _tensor(values: list[float]) -> object:
    import torch

    return torch.tensor(values, dtype=torch.float64)


CANCELLED = """
OPWRIGHT("spread(x: T[N]) -> (y: T[]) where T in (f32, f64)")
template <class T>
void spread(Tensor<const T, 1> x, Tensor<T, 0> y) {
  T sum = 0, squares = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] + T(1e3), squares += (x[i] + T(1e3)) * (x[i] + T(1e3));
  y() = exp((squares - sum * sum / T(x.size(0) + 1e-300)) / T(x.size(0) + 1));
}
OPWRIGHT("spread_backward(grad_y: T[], x: T[N]) -> (grad_x: T[N])")
template <class T>
void spread_backward(Tensor<const T, 0> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  const T n = T(x.size(0)), mean_of = n + T(1e-300);
  T mean = 0, sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) mean += x[i] / mean_of;
  for (int64_t i = 0; i < x.size(0); ++i) sum += (x[i] - mean) * (x[i] - mean);
  for (int64_t i = 0; i < x.size(0); ++i)
    grad_x[i] = grad_y() * exp(sum / (n + T(1))) * T(2) * (x[i] - mean) / (n + T(1));
}
"""


@pytest.mark.slow
def test_what_the_forward_itself_has_lost_is_no_finding(tmp_path: Path) -> None:
    assert judged(tmp_path, "cancelled", CANCELLED).ok


NARROW = """
OPWRIGHT("narrow(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void narrow(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    OPWRIGHT_CHECK(x[i] <= 1, "x is larger than 1");
    y[i] = x[i] * x[i];
  }
}
OPWRIGHT("narrow_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void narrow_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    CHECK;
    grad_x[i] = grad_y[i] * x[i] * (WRONG ? T(2.5) : T(2));
  }
}
"""


@pytest.mark.slow
def test_a_wrong_gradient_beside_calls_that_the_forward_refuses(tmp_path: Path) -> None:
    """The numerical difference would take one of them."""
    text = NARROW.replace("CHECK;", "").replace("WRONG", "x[i] > T(1 - 1e-6)")
    (finding,) = judged(tmp_path, "refused beside", text, examples=[(_tensor([1 - 4e-7]),)]).findings
    assert finding.kind == "wrong-gradient"
    assert "(ratio 1.25)" in finding.message


@pytest.mark.slow
def test_empty_calls_are_compared_as_well(tmp_path: Path) -> None:
    """A CUDA kernel whose grid is empty can't be launched."""
    text = RIGHT.replace("T dot = 0;", 'T dot = 0; OPWRIGHT_CHECK(x.size(1) > 0, "an empty grid");')
    (finding,) = judged(tmp_path, "empty", text).findings
    assert finding.kind == "backward-raises"
    assert "an empty grid" in finding.message


@pytest.mark.slow
def test_a_backward_that_raises_beside_a_wrong_gradient(tmp_path: Path) -> None:
    raises = 'OPWRIGHT_CHECK(x[i] == 0.5 || abs(x[i] - T(0.5)) > 1e-6, "too near to a half");'
    text = NARROW.replace("CHECK;", raises).replace("WRONG", "x[i] == 0.5")
    (finding,) = judged(tmp_path, "raises beside", text, examples=[(_tensor([0.5]),)]).findings
    assert finding.kind == "backward-raises"
    assert "too near to a half" in finding.message


UNSET = """
#include <stdlib.h>
OPWRIGHT("unset(x: T[N]) -> (y: T[N]) where T in (f64)")
template <class T>
void unset(Tensor<const T, 1> x, Tensor<T, 1> y) {
  T *const w = static_cast<T *>(malloc(sizeof(T)));
  __builtin_memset(static_cast<void *>(w), 0x3f, sizeof(T));  // what malloc may give
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = *w * x[i];
  free(w);
}
OPWRIGHT("unset_backward(grad_y: T[N]) -> (grad_x: T[N]) where T in (f64)")
template <class T>
void unset_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = grad_y[i];
}
"""


@pytest.mark.slow
def test_a_forward_that_reads_what_was_never_set_is_told(tmp_path: Path) -> None:
    (finding,) = judged(tmp_path, "unset", UNSET).findings
    assert finding.kind == "uninitialised"
    assert "the kernel computes with a number that was never set" in finding.message


SKIPPED = {
    "derived itself": (
        RIGHT.partition('OPWRIGHT("norm_backward')[0].replace("(f32, f64)", "(f32, f64) derived"),
        "the gradient is derived itself",
    ),
    "no template": (
        """
OPWRIGHT("half(x: f64[N]) -> (y: f64[N])")
void half(Tensor<const double, 1> x, Tensor<double, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] / 2;
}
OPWRIGHT("half_backward(grad_y: f64[N]) -> (grad_x: f64[N])")
void half_backward(Tensor<const double, 1> grad_y, Tensor<double, 1> grad_x) {
  for (int64_t i = 0; i < grad_y.size(0); ++i) grad_x[i] = grad_y[i] / 2;
}
""",
        "its gradient can't be derived: ",
    ),
    "lost": (RIGHT.replace("T sum = 0", "double sum = 0"), "the forward doesn't compile with derived gradients: "),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SKIPPED)
def test_where_there_is_nothing_to_compare_with_the_reason_is_told(name: str, tmp_path: Path) -> None:
    text, reason = SKIPPED[name]
    (outcome,) = judged(tmp_path, f"skipped {name}", text).outcomes
    assert outcome.status == "skipped"
    assert outcome.detail.startswith(reason)


@pytest.mark.slow
def test_a_straight_through_gradient_is_not_compared(tmp_path: Path) -> None:
    text = POINTWISE.replace("FACTOR", "3")
    assert not judged(tmp_path, "estimate", text).ok
    assert judged(tmp_path, "estimate", text, straight_through=("x",)).ok
