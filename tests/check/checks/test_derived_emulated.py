"""Handwritten backwards of CUDA kernels against the gradient that is derived from the emulated forward."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import opwright
from opwright.check import Report, check
from opwright.check.report import Outcome

HEAD = "#include <opwright.h>\n"
ROW_SUM = """
template <class T> __device__ T over_block(T x) {
  __shared__ T part[2];
  for (int other = 16; other > 0; other /= 2) x += __shfl_xor_sync(~0u, x, other);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
  __syncthreads();
  x = part[0] + part[1];
  __syncthreads();
  return x;
}
template <class T> __global__ void norm_kernel(int64_t N, const T *x, T *y, T *scale) {
  x += blockIdx.x * N, y += blockIdx.x * N;
  T sum = 0;
  for (int64_t i = threadIdx.x; i < N; i += 64) sum += x[i] * x[i];
  const T s = rsqrt(over_block(sum) / T(N) + T(1e-5));
  for (int64_t i = threadIdx.x; i < N; i += 64) y[i] = x[i] * s;
  if (threadIdx.x == 0 && scale) scale[blockIdx.x] = s;
}
template <class T>
__global__ void norm_backward_kernel(int64_t N, const T *grad_y, const T *x, const T *scale, T *grad_x, T factor) {
  grad_y += blockIdx.x * N, x += blockIdx.x * N, grad_x += blockIdx.x * N;
  const T s = scale[blockIdx.x];
  T sum = 0;
  for (int64_t i = threadIdx.x; i < N; i += 64) sum += grad_y[i] * x[i];
  sum = over_block(sum) * s * s / T(N) * factor;
  for (int64_t i = threadIdx.x; i < N; i += 64) grad_x[i] = s * (grad_y[i] - x[i] * sum);
}
"""
NORM = """
OPWRIGHT("NAME(x: T[B, N]) -> (y: T[B, N]; scale: T[B]) where T in (f32, f64)")
template <class T>
void NAME(Tensor<const T, 2> x, Tensor<T, 2> y, Tensor<T, 1> scale, cudaStream_t stream) {
  if (x.numel()) norm_kernel<<<x.size(0), 64, 0, stream>>>(x.size(1), x.data(), y.data(), scale.data());
}
OPWRIGHT("NAME_backward(grad_y: T[B, N], x: T[B, N], scale: T[B]) -> (grad_x: T[B, N])")
template <class T>
void NAME_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<const T, 1> scale, Tensor<T, 2> grad_x,
                   cudaStream_t stream) {
  if (x.numel())
    norm_backward_kernel<<<x.size(0), 64, 0, stream>>>(x.size(1), grad_y.data(), x.data(), scale.data(), grad_x.data(),
                                                       T(FACTOR));
}
"""
EACH = """
OPWRIGHT("NAME(x: T[N], gain: f32[N]) -> (y: T[N]) where T in (f64) launch over N, threads 64 SHARED")
template <class T>
__global__ void NAME(Tensor<const T, 1> x, Tensor<const float, 1> gain, Tensor<T, 1> y) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) { FORWARD }
}
OPWRIGHT("NAME_backward(grad_y: T[N], x: T[N], gain: f32[N]) -> (grad_x: T[N]) where T in (f64) "
         "launch over N, threads 64")
template <class T>
__global__ void NAME_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const float, 1> gain,
                              Tensor<T, 1> grad_x) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) grad_x[i] = grad_y[i] * T(gain[i]) * T(FACTOR);
}
"""


def each(name: str, forward: str, factor: str = "1", shared: str = "") -> str:
    text = EACH.replace("NAME", name).replace("FORWARD", forward)
    return text.replace("FACTOR", factor).replace("SHARED", f", shared {shared}" * bool(shared))


def judged(folder: Path, name: str, text: str) -> Mapping[str, Outcome]:
    path = folder / f"emulated_oracle_{name}.cu"
    path.write_text(HEAD + text)
    report: Report = check(path, only=("derived gradients",), level="quick", device="emulated")
    return {outcome.operator: outcome for outcome in report.outcomes}


@pytest.mark.slow
def test_a_wrong_factor_is_found_and_a_right_backward_passes(tmp_path: Path) -> None:
    norms = [NORM.replace("NAME", name).replace("FACTOR", f) for name, f in [("norm", "1"), ("off", "1.0000000001")]]
    scaled = each("scaled", "y[i] = x[i] * gain[i];", "0.5")
    broken = each("broken", "y[i] = x[i];").replace("if (i < x.size(0)) grad_x", "OPWRIGHT_CHECK(false, 7); grad_x")
    found = judged(tmp_path, "factors", ROW_SUM + "".join(norms) + scaled + broken)
    assert found["norm"].status == "passed"
    assert " elements against the derived gradient" in found["norm"].detail
    (finding,) = found["off"].findings
    assert finding.kind == "wrong-gradient"
    assert finding.message.startswith("grad_x[")
    assert ", the gradient derived from the forward " in finding.message
    assert "(ratio 0.5)" in found["scaled"].findings[0].message  # gain is a constant, as the backward has it
    (finding,) = found["broken"].findings
    assert finding.kind == "backward-raises"
    assert finding.message.startswith("the backward raises KernelError: broken_backward(): 7")


PACKED = """
template <class T>
__global__ void packed_kernel(PackedTensorAccessor32<const T, 2> x, PackedTensorAccessor32<T, 2> y) {
  for (int n = threadIdx.x; n < y.size(0); n += 64)
    for (int c = 0; c < y.size(1); ++c) y[n][c] = x[n][c] * x(n, c);
}
template <class T>
__global__ void packed_backward_kernel(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<T, 2> grad_x) {
  for (int n = threadIdx.x; n < x.size(0); n += 64)
    for (int c = 0; c < x.size(1); ++c) grad_x(n, c) = 2 * x(n, c) * grad_y(n, c);
}
OPWRIGHT("packed(x: T[N, C]) -> (y: T[N, C]) where T in (f64)")
template <class T>
void packed(Tensor<const T, 2> x, Tensor<T, 2> y, cudaStream_t stream) {
  packed_kernel<T><<<1, 64, 0, stream>>>(x.template packed_accessor32<const T, 2>(),
                                         y.template packed_accessor32<T, 2>());
}
OPWRIGHT("packed_backward(grad_y: T[N, C], x: T[N, C]) -> (grad_x: T[N, C])")
template <class T>
void packed_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> x, Tensor<T, 2> grad_x, cudaStream_t stream) {
  packed_backward_kernel<T><<<1, 64, 0, stream>>>(grad_y, x, grad_x);
}
"""


@pytest.mark.slow
def test_packed_accessors_of_sparse_inputs_read_all_elements(tmp_path: Path) -> None:
    path = tmp_path / "emulated_oracle_packed.cu"
    path.write_text(HEAD + PACKED)
    ops = opwright.load(path, backend="emulate", extra_cflags=["-DOPWRIGHT_SPARSE_FROM=0"])
    (outcome,) = check(ops.packed, only=("derived gradients",), level="quick").outcomes
    assert outcome.status == "passed", outcome.detail


SKIPPED = {
    "adds_in_float": ("float s = x[i]; y[i] = T(s) * gain[i];", "a plain number would lose the derivative"),
    "fast": ("y[i] = __logf(exp(x[i])) * gain[i];", "`float __logf(float)` doesn't take T"),
    "by_address": (
        "y[i] = T(reinterpret_cast<const double *>(x.data())[i]) * gain[i];",
        "numerical differences bear the handwritten gradient out, not the derived one",
    ),
    "through_floats": (
        "extern __shared__ float kept[]; kept[threadIdx.x] = x[i]; y[i] = T(kept[threadIdx.x]) * gain[i];",
        "a plain number would lose the derivative",
    ),
}
PLAIN = """
OPWRIGHT("plain(x: f64[N]) -> (y: f64[N]) launch over N, threads 64")
__global__ void plain(Tensor<const double, 1> x, Tensor<double, 1> y) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < x.size(0)) y[i] = x[i];
}
OPWRIGHT("plain_backward(grad_y: f64[N]) -> (grad_x: f64[N]) launch over N, threads 64")
__global__ void plain_backward(Tensor<const double, 1> grad_y, Tensor<double, 1> grad_x) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < grad_y.size(0)) grad_x[i] = grad_y[i];
}
"""


@pytest.mark.exhaustive
def test_what_has_no_tape_is_skipped_with_the_reason(tmp_path: Path) -> None:
    shared = {"through_floats": "256"}
    text = PLAIN + "".join(each(n, forward, shared=shared.get(n, "")) for n, (forward, _) in SKIPPED.items())
    found = judged(tmp_path, "skipped", text)
    assert {name: outcome.status for name, outcome in found.items()} == dict.fromkeys(("plain", *SKIPPED), "skipped")
    for name, (_, reason) in SKIPPED.items():
        assert reason in found[name].detail, found[name].detail
        compiled = name == "by_address"
        assert found[name].detail.startswith("the forward doesn't compile with derived gradients: ") != compiled
    assert found["plain"].detail == "its gradient can't be derived: it isn't a template over its element type"
