"""Pointwise operators that are written in odd ways: names, types and numbers of parameters, and what a build holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import opwright
from opwright import Operators
from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.toolchain import Options

Write = Callable[..., Path]
_MANY = [f"v{i}" for i in range(30)]
_RESULTS = [f"r{i}" for i in range(30)]
_NAMES = ["i", "n", "p", "c", "x", "a", "t0", "x_y", "call"]
_SOURCE = f"""
#include <math.h>
OPWRIGHT("named({", ".join(f"{name}: T" for name in _NAMES)}) -> (z: T) where T in (f64)")
template <class T>
T named({", ".join(f"T {name}" for name in _NAMES)}) {{ return {" + ".join(f"{n} * {n} * a" for n in _NAMES)}; }}

OPWRIGHT("has(x: T, has_x: M, w: T?, has_w: i64, index: i64, i: int) -> (y_x: T, x_x: T) where T in (f64), M in (bool)")
template <class T, class M>
void has(T x, M has_x, Optional<T> w, int64_t has_w, int64_t index, int i, T &y_x, T &x_x) {{
  y_x = has_x ? x * has_w : x;
  x_x = w ? *w * x * i : x * index;
}}

OPWRIGHT("aged(cell: T!, old_cell: T) where T in (f64)")
template <class T>
void aged(T &cell, T old_cell) {{ cell = cell * cell + old_cell; }}

OPWRIGHT("c(p: T, q: T) -> (c: T) where T in (f64)")
template <class T>
T c(T p, T q) {{ return p * q; }}

namespace {{
template <class U>
U twice(const U &x) {{ return x + x; }}
struct Scale {{ double by; }};
}}  // namespace
OPWRIGHT("helped(x: T, by: float) -> (y: T) where T in (f64)")
template <class T>
static inline T helped(const T x, const double by) {{
  const Scale scale{{by}};
  const auto square = [](const auto &z) {{ return z * z; }};
  return square(twice(x)) * scale.by;
}}

namespace outer {{
template <class T>
T half_of(T x) {{ return x * 0.5; }}
namespace inner {{
OPWRIGHT("spaced(x: T) -> (y: T) where T in (f64)")
template <class T>
T spaced(T x) {{ return half_of(x) * x; }}
}}
}}
namespace {{
OPWRIGHT("unnamed(x: T) -> (y: T) where T in (f64)")
template <typename Number>
inline Number unnamed(Number x) {{ return sin(x); }}
}}

OPWRIGHT("loops(x: T, n: i64) -> (y: T) where T in (f64)")
template <class T>
T loops(T x, int64_t n) {{
  T power = 1, sum = 0;
  for (int64_t k = 0; k < n; ++k) {{
    power *= x;
    if (power > 2) break;
    sum += power / (k + 1);
  }}
  return sum;
}}

OPWRIGHT("wide({", ".join(f"{v}: T" for v in _MANY)}) -> (sum: T) where T in (f64)")
template <class T>
T wide({", ".join(f"T {v}" for v in _MANY)}) {{
  return {" + ".join(f"{v} * {_MANY[(i + 1) % 30]}" for i, v in enumerate(_MANY))};
}}

OPWRIGHT("tall(x: T) -> ({", ".join(f"{r}: T" for r in _RESULTS)}) where T in (f64)")
template <class T>
void tall(T x, {", ".join(f"T &{r}" for r in _RESULTS)}) {{
  {" ".join(f"{r} = sin(x * {i});" for i, r in enumerate(_RESULTS))}
}}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("odd") / "odd.cpp"
    path.write_text(f"#include <opwright.h>\n{_SOURCE}")
    return opwright.load(path)


def leaf(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def derivatives(results: tuple[Tensor, ...] | Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """First and second derivatives, none where there are none."""
    results = results if isinstance(results, tuple) else (results,)
    total = sum(((k + 1) * (r * r).sum() for k, r in enumerate(results)), torch.zeros((), dtype=torch.float64))
    first = torch.autograd.grad(total, leaves, create_graph=True, materialize_grads=True)
    squares = torch.stack([(g * g).sum() for g in first]).sum()
    second = torch.autograd.grad(squares, leaves, materialize_grads=True)
    return [*first, *second]


def same(op: Callable[..., object], reference: Callable[..., object], inputs: list[Tensor]) -> None:
    """Values, first and second derivatives agree with PyTorch's."""
    got, expected = op(*inputs), reference(*inputs)
    torch.testing.assert_close(got, expected)
    torch.testing.assert_close(derivatives(got, inputs), derivatives(expected, inputs))  # type: ignore[arg-type]


@pytest.mark.slow
def test_parameters_may_have_the_names_of_generated_code(ops: Operators) -> None:
    inputs = [leaf(3, seed=k) for k in range(len(_NAMES))]
    same(ops.named, lambda *v: sum(x * x for x in v) * v[_NAMES.index("a")], inputs)


@pytest.mark.slow
def test_names_that_tell_of_optional_arguments(ops: Operators) -> None:
    x, w, on = leaf(4), leaf(4, seed=1), torch.tensor([True, False, True, False])
    k, index = torch.arange(4), torch.arange(4) - 2
    same(lambda x, w: ops.has(x, on, w, k, index, 3), lambda x, w: (torch.where(on, x * k, x), w * x * 3), [x, w])
    same(lambda x: ops.has(x, on, None, k, index, 3), lambda x: (torch.where(on, x * k, x), x * index), [x])


def test_an_input_named_as_an_old_value(ops: Operators) -> None:
    cell, changed = leaf(3), leaf(3).clone()
    ops.aged(changed, torch.ones((), dtype=torch.float64))
    assert torch.equal(changed, cell * cell + 1)
    why = "not derived: old_cell is what the overwritten value of cell would be called; rename that parameter"
    with pytest.raises(opwright.UnsupportedError, match=why):
        changed.sum().backward()


def test_an_operator_named_as_its_result(ops: Operators) -> None:
    same(ops.c, torch.mul, [leaf(3), leaf(2, 3, seed=1)])


@pytest.mark.slow
def test_functions_of_the_authors_own(ops: Operators) -> None:
    x = leaf(5)
    same(lambda x: ops.helped(x, 0.5), lambda x: 2 * x * x, [x])
    assert torch.equal(torch.autograd.grad(ops.spaced(x).sum(), x)[0], x)
    torch.testing.assert_close(torch.autograd.grad(ops.unnamed(x).sum(), x)[0], torch.cos(x))


def test_a_loop_that_each_element_leaves_by_itself(ops: Operators) -> None:
    n = torch.tensor([0, 1, 2, 5, 9])
    x = torch.tensor([0.5, 1.5, -1.7, 0.9, 1.3], dtype=torch.float64, requires_grad=True)

    def reference(x: Tensor) -> Tensor:
        rows = []
        for value, count in zip(x, n.tolist(), strict=True):
            power, total = torch.ones_like(value), torch.zeros_like(value)
            for k in range(count):
                power = power * value
                if power > 2:
                    break
                total = total + power / (k + 1)
            rows.append(total)
        return torch.stack(rows)

    same(lambda x: ops.loops(x, n), reference, [x])


@pytest.mark.slow
def test_thirty_inputs_and_thirty_results(ops: Operators) -> None:
    inputs = [leaf(2, seed=k) for k in range(30)]
    value = ops.wide(*inputs)
    torch.testing.assert_close(value, sum(a * b for a, b in zip(inputs, inputs[1:] + inputs[:1], strict=True)))
    found = torch.autograd.grad(value.sum(), inputs, create_graph=True)
    torch.testing.assert_close(found[3], inputs[2] + inputs[4])
    with pytest.raises(
        opwright.UnsupportedError, match="not derived: wide_backward_backward would have 92 tensors; at most 64"
    ):
        found[3].sum().backward()
    x = leaf(4)
    results = ops.tall(x)
    torch.testing.assert_close(results, tuple(torch.sin(x * i) for i in range(30)))
    torch.testing.assert_close(torch.autograd.grad(results[7].sum(), x)[0], 7 * torch.cos(7 * x))


_TYPED = """
OPWRIGHT("scaled(x: T, y: U, factor: float) -> (z: T, w: acc(T)) where U in (f32, f64)")
template <class A, class B>
void scaled(A x, B y, float factor, A &z, acc<A> &w) {
  static_assert(sizeof(A) >= 4, "halves are computed as float");
  w = x * x * factor;
  z = x / 3 + x * x * x;
  if (y > 1) z = z * x;
}
OPWRIGHT("pair(x: T, y: U) -> (z: U) where T in (f32), U in (f64)")
template <class T, class U> U pair(T x, U y) { return x * y * y; }
OPWRIGHT("counted(x: T, y: U, n: i32) -> (z: T, m: i32) where T in (i32, f64), U in (f64, i16)")
template <class T, class U>
void counted(T x, U y, int n, T &z, int32_t &m) {
  z = x * x + n;
  m = n + (y > 0 ? 1 : 0);
  if (y > 0) z = z + z;
}
OPWRIGHT("shifted(x: T, by: int, on: bool) -> (y: T) where T in (i64, bool, u8, f32)")
template <class T> T shifted(T x, int32_t by, bool on) { return on ? T(x + by) : x; }
"""


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("typed") / "typed.cpp"
    path.write_text(f"#include <opwright.h>\n{_TYPED}")
    return opwright.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_computed_as_float_and_rounded_once(typed: Operators, dtype: torch.dtype) -> None:
    short = leaf(1000).detach().to(dtype).requires_grad_()
    x = short.detach().float().requires_grad_()
    y, zero = leaf(1000, seed=1).detach().float(), torch.zeros(1000)
    z, w = typed.scaled(short, y, 0.7)
    assert (z.dtype, w.dtype) == (dtype, torch.float32)
    grad_z = leaf(1000, seed=2).detach().to(dtype)
    expected, square = typed.scaled(x, y, 0.7)
    assert torch.equal(z, expected.to(dtype))
    assert torch.equal(w, square)
    (found,) = torch.autograd.grad((z, w), short, (grad_z, zero))
    (wanted,) = torch.autograd.grad((expected, square), x, (grad_z.float(), zero))
    assert found.dtype is dtype
    assert torch.equal(found, wanted.to(dtype))
    slope = (1 / 3 + 3 * x**2) + (y > 1) * (x / 3 + x**3 + x * (1 / 3 + 3 * x**2) - (1 / 3 + 3 * x**2))
    torch.testing.assert_close(wanted, (grad_z.float() * slope).detach())


def test_a_float_beside_a_double(typed: Operators) -> None:
    x, y = leaf(5).detach().float().requires_grad_(), leaf(5, seed=1)
    z = typed.pair(x, y)
    torch.testing.assert_close(z, x * y * y)
    assert z.dtype is torch.float64
    found = torch.autograd.grad(z.sum(), (x, y), create_graph=True)
    assert [g.dtype for g in found] == [torch.float32, torch.float64]
    torch.testing.assert_close(found, ((y * y).float(), 2 * x.double() * y))
    second = torch.autograd.grad(found[1].sum() + found[0].sum(), (x, y))
    torch.testing.assert_close(second, ((2 * y).float(), 2 * x.double() + 2 * y))


@pytest.mark.slow
def test_whole_numbers_have_no_derivatives(typed: Operators) -> None:
    n, ones = torch.arange(4, dtype=torch.int32), torch.ones(4, dtype=torch.float64)
    z, m = typed.counted(n, ones, n)
    assert z.tolist() == [0, 4, 12, 24]
    assert m.tolist() == [1, 2, 3, 4]
    assert not z.requires_grad
    x, sign = leaf(4), torch.tensor([1, -1, 0, 2], dtype=torch.int16)
    z, m = typed.counted(x, sign, n)
    assert not m.requires_grad
    factor = torch.tensor([2, 1, 1, 2])
    torch.testing.assert_close(z, (x * x + n) * factor)
    (slope,) = torch.autograd.grad(z.sum(), x)
    torch.testing.assert_close(slope, 2 * x * factor)
    y = leaf(4).requires_grad_()
    z, _ = typed.counted(n, y, n)
    assert not z.requires_grad
    z, _ = typed.counted(x, y, n)
    (by_x, by_y) = torch.autograd.grad(z.sum(), (x, y))
    torch.testing.assert_close(by_x, 2 * x * (1 + (y > 0)))
    assert not by_y.any()


@pytest.mark.slow
def test_scalars_that_do_not_fit(typed: Operators) -> None:
    x = torch.arange(3)
    assert typed.shifted(x, -2, True).tolist() == [-2, -1, 0]
    assert typed.shifted(x, 5, False).tolist() == [0, 1, 2]
    assert typed.shifted(x.to(torch.uint8), 255, True).tolist() == [255, 0, 1]
    assert typed.shifted(x > 0, 0, True).tolist() == [False, True, True]
    with pytest.raises(opwright.OpwrightError, match="by is 2147483648, which doesn't fit the kernel's parameter of 4"):
        typed.shifted(x, 2**31, True)
    with pytest.raises(opwright.OpwrightError, match=r"factor is 1.*e.300, which doesn't fit the kernel's parameter"):
        typed.scaled(torch.ones(2), torch.ones(2), 1e300)


def test_only_wanted_gradients_are_computed(write: Write) -> None:
    text = """
OPWRIGHT("f(x: T, y: T, z: T) -> (w: T) where T in (f64)")
template <class T> T f(T x, T y, T z) { return x * y + z; }
"""
    source = KernelSource(write(text, "wanted.cpp"), Options())
    for wanted, partials in ((0b001, 1), (0b101, 2), (0b111, 3)):
        made = source.derived_unit("f_backward", {"T": DType.F64}, wanted).text
        assert f"T=f64,wanted={wanted:x}" in made
        assert made.count("static_cast<double>(out[") == partials
        assert f"Vjp<opwright_body_0, {wanted:#x}ull>" in made
