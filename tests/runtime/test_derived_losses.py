"""Where a number would leave T, and its derivative be lost in silence, kernels don't compile: at the author's line."""

from __future__ import annotations

import re

import pytest
import torch

import opwright
from opwright.errors import CompileError, KernelError

HEAD = """#include <opwright.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <numeric>
#include <sstream>
#include <vector>
static float twice(float x) { return 2 * x; }
static float global = 0;
template <class T> struct Kept { float value; };
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32) derived")
template <class T>
void f(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < y.size(0); ++i) y[i] = 0;
"""
LOST = 16
"""The line of the kernel that is lost."""

LOSSES = {
    "a sum in double": ("double s = 0; s += x[0]; y[0] = T(s);", "declare the sum as acc<T>"),
    "a difference in float": ("float s = 0; s -= x[0]; y[0] = T(s);", "declare the sum as acc<T>"),
    "an initialiser": ("float s = x[0]; y[0] = T(s);", "declare it as T or auto"),
    "an assignment": ("double s; s = x[0] * 2; y[0] = T(s);", "declare it as T or auto"),
    "braces": ("float s{x[0]}; y[0] = T(s);", "would lose the derivative"),
    "a cast": ("y[0] = T(float(x[0]));", "write T(x) for the number itself"),
    "a static cast": ("y[0] = T(static_cast<double>(x[0]));", "write T(x) for the number itself"),
    "a cast as in C": ("y[0] = T((float)x[0]);", "write T(x) for the number itself"),
    "a cast to half": ("y[0] = T(float(half(x[0])));", ""),
    "std::exp": ("y[0] = std::exp(x[0]);", "write exp(...) without std::"),
    "std::pow": ("y[0] = std::pow(x[0], 2.0f);", "write pow(...) without std::"),
    "std::abs": ("y[0] = std::abs(x[0]);", ""),
    "std::fma": ("y[0] = std::fma(x[0], x[0], x[0]);", "write fma(...) without std::"),
    "std::hypot": ("y[0] = std::hypot(x[0], x[0]);", "write hypot(...) without std::"),
    "C's expf": ("y[0] = expf(x[0]);", "make it a template"),
    "a builtin": ("y[0] = __builtin_sqrtf(x[0]);", "make it a template"),
    "a helper": ("y[0] = twice(x[0]);", "make it a template: template <class T> T twice(T x)"),
    "an array": ("float a[2] = {x[0], x[0]}; y[0] = T(a[0]);", "declare it as T or auto"),
    "a vector": ("std::vector<float> v(x.data(), x.data() + 1); y[0] = T(v[0]);", "write T(x) for the number itself"),
    "std::copy": ("float v[1]; std::copy(x.data(), x.data() + 1, v); y[0] = T(v[0]);", ""),
    "std::accumulate": ("y[0] = T(std::accumulate(x.data(), x.data() + 1, 0.0));", ""),
    "a global": ("global = x[0]; y[0] = T(global);", "declare it as T or auto"),
    "a member": ("Kept<T> kept{x[0]}; y[0] = T(kept.value);", "declare it as T or auto"),
    "a pointer": ("const float *p = x.data(); y[0] = T(p[0]);", "declare it as T or auto"),
    "a pointer cast": ("y[0] = T(*static_cast<const float *>(x.data()));", ""),
    "a lambda": ("auto g = [](float v) { return v * v; }; y[0] = T(g(x[0]));", ""),
    "a workspace": ("Workspace<float> w(1); w[0] = x[0]; y[0] = T(w[0]);", "declare it as T or auto"),
    "a reference": ("const float &v = x[0]; y[0] = T(v);", ""),
    "a stream": ("std::cout << x[0]; y[0] = x[0];", "write its value, value_of(x)"),
    "a stream and back": ("std::stringstream s; s << x[0]; s >> y[0];", "write its value, value_of(x)"),
    "memcpy": ("float v[1]; memcpy(v, x.data(), 4); y[0] = T(v[0]);", "copy element by element"),
    "std::memcpy": ("float v[1] = {1}; std::memcpy(y.data(), v, 4);", "copy element by element"),
    "memmove to void": ("void *v = y.data(); memmove(v, x.data(), 4);", "copy element by element"),
}


# One with each fix is slow, the others, which the compiler comes to in other ways, are exhaustive.
FIRST = {fix: loss for loss, (_, fix) in reversed(LOSSES.items())}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "loss",
    [
        pytest.param(loss, marks=pytest.mark.slow if FIRST[fix] == loss else pytest.mark.exhaustive)
        for loss, (_, fix) in LOSSES.items()
    ],
)
def test_is_an_error_at_the_line(loss: str) -> None:
    body, fix = LOSSES[loss]
    name = f"derived_loss_{list(LOSSES).index(loss)}"
    op = opwright.load_inline(name, cpp=f"{HEAD}  {body}\n}}\n").f
    y = op(torch.ones(2, requires_grad=True))  # on plain numbers it compiles
    with pytest.raises(CompileError) as raised:
        y.sum().backward()
    text = str(raised.value)
    assert re.match(rf"\S*{name}\.cpp:{LOST + 1}:", text)
    assert fix in text


KEPT = {
    "std::max and min": "y[0] = std::max(x[0], std::min(x[1], T(3)));",
    "limits": "T m = -std::numeric_limits<T>::infinity(); for (int i = 0; i < 2; ++i) m = max(m, x[i]); y[0] = m;",
    "copies of T": "std::memcpy(y.data(), x.data(), 2 * sizeof(T)); y[1] = y[1] * x[0];",
    "zeroed bytes": "std::memset(y.data(), 0, 2 * sizeof(T)); y[0] += x[0] * x[1];",
    "std::accumulate": "y[0] = std::accumulate(x.data(), x.data() + 2, T(0)) * x[0];",
    "std::vector and sort": "std::vector<T> v{x[0], x[1]}; std::sort(v.begin(), v.end()); y[0] = v[1] * v[0];",
    "phases": (
        "Workspace<T> w(2); parallel_for(2, 1, [&](int64_t i) { w[i] = x[i] * x[i]; }); "
        "parallel_for(2, 1, [&](int64_t i) { w[i] *= w[i] + x[1 - i]; }); y[0] = w[0] * w[1];"
    ),
    "nested loops": (
        "parallel_for(2, 1, [&](int64_t i) { T s = 0; parallel_for(2, 1, [&](int64_t j) { s += x[i] * x[j] * x[j]; }); "
        "y[i] = s * x[1 - i]; });"
    ),
    "no parallel loop": "for (int64_t i = 0; i < 2; ++i) y[i] = x[i] * x[1 - i] * x[i];",
    "whole numbers": "y[0] = x[int(x[0]) % 2] * double(int64_t(x[1]));",
}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("kept", KEPT)
def test_what_is_kept(kept: str) -> None:
    """What looks dangerous and isn't has the right gradient."""
    name = f"derived_kept_{list(KEPT).index(kept)}"
    text = HEAD.replace("where T in (f32)", "where T in (f64)").replace("float", "double")
    op = opwright.load_inline(name, cpp=f"{text}  {KEPT[kept]}\n}}\n").f
    x = torch.tensor([1.3, 2.4], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(op, (x,))


LANES = """
template <class T> T larger(T a, T b) noexcept { return a > b ? a : b; }
template <class T> struct Last { T &at, value; ~Last() { if (value > T(0.5)) at = at * value; } };
template <class T> T squared(T x) {
  if constexpr (!std::is_floating_point_v<T> || !std::is_same<T, double>::value) return T(1);
  else return std::is_same_v<double, T> ? x * x : x;
}
OPWRIGHT("rows(x: T[N]) -> (y: T[N]) where T in (f64) batched derived")
template <class T>
void rows(Tensor<const T, 1> x, Tensor<T, 1> y) {
  y[0] = larger(x[0], x[1]) * squared(x[0]);
  try {
    if (x[0] > x[1]) y[1] = x[0] * 3;
    else y[1] = x[1] * x[1];
  } catch (...) {
    y[1] = 0;
  }
  const Last<T> last{y[1], x[0]};
}
OPWRIGHT("sums(x: T[N], at: i64[N] in [0, M), m: i64[M]) -> (y: T[M]) where T in (f64) derived")
template <class T>
void sums(Tensor<const T, 1> x, Tensor<const int64_t, 1> at, Tensor<const int64_t, 1> m, Tensor<T, 1> y) {
  for (int64_t k = 0; k < m.size(0); ++k) y[k] = 0;
  parallel_for(x.size(0), 1, [&](int64_t i) { atomic_add(y[at[i]], x[i] * x[i]), atomic_add(&y[0], x[i]); });
}
"""


@pytest.mark.slow
def test_rows_that_disagree_where_nothing_may_be_thrown() -> None:
    """In functions that are noexcept, in destructors, and where the kernel catches all; and choices by type."""
    text = HEAD.partition("OPWRIGHT")[0] + "#include <type_traits>\n" + LANES
    x = torch.rand(17, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(opwright.load_inline("derived_lanes", cpp=text).rows, (x,))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own
@pytest.mark.exhaustive
def test_atomic_additions() -> None:
    op = opwright.load_inline(
        "derived_lanes", cpp=HEAD.partition("OPWRIGHT")[0] + "#include <type_traits>\n" + LANES
    ).sums
    x, at, m = torch.rand(9, dtype=torch.float64, requires_grad=True), torch.arange(9) * 2 % 5, torch.zeros(5).long()
    call = lambda x: op(x, at, m)  # noqa: E731
    assert torch.autograd.gradcheck(call, (x,), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, (x,))


def test_a_number_that_was_never_set() -> None:
    """It would write anywhere on the tape: an error of the call."""
    ops = opwright.load_inline(
        "derived_unset",
        cpp="""
        #include <stdlib.h>
        OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f64) derived")
        template <class T>
        void f(Tensor<const T, 1> x, Tensor<T, 1> y) {
          T *const w = static_cast<T *>(malloc(sizeof(T)));
          __builtin_memset(static_cast<void *>(w), 0x7f, sizeof(T));
          y[0] = *w * x[0];
          free(w);
        }""",
    )
    with pytest.raises(KernelError, match="computes with a number that was never set"):
        ops.f(torch.ones(1, dtype=torch.float64, requires_grad=True)).sum().backward()


THREADS = """
#include <thread>
template <class F> void in_thread(const F &body) { std::thread([&] { body(); }).join(); }
OPWRIGHT("whole(x: T[N]) -> (y: T[N]) where T in (f64) derived")
template <class T> void whole(Tensor<const T, 1> x, Tensor<T, 1> y) {
  T sum = 0;
  in_thread([&] { for (int64_t i = 0; i < x.size(0); ++i) sum += dot(x, x) * x[i]; });
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = sum * x[i];
}
OPWRIGHT("rows(x: T[N]) -> (y: T[N]) where T in (f64) batched derived")
template <class T> void rows(Tensor<const T, 1> x, Tensor<T, 1> y) { whole<T>(x, y); }
OPWRIGHT("product(x: T[N]) -> (y: T[N]) where T in (f64) derived")
template <class T> void product(Tensor<const T, 1> x, Tensor<T, 1> y) {
  in_thread([&] { gemm<T>(false, false, 1, 1, x.size(0), 1, x.data(), x.size(0), x.data(), 1, 0, y.data(), 1); });
  for (int64_t i = 1; i < x.size(0); ++i) y[i] = y[0];
}
OPWRIGHT("idle(x: T[N]) -> (y: T[N]) where T in (f64) derived")
template <class T> void idle(Tensor<const T, 1> x, Tensor<T, 1> y) {
  in_thread([] {});
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * x[i];
}
OPWRIGHT("kinked(x: T[N]) -> (y: T[N]) where T in (f64) batched derived")
template <class T> void kinked(Tensor<const T, 1> x, Tensor<T, 1> y) {
  in_thread([&] { for (int64_t i = 0; i < x.size(0); ++i) if (x[i] > 0) y[i] = x[i]; else y[i] = 0; });
}
OPWRIGHT("products(x: T[N]) -> (y: T[N]) where T in (f64) batched derived")
template <class T> void products(Tensor<const T, 1> x, Tensor<T, 1> y) { product<T>(x, y); }
"""


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own
@pytest.mark.slow
def test_threads_of_the_kernel_have_no_tape() -> None:
    """What they compute is an error of the call, once the kernel has returned; forward mode needs no tape.

    What they only compare and copy isn't lost, also where several rows are taped at once.
    """
    ops = opwright.load_inline("derived_threads", cpp=THREADS)
    x = torch.rand(17, 5, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        for op, given in ((ops.whole, x[0]), (ops.rows, x), (ops.product, x[0])):
            with pytest.raises(KernelError, match=r"on threads of its own.*\n.*: parallel_for in the place of"):
                op(given).sum().backward()
        torch.testing.assert_close(torch.autograd.grad(ops.idle(x[0]).sum(), x)[0][0], 2 * x[0])
    found = torch.func.jvp(ops.whole, (x[0].detach(),), (torch.ones(5, dtype=torch.float64),))[1]
    expected = torch.func.jvp(lambda v: v * v.sum() * (v @ v), (x[0].detach(),), (torch.ones(5, dtype=torch.float64),))
    torch.testing.assert_close(found, expected[1])
    signs = torch.randn(24, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(ops.kinked(signs).sum(), signs)[0], (signs > 0).double())
    long = torch.rand(24, 1024, dtype=torch.float64, requires_grad=True)  # whose products aren't computed in lanes
    with pytest.raises(KernelError, match="on threads of its own"):
        ops.products(long).sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize("word", ["", "batched ", "independent B "])
def test_a_message_has_the_value(word: str) -> None:
    """OPWRIGHT_CHECK takes numbers of the tape, of which lanes have one in each row; a failing row is told alone."""
    name = f"derived_told_{word[:5].strip()}"
    axes = "T[N]" if word == "batched " else "T[B, N]"
    rank = axes.count(",") + 1
    op = opwright.load_inline(
        name,
        cpp=f"""
        OPWRIGHT("f(x: {axes}) -> (y: {axes}) where T in (f32) {word}derived")
        template <class T>
        void f(Tensor<const T, {rank}> x, Tensor<T, {rank}> y) {{
          for (int64_t i = 0; i < x.numel(); ++i) {{
            OPWRIGHT_CHECK(x.flat(i) < 5, "x is ", x.flat(i), ", twice that ", acc<T>(2 * x.flat(i)));
            y.flat(i) = x.flat(i) * x.flat(i);
          }}
        }}""",
    ).f
    x = torch.rand(40, 3, requires_grad=True)
    torch.testing.assert_close(torch.autograd.grad(op(x).sum(), x)[0], 2 * x)
    for row in (0, 19, 39):
        values = torch.rand(40, 3, requires_grad=True)
        y = op(values)
        values.data[row, 1] = 7.25
        with pytest.raises(KernelError, match=r"f_backward\(\): x is 7.25, twice that 14.5 \["):
            y.sum().backward()


def test_a_parallel_loop_in_serial_steps_takes_linear_memory() -> None:
    """A tape of 1 MiB holds 1,000 steps; were each step to hold those before it, not even a tenth of them."""
    ops = opwright.load_inline(
        "derived_steps",
        cpp="""
        OPWRIGHT("f(x: T[N], steps: int) -> (y: T[N]) where T in (f64) derived")
        template <class T>
        void f(Tensor<const T, 1> x, int64_t steps, Tensor<T, 1> y) {
          for (int64_t i = 0; i < x.size(0); ++i) y[i] = 1;
          for (int64_t n = 0; n < steps; ++n)
            parallel_for(x.size(0), 1, [&](int64_t i) { y[i] = y[i] * x[i]; });
        }""",
        extra_cflags=["-DOPWRIGHT_TAPE_MIB=1"],
    )
    x = torch.linspace(0.99, 1.01, 8, dtype=torch.float64, requires_grad=True)
    for steps in (500, 1000):
        (found,) = torch.autograd.grad(ops.f(x, steps).sum(), x)
        torch.testing.assert_close(found, steps * x.detach() ** (steps - 1))
    with pytest.raises(KernelError, match="the tape is larger than 1 MiB"):
        ops.f(x, 10_000).sum().backward()


def test_a_tape_has_a_bound() -> None:
    ops = opwright.load_inline(
        "derived_bound",
        cpp="""
        OPWRIGHT("f(x: T[N], steps: int) -> (y: T[N]) where T in (f64) derived")
        template <class T>
        void f(Tensor<const T, 1> x, int64_t steps, Tensor<T, 1> y) {
          T s = 0;
          for (int64_t n = 0; n < steps; ++n) s = s * x[0] + x[0];
          y[0] = s;
        }""",
        extra_cflags=["-DOPWRIGHT_TAPE_MIB=2"],
    )
    x = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    ops.f(x, 100).sum().backward()
    with pytest.raises(KernelError) as raised:
        ops.f(x, 1_000_000).sum().backward()
    text = str(raised.value)
    assert "the tape is larger than 2 MiB: each operation of the kernel is kept until the gradients are known" in text
    assert "likely fix: `batched` or `independent N` in the signature, where rows or slices are independent" in text
    assert "-DOPWRIGHT_TAPE_MIB=8" in text
