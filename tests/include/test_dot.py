"""dot, axpy and axpby of plain numbers, against PyTorch's in float64."""

from __future__ import annotations

import pytest
import torch

import opwright
from opwright import CompileError, KernelError, Operators

SOURCE = """
#include <opwright.h>

OPWRIGHT("sums(x: T[N], y: T[N], step: int in [1, 4]) -> (s: acc(T)[3])")
template <class T>
void sums(Tensor<const T, 1> x, Tensor<const T, 1> y, int64_t step, Tensor<acc<T>, 1> s, int64_t N) {
  const int64_t n = N / step;
  s[0] = dot(x, y), s[1] = dot(n, x.data(), step, y.data(), 1);
  s[2] = n > 0 ? dot(n, x.data(), 0, &y[n - 1], -1) : acc<T>(0);
}
OPWRIGHT("updates(x: T[N], y: T[N], a: float, b: float, step: int in [1, 4]) -> (z: T[3, N], wide: acc(T)[N])")
template <class T>
void updates(Tensor<const T, 1> x, Tensor<const T, 1> y, double a, double b, int64_t step, Tensor<T, 2> z,
             Tensor<acc<T>, 1> wide, int64_t N) {
  for (int64_t k = 0; k < N; ++k) z(0, k) = z(1, k) = z(2, k) = y[k], wide[k] = acc<T>(y[k]);
  const int64_t n = N / step;
  axpy(N, a, x.data(), 1, z[0].data(), 1);
  axpby(n, a, x.data(), 1, b, z[1].data(), step);
  axpby(N, a, z[2].data(), 1, b, z[2].data(), 1); // x is y
  axpy(N, a, x.data(), 1, wide.data(), 1);        // of halves, to float
}
OPWRIGHT("blocks(x: T[A, B, C], y: T[A, B, C]) -> (s: acc(T)[2])")
template <class T>
void blocks(Strided<const T, 3> x, Tensor<const T, 3> y, Tensor<acc<T>, 1> s) {
  s[0] = dot(x, y), s[1] = x.size(0) > 0 ? dot(y[0], x[0]) : acc<T>(0);
}
OPWRIGHT("unequal(x: T[N], y: T[M], z: T[N]?) -> (s: acc(T)[1])")
template <class T>
void unequal(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<const T, 1> z, Tensor<acc<T>, 1> s) {
  s[0] = dot(x, x.size(0) == y.size(0) ? z : y);
}
OPWRIGHT("updates_of_views(x: T[A, C], y: T[A, C], a: float, b: float) -> (z: T[2, A, C], wide: acc(T)[A, C])")
template <class T>
void updates_of_views(Strided<const T, 2> x, Tensor<const T, 2> y, double a, double b, Tensor<T, 3> z,
                      Tensor<acc<T>, 2> wide) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    for (int64_t k = 0; k < x.size(1); ++k) z(0, i, k) = z(1, i, k) = y(i, k), wide(i, k) = acc<T>(y(i, k));
    axpy(a, x[i], z[0][i]), axpby(a, x[i], b, z[1][i]), axpy(a, x[i], wide[i]);
  }
}
OPWRIGHT("unequal_updates(x: T[N]?, y: T[M], z: T[M]!)")
template <class T>
void unequal_updates(Tensor<const T, 1> x, Tensor<const T, 1> y, Tensor<T, 1> z) {
  axpy(2, y, z), axpy(1, x, z);
}
// An author's own functions of these names are the better match.
template <class T>
T dot(Tensor<const T, 1> x, Tensor<const T, 1> y) {
  return x[0] + y[0];
}
template <class T>
void axpby(T a, Tensor<const T, 1>, T b, Tensor<T, 1> y) {
  y[0] += a + b;
}
template <class T>
void axpy(int64_t, double a, const T *, int64_t, T *y, int64_t) {
  y[0] = T(a);
}
OPWRIGHT("own(x: f32[N]) -> (s: f32[2])")
void own(Tensor<const float, 1> x, Tensor<float, 1> s) {
  s[0] = dot(x, x);
  axpy(1, 7.0, x.data(), 1, &s[1], 1);
  axpby(1.0f, x, 2.0f, s);
}
"""
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load_inline("dots_of_vectors", cpp=SOURCE)


def assert_close(found: torch.Tensor, expected: torch.Tensor, length: int) -> None:
    eps = torch.finfo(found.dtype).eps
    torch.testing.assert_close(found.double(), expected, rtol=8 * eps, atol=2 * eps * (length + 2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [0, 1, 7, 64, 1001])
@pytest.mark.parametrize("step", [1, 3])
def test_sums_and_updates(ops: Operators, dtype: torch.dtype, length: int, step: int) -> None:
    torch.manual_seed(0)
    x, y = (torch.randn(length).to(dtype) for _ in range(2))
    wide_x, wide_y, n = x.double(), y.double(), length // step
    sums = ops.sums(x, y, step)
    assert sums.dtype == (torch.float32 if dtype.itemsize == 2 else dtype)
    first = wide_x[0] * wide_y[:n].sum() if n else torch.tensor(0.0).double()
    expected = [wide_x @ wide_y, wide_x[: n * step : step] @ wide_y[:n], first]
    assert_close(sums, torch.stack(expected), length)
    z, wide = ops.updates(x, y, 0.5, -2.0, step)
    every = wide_y.clone()
    every[: n * step : step] = 0.5 * wide_x[:n] - 2 * every[: n * step : step]
    assert_close(z, torch.stack([0.5 * wide_x + wide_y, every, -1.5 * wide_y]), 8)
    assert_close(wide, 0.5 * wide_x + wide_y, 8)


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 40), (1, 1, 1), (2, 0, 3), (0, 2, 2)])
def test_views_of_several_axes(ops: Operators, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    y = torch.randn(shape)
    for x in (torch.randn(shape), torch.randn(shape[::-1]).permute(2, 1, 0)):
        products = x.double() * y.double()
        assert_close(ops.blocks(x, y), torch.stack([products.sum(), products[:1].sum()]), x.numel())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 40), (2, 1), (2, 0), (0, 3)])
def test_updates_of_views(ops: Operators, dtype: torch.dtype, shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    y = torch.randn(shape).to(dtype)
    for x in (torch.randn(shape).to(dtype), torch.randn(shape[::-1]).to(dtype).mT):
        z, wide = ops.updates_of_views(x, y, 0.5, -2.0)
        sums = 0.5 * x.double() + y.double()
        assert_close(z, torch.stack([sums, 0.5 * x.double() - 2 * y.double()]), 8)
        assert_close(wide, sums, 8)


def test_updates_of_views_of_different_sizes(ops: Operators) -> None:
    z = torch.ones(4)
    with pytest.raises(KernelError, match="axpby takes views of the same size, but x has 3 elements and y has 4"):
        ops.unequal_updates(torch.ones(3), torch.ones(4), z)
    with pytest.raises(KernelError, match=r"(?s)axpby of a view of what isn't there.*likely fix: test it before"):
        ops.unequal_updates(None, torch.ones(4), z)


def test_views_of_different_sizes(ops: Operators) -> None:
    x = torch.ones(3)
    text = "takes views of the same sizes, but along axis 0 x has 3 elements and y has 4"
    with pytest.raises(KernelError, match=text):
        ops.unequal(x, torch.ones(4))
    with pytest.raises(KernelError, match=r"(?s)a view of what isn't there.*likely fix: test it before"):
        ops.unequal(x, x)


def test_an_authors_own_function(ops: Operators) -> None:
    assert ops.own(torch.tensor([2.0])).tolist() == [4.0 + 3.0, 7.0]


@pytest.mark.parametrize(
    ("call", "text"), [("s[0] = dot(x, y)", "takes two views of one rank"), ("axpy(1, x, s)", "of rank 1")]
)
def test_views_of_different_ranks(call: str, text: str) -> None:
    source = f"""
    OPWRIGHT("f(x: f32[N, M], y: f32[M]) -> (s: f32[1])")
    void f(Tensor<const float, 2> x, Tensor<const float, 1> y, Tensor<float, 1> s) {{ {call}; }}"""
    with pytest.raises(CompileError, match=text):
        opwright.load_inline(f"dots_of_ranks_{call[0]}", cpp=source).f(torch.ones(2, 3), torch.ones(3))


@pytest.mark.parametrize(
    ("call", "types"),
    [("s[0] = dot(x, y)", types) for types in ("f64 f32", "f32 f64", "f64 i64", "i32 i32", "bf16 f64")]
    + [("axpy(1, 2, x.data(), 1, y.data(), 1)", types) for types in ("f64 f32", "i32 f64")],
)
def test_vectors_that_are_not_computed_in_one_floating_type(call: str, types: str) -> None:
    x, y = types.split()
    kinds = {
        "f32": ("float", torch.float32), "f64": ("double", torch.float64), "bf16": ("bfloat16", torch.bfloat16),
        "i32": ("int32_t", torch.int32), "i64": ("int64_t", torch.int64),
    }  # fmt: skip
    source = f"""
    OPWRIGHT("f(x: {x}[N], y: {y}[N]!) -> (s: f64[1])")
    void f(Tensor<const {kinds[x][0]}, 1> x, Tensor<{kinds[y][0]}, 1> y, Tensor<double, 1> s) {{ {call}; }}"""
    ops = opwright.load_inline(f"dots_of_types_{call[0]}_{x}_{y}", cpp=source)
    arguments = (torch.ones(3, dtype=kinds[name][1]) for name in (x, y))
    with pytest.raises(CompileError, match=r"is computed in acc<T>, one floating type .*: copy the vector of"):
        ops.f(*arguments)
