"""The loop over the leading axes of `batched` operators against brute force."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright import Operators
from tests.include.loops import check, load

_MORE = """#include <opwright.h>
OPWRIGHT("strict(x: f32[C]) -> (y: f32[C]) batched")
void strict(Tensor<const float, 1> x, Tensor<float, 1> y) {
  OPWRIGHT_CHECK(x[0] >= 0, "got ", x[0]);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i];
}
OPWRIGHT("unit(x: T[C]) -> (y: T[C]; norm: T[]) batched where T in (f64)")
template <class T> void unit(Strided<const T, 1> x, Tensor<T, 1> y, Tensor<T, 0> norm) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] * x[i];
  sum = sqrt(sum);
  if (norm) norm() = sum;
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] / sum;
}
OPWRIGHT("unit_backward(grad_y: T[C], y: T[C], norm: T[]) -> (grad_x: T[C]) batched")
template <class T>
void unit_backward(Tensor<const T, 1> grad_y, Strided<const T, 1> y, Tensor<const T, 0> norm, Tensor<T, 1> grad_x) {
  T along = 0;
  for (int64_t i = 0; i < y.size(0); ++i) along += grad_y[i] * y[i];
  for (int64_t i = 0; i < y.size(0); ++i) grad_x[i] = (grad_y[i] - along * y[i]) / norm();
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    return load("batched", Path(tmp_path_factory.mktemp("loops")))


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Operators:
    path = tmp_path_factory.mktemp("more") / "more_batched.cpp"
    path.write_text(_MORE)
    return opwright.load(path)


@pytest.mark.slow
def test_calls_at_random(ops: Operators) -> None:
    check("batched", ops, seed=0, count=100)


@pytest.mark.exhaustive
def test_many_calls_at_random(ops: Operators) -> None:
    check("batched", ops, seed=1, count=5000)


def test_more_places_than_one_thread_takes(ops: Operators) -> None:
    x = torch.randint(-9, 9, (500, 1, 5), dtype=torch.int32)
    y = torch.randint(-9, 9, (300, 5))
    assert torch.equal(ops.dot(x, y), (x * y).sum(-1))
    z, s = ops.outer(x[..., :2].to(torch.int8), y.to(torch.int16), None, torch.zeros(300, dtype=torch.int64))
    assert torch.equal(z, x[..., :2, None] * y[:, None] + 5)
    assert torch.equal(s, y.sum(-1)[:, None].expand(500, 300, 2).to(torch.int16))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 40_000, 79_999])
def test_a_failure_at_one_place_is_reported(more: Operators, place: int) -> None:
    x = torch.ones(80_000, 3)
    x[place, 0] = -place - 1
    with pytest.raises(opwright.OpwrightError, match=rf"strict\(\): got -{float(place + 1):g}"):
        more.strict(x)
    assert torch.equal(more.strict(x.abs()), 2 * x.abs())


def test_no_place_is_no_failure(more: Operators) -> None:
    assert more.strict(torch.ones(0, 3)).shape == (0, 3)
    assert more.strict(torch.ones(4, 0, 3)).shape == (4, 0, 3)


@pytest.mark.slow
def test_residuals_at_each_place(more: Operators) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 5, 4, generator=generator, dtype=torch.float64).transpose(0, 2).requires_grad_()
    y = more.unit(x)
    expected = x / x.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(y, expected)
    incoming = torch.randn(4, 1, 3, generator=generator, dtype=torch.float64).expand(4, 5, 3)
    torch.testing.assert_close(torch.autograd.grad(y, x, incoming), torch.autograd.grad(expected, x, incoming))
    torch.testing.assert_close(more.unit(x.detach()), expected.detach())
