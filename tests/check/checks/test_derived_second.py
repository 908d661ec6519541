"""Handwritten second backwards against the gradient that is derived from the first backward's text."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.check import Report, check
from opwright.check.report import Outcome

HEAD = "#include <opwright.h>\n"
CUBE = """
OPWRIGHT("cube(x: T[N], w: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void cube(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = w[i] * x[i] * x[i] * x[i];
}
OPWRIGHT("cube_backward(grad_y: T[N], x: T[N], w: T[N]) -> (grad_x: T[N], grad_w: T[N])")
template <class T>
void cube_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> grad_x,
                   Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const SUM square = x[i] * x[i];
    if (grad_x) grad_x[i] = 3 * grad_y[i] * w[i] * square;
    if (grad_w) grad_w[i] = grad_y[i] * x[i] * square;
  }
}
OPWRIGHT("cube_backward_backward(grad_grad_x: T[N], grad_grad_w: T[N], grad_y: T[N], x: T[N], w: T[N]) -> "
         "(grad_grad_y: T[N], grad_x: T[N], grad_w: T[N])")
template <class T>
void cube_backward_backward(Tensor<const T, 1> u, Tensor<const T, 1> v, Tensor<const T, 1> grad_y, Tensor<const T, 1> x,
                            Tensor<const T, 1> w, Tensor<T, 1> grad_grad_y, Tensor<T, 1> grad_x, Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const T square = x[i] * x[i];
    if (grad_grad_y) grad_grad_y[i] = 3 * u[i] * w[i] * square + v[i] * x[i] * square;
    if (grad_x) grad_x[i] = grad_y[i] * (T(FACTOR) * u[i] * w[i] * x[i] + 3 * v[i] * square);
    if (grad_w) grad_w[i] = 3 * u[i] * grad_y[i] * square;
  }
}
"""
SAVED = """
OPWRIGHT("power(x: T[N]) -> (y: T[N]; e: T[N]) where T in (f32, f64)")
template <class T>
void power(Tensor<const T, 1> x, Tensor<T, 1> y, Tensor<T, 1> e) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    y[i] = exp(x[i]);
    if (e) e[i] = y[i];
  }
}
OPWRIGHT("power_backward(grad_y: T[N], grad_e: T[N]?, e: T[N]) -> (grad_x: T[N])")
template <class T>
void power_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> grad_e, Tensor<const T, 1> e, Tensor<T, 1> grad_x) {
  for (int64_t i = 0; i < e.numel(); ++i) grad_x[i] = (grad_y[i] + (grad_e ? T(FACTOR) * grad_e[i] : T(0))) * e[i];
}
OPWRIGHT("power_backward_backward(grad_grad_x: T[N], grad_y: T[N], grad_e: T[N]?, e: T[N]) -> "
         "(grad_grad_y: T[N], grad_grad_e: T[N], grad_e: T[N])")
template <class T>
void power_backward_backward(Tensor<const T, 1> u, Tensor<const T, 1> grad_y, Tensor<const T, 1> grad_e,
                             Tensor<const T, 1> e, Tensor<T, 1> grad_grad_y, Tensor<T, 1> grad_grad_e,
                             Tensor<T, 1> of_e) {
  for (int64_t i = 0; i < e.numel(); ++i) {
    if (grad_grad_y) grad_grad_y[i] = u[i] * e[i];
    if (grad_grad_e) grad_grad_e[i] = u[i] * e[i];
    if (of_e) of_e[i] = u[i] * (grad_y[i] + (grad_e ? grad_e[i] : T(0)));
  }
}
"""
CUDA = """
template <class T>
__global__ void bent_kernel(int64_t n, const T *x, T *y) {
  __shared__ T part[64];
  const int64_t i = blockIdx.x * int64_t(64) + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : T(0);
  __syncthreads();
  if (i < n) y[i] = part[threadIdx.x] * part[threadIdx.x];
}
template <class T>
__global__ void bent_backward_kernel(int64_t n, const T *grad_y, const T *x, T *grad_x) {
  const int64_t i = blockIdx.x * int64_t(64) + threadIdx.x;
  if (i < n) grad_x[i] = 2 * grad_y[i] * x[i];
}
template <class T>
__global__ void bent_second_kernel(int64_t n, const T *u, const T *grad_y, const T *x, T *grad_grad_y, T *grad_x) {
  const int64_t i = blockIdx.x * int64_t(64) + threadIdx.x;
  if (i >= n) return;
  if (grad_grad_y) grad_grad_y[i] = T(FACTOR) * u[i] * x[i];
  if (grad_x) grad_x[i] = 2 * u[i] * grad_y[i];
}
OPWRIGHT("bent(x: T[N]) -> (y: T[N]) where T in (f32, f64)")
template <class T>
void bent(Tensor<const T, 1> x, Tensor<T, 1> y, cudaStream_t stream) {
  if (x.numel()) bent_kernel<<<(x.numel() + 63) / 64, 64, 0, stream>>>(x.numel(), x.data(), y.data());
}
OPWRIGHT("bent_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
template <class T>
void bent_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<T, 1> grad_x, cudaStream_t stream) {
  if (x.numel())
    bent_backward_kernel<<<(x.numel() + 63) / 64, 64, 0, stream>>>(x.numel(), grad_y.data(), x.data(), grad_x.data());
}
OPWRIGHT("bent_backward_backward(grad_grad_x: T[N], grad_y: T[N], x: T[N]) -> (grad_grad_y: T[N], grad_x: T[N])")
template <class T>
void bent_backward_backward(Tensor<const T, 1> u, Tensor<const T, 1> grad_y, Tensor<const T, 1> x,
                            Tensor<T, 1> grad_grad_y, Tensor<T, 1> grad_x, cudaStream_t stream) {
  if (x.numel())
    bent_second_kernel<<<(x.numel() + 63) / 64, 64, 0, stream>>>(x.numel(), u.data(), grad_y.data(), x.data(),
                                                                 grad_grad_y.data(), grad_x.data());
}
"""
POINTWISE = """
OPWRIGHT("curve(x: T) -> (y: T)")
template <class T> T curve(T x) { return x * x; }
OPWRIGHT("curve_backward(grad_y: T, x: T) -> (grad_x: T)")
template <class T> T curve_backward(T grad_y, T x) { return 2 * grad_y * x; }
OPWRIGHT("curve_backward_backward(grad_grad_x: T, grad_y: T, x: T) -> (grad_grad_y: T, grad_x: T)")
template <class T>
void curve_backward_backward(T u, T grad_y, T x, T &grad_grad_y, T &grad_x) {
  grad_grad_y = T(FACTOR) * u * x, grad_x = 2 * u * grad_y;
}
"""
CUBE_OF = CUBE.replace("SUM", "T")
CASES = {
    "cube": (CUBE_OF, "6", "6.0000000001", "grad_x"),
    "saved": (SAVED, "1", "1.0000000001", "grad_grad_e"),
    "pointwise": (POINTWISE, "2", "2.0000000001", "grad_grad_y"),
    "cuda": (CUDA, "2", "2.0000000001", "grad_grad_y"),
}
"""A source, the right FACTOR and a wrong one, and the gradient that is wrong with it."""


def judged(folder: Path, name: str, text: str) -> Outcome:
    path = folder / f"second_oracle_{name}.{'cu' if text.startswith(CUDA[:20]) else 'cpp'}"
    path.write_text(HEAD + text)
    device = {"device": "emulated"} if path.suffix == ".cu" else {}
    report: Report = check(path, only=("derived second gradients",), level="quick", **device)  # type: ignore[arg-type]
    (outcome,) = report.outcomes
    return outcome


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ("cube", "cuda") else pytest.mark.exhaustive) for name in CASES]
)
def test_a_small_error_is_found_and_a_right_one_passes(name: str, tmp_path: Path) -> None:
    text, right, wrong, gradient = CASES[name]
    passed = judged(tmp_path, f"{name}_right", text.replace("FACTOR", right))
    assert passed.status == "passed", passed
    assert " elements against the derived gradient" in passed.detail
    (finding,) = judged(tmp_path, f"{name}_wrong", text.replace("FACTOR", wrong)).findings
    assert finding.kind == "wrong-gradient"
    assert f"_backward_backward's {gradient}" in finding.message
    assert ", the gradient derived from the backward " in finding.message


@pytest.mark.slow
def test_what_raises_is_a_finding(tmp_path: Path) -> None:
    begin, _, end = CUBE_OF.replace("FACTOR", "6").rpartition("const T square = x[i] * x[i];")
    text = f"{begin}OPWRIGHT_CHECK(false, 7); const T square = 1;{end}"
    (finding,) = judged(tmp_path, "raises", text).findings
    assert finding.kind == "backward-raises"
    assert finding.message.startswith("the second backward raises KernelError: cube_backward_backward(): 7")


@pytest.mark.slow
def test_what_can_t_be_compared_is_skipped_with_the_reason(tmp_path: Path) -> None:
    first = CUBE_OF.partition('OPWRIGHT("cube_backward_backward')[0]
    assert judged(tmp_path, "none", first).detail == "there is no handwritten second derivative"
    lost = judged(tmp_path, "lost", CUBE.replace("SUM", "double").replace("FACTOR", "6"))
    assert lost.detail.startswith("the backward doesn't compile with derived gradients: ")
    assert "a plain number would lose the derivative" in lost.detail
