"""Groups of axes, and an axis that the caller chooses, in calls and graphs; on both runtimes, against PyTorch's own."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import opwright
from opwright import ArgumentError, Operators

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/group_ops.cpp")


def layouts(x: torch.Tensor) -> Iterator[torch.Tensor]:
    """The same shape: dense, transposed, expanded, with gaps, and unaligned with the start of its memory."""
    yield x
    yield x.expand((2, *x.shape))[1]
    if x.ndim:
        yield x.transpose(0, -1).contiguous().transpose(0, -1)
        yield torch.stack([x, x], -1)[..., 1]
        yield x[:1].expand_as(x)
    if x.ndim > 2:
        yield x.transpose(0, 1).contiguous().transpose(0, 1)


SHAPES = [(), (3,), (1,), (2, 3), (2, 3, 4, 5), (2, 0, 3), (1, 4, 1)]
EVERY = [(shape, dim) for shape in SHAPES for dim in range(-max(len(shape), 1), max(len(shape), 1))]


@pytest.mark.parametrize(("shape", "dim"), EVERY)
def test_values(ops: Operators, shape: tuple[int, ...], dim: int) -> None:
    for x in layouts(torch.randn(shape, dtype=torch.float64)):
        torch.testing.assert_close(ops.softmax(x, dim), x.softmax(dim))
        torch.testing.assert_close(ops.sum(x, dim), x.sum(dim))
        torch.testing.assert_close(ops.sum(x, dim, keepdim=True), x.sum(dim, keepdim=True))


@pytest.mark.parametrize(("shape", "dim"), EVERY)
def test_what_is_overwritten(ops: Operators, shape: tuple[int, ...], dim: int) -> None:
    for x in [torch.randn(shape), *([torch.randn(shape).transpose(0, -1)] if shape else [])]:
        y = x.clone(memory_format=torch.preserve_format)
        ops.reverse_(y, dim)
        torch.testing.assert_close(y, x.flip(dim) if shape else x)
        part = torch.stack([x, x], -1)
        ops.reverse_(part[..., 0], dim)
        torch.testing.assert_close(part[..., 0], y)
        torch.testing.assert_close(part[..., 1], x)


def test_the_last_axis_by_default(ops: Operators) -> None:
    x = torch.randn(2, 3)
    torch.testing.assert_close(ops.softmax(x), x.softmax(-1))
    assert str(ops.softmax._schema).endswith("(Tensor x, int dim=-1) -> Tensor")
    assert inspect.signature(ops.softmax).parameters["dim"].default == -1
    assert "dim: axis(D) = -1; which axis D is, from the last if negative" in (ops.softmax.__doc__ or "")


@pytest.mark.parametrize(
    ("x", "dim", "strides"),
    [
        (torch.zeros(2, 3, 4, 5), 2, (20, 1)),  # outer axes are one, dense
        (torch.zeros(4, 5, 2, 3).permute(2, 3, 0, 1), 2, (1, 6)),  # one stride for each group
        (torch.zeros(3, 2, 4, 5).transpose(0, 1), 2, (20, 1)),  # the outer axes are copied
        (torch.zeros(2, 3, 8, 5)[:, :, ::2], 2, (40, 1)),  # a gap between two others
        (torch.zeros(5).expand(2, 3, 4, 5), 2, (0, 1)),
    ],
)
def test_what_is_merged_and_what_is_copied(ops: Operators, x: torch.Tensor, dim: int, strides: tuple[int, int]) -> None:
    y, z = ops.numbers(x, dim, True)
    assert y.tolist() == [6, 5, dim, 1, *strides]  # the products, the arguments as given, the strides
    assert z.shape == (2, 3, 1, 5)


@pytest.mark.parametrize("shape", [(2, 3, 2), (3,), ()])
def test_gradients(ops: Operators, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    for dim in range(-max(len(shape), 1), max(len(shape), 1)):
        assert gradcheck(lambda x, dim=dim: ops.softmax(x, dim), x)
        assert gradgradcheck(lambda x, dim=dim: ops.softmax(x, dim), x)
        for keepdim in (False, True):
            assert gradcheck(lambda x, dim=dim, keepdim=keepdim: ops.sum(x, dim, keepdim), x)
            assert gradcheck(lambda x, dim=dim, keepdim=keepdim: ops.norm(x, dim, keepdim), x)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_other_arguments_along_the_axis(ops: Operators, dim: int) -> None:
    x, scale = torch.randn(2, 3, 4), torch.randn(5)
    shape = list(x.shape)
    shape[dim] = 5
    at = torch.randint(x.shape[dim], shape)
    expected = x.gather(dim, at)
    torch.testing.assert_close(ops.select(x, at, None, dim), expected)
    along = scale.reshape([-1 if axis == dim % 3 else 1 for axis in range(3)])
    torch.testing.assert_close(ops.select(x, at, scale, dim), expected * along)
    for some in (at.transpose(0, 1).contiguous().transpose(0, 1), at[..., :1].expand_as(at) if dim != -1 else at):
        torch.testing.assert_close(ops.select(x, some, None, dim), x.gather(dim, some))


def test_tensors_without_axes_beside_others(ops: Operators) -> None:
    x, at = torch.tensor(3.0), torch.tensor(0)
    assert ops.select(x, at, None, 0).shape == x.gather(0, at).shape == ()
    assert ops.select(x, at[None], None, -1).shape == x.gather(-1, at[None]).shape == (1,)
    assert ops.select(x[None], at, None, 0).shape == x[None].gather(0, at).shape == ()


@pytest.mark.parametrize(("first", "second"), [((2, 3), (4,)), ((), (2, 2)), ((0, 2), ()), ((5,), (1, 3))])
def test_two_groups(ops: Operators, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    x, y = torch.randn(first), torch.randn(second)
    torch.testing.assert_close(ops.outer(x, y), x.reshape(*first, *[1] * len(second)) * y)


RANGE = "Dimension out of range (expected to be in range of"
BAD: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda ops, x: ops.sum(x, 3), f"sum(): {RANGE} [-3, 2], but got 3): dim is the axis D of x, which has 3 axes"),
    (lambda ops, x: ops.sum(x, -4), f"sum(): {RANGE} [-3, 2], but got -4): dim is the axis D of x, which has 3 axes"),
    (lambda ops, x: ops.sum(x[0, 0, 0], 1), f"sum(): {RANGE} [-1, 0], but got 1): dim is the axis D of x, which has 0"),
    (lambda ops, x: ops.sum(x, 2**62), f"sum(): {RANGE} [-3, 2], but got {2**62})"),
    (lambda ops, x: ops.sum(x, "a"), "sum(): dim is the str 'a', expected an int"),
    (lambda ops, x: ops.sum(x, None), "sum(): dim is None, expected an int"),
    (lambda ops, x: ops.sum(x, 1.5), "sum(): dim is the float 1.5, expected an int"),
    (
        lambda ops, x: ops.select(x, x.long()[:1], None, 1),
        "select(): at has shape (1, 3, 4), expected [*A, E, *B] = (2, ?, 4)\n  bound so far: *A=(2,) (x), D=3 (x), *B=",
    ),
    (lambda ops, x: ops.select(x, x.long()[0], None, 1), "select(): at has shape (3, 4), expected [*A, E, *B] = ("),
    (lambda ops, x: ops.select(x, x.long() + 3, None, 1), "select(): at[0][0][0] is 3, expected an index in [0, D) ="),
    (
        lambda ops, x: ops.sum_backward(x, 1, True, 5, [True]),
        "sum_backward(): grad_y has shape (2, 3, 4), expected [*A, 1 if keepdim, *B] = (2, 1, *B)",
    ),
]


@pytest.mark.parametrize(("call", "text"), BAD)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_refused(ops: Operators, call: Callable[[Any, Any], Any], text: str, device: str) -> None:
    if device == "meta" and "index" in text:
        return
    with pytest.raises(ArgumentError) as caught:
        call(ops, torch.zeros(2, 3, 4, device=device))
    assert str(caught.value).startswith(text)


def test_fake_tensors(ops: Operators) -> None:
    x = torch.zeros(2, 3, 4, device="meta").transpose(0, 1)
    assert ops.softmax(x, 1).stride() == ops.softmax(torch.zeros(2, 3, 4).transpose(0, 1), 1).stride()
    assert ops.sum(x, -2).shape == (3, 4)
    assert ops.sum(x, 0, True).shape == (1, 2, 4)
    assert ops.sum(x[0, 0, 0], 0, True).shape == ()


def test_opcheck(ops: Operators) -> None:
    x = torch.randn(2, 3, requires_grad=True)
    torch.library.opcheck(ops.softmax, (x, 0))
    torch.library.opcheck(ops.sum, (x, -1, True))
    torch.library.opcheck(ops.sum, (x, 0))
    torch.library.opcheck(ops.sum, (x[0, 0].detach().requires_grad_(), 0))
    torch.library.opcheck(ops.reverse_, (x.detach(), 0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ops: Operators, dynamic: bool) -> None:
    def call(x: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
        return torch.as_tensor(ops.sum(ops.softmax(x.sin(), dim) * x, dim, keepdim) * 2)

    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for shape, dim, keepdim in (((2, 3), 0, True), ((4, 5), -1, False), ((3, 4), 1, True), ((2, 3, 4), 1, False)):
        x = torch.randn(shape, requires_grad=True)
        got = compiled(x, dim, keepdim)
        torch.testing.assert_close(got, (x.sin().softmax(dim) * x).sum(dim, keepdim=keepdim) * 2)
        (grad,) = torch.autograd.grad(got.sum(), x)
        (expected,) = torch.autograd.grad(call(x, dim, keepdim).sum(), x)
        torch.testing.assert_close(grad, expected)


def test_exported(ops: Operators) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(ops.sum(ops.softmax(x, 1), -2))

    x = torch.randn(2, 3, 4)
    size = torch.export.Dim("size", max=100)
    program = torch.export.export(Model(), (x,), dynamic_shapes={"x": {1: size}})
    more = torch.randn(2, 5, 4)
    torch.testing.assert_close(program.module()(more), more.softmax(1).sum(-2))


@pytest.mark.parametrize("in_dim", [0, 1, 2])
def test_vmap(ops: Operators, in_dim: int) -> None:
    x = torch.randn(2, 3, 4)
    for dim in (-2, -1, 0, 1):
        got = torch.vmap(lambda x, dim=dim: ops.softmax(x, dim), in_dim)(x)
        torch.testing.assert_close(got, torch.vmap(lambda x, dim=dim: x.softmax(dim), in_dim)(x))
    grads = torch.vmap(torch.func.grad(lambda x: ops.sum(ops.softmax(x, 0)[0], 0)), in_dim)(x)
    torch.testing.assert_close(grads, torch.vmap(torch.func.grad(lambda x: x.softmax(0)[0].sum()), in_dim)(x))


def test_autocast(ops: Operators) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert ops.softmax(torch.randn(2, 3), 0).dtype == torch.float32


CUDA = """
#include <opwright.h>
OPWRIGHT("total(x: T[*A, D, *B], dim: axis(D) = -1, keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B]) "
         "launch over A*B, threads 64")
template <class T>
__global__ void total(Strided<const T, 3> x, Tensor<T, 2> y, int64_t B) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= y.numel()) return;
  T sum = 0;
  for (int64_t d = 0; d < x.size(1); ++d) sum += x(i / B, d, i % B);
  y.flat(i) = sum;
}
OPWRIGHT("scaled(x: f32[*A, D, *B], w: f32[D], dim: axis(D) = -1) -> (y: f32[*A, D, *B]) launch over A*D*B, threads 64")
__global__ void scaled(const float *x, const float *w, float *y, int A, int D, int64_t B) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < A * D * B) y[i] = x[i] * w[i / B % D];
}
"""


def test_emulated_kernels_over_views_and_pointers(tmp_path: Path) -> None:
    (tmp_path / "groups_on_gpu.cu").write_text(CUDA)
    ops = opwright.load(tmp_path / "groups_on_gpu.cu", backend="emulate")
    for x, dim in itertools.product(layouts(torch.randn(2, 3, 4)), (-3, -1, 1)):
        torch.testing.assert_close(ops.total(x, dim, True), x.sum(dim, True))
        w = torch.randn(x.shape[dim])
        torch.testing.assert_close(ops.scaled(x, w, dim), (x.movedim(dim, -1) * w).movedim(-1, dim))


IN_C = """
#include <opwright.h>
OPWRIGHT("total(x: f32[*A, D, *B], dim: axis(D) = -1, keepdim: bool = False) -> (y: f32[*A, 1 if keepdim, *B])")
void total(const float *x, int64_t A, int64_t D, int64_t B, float *y) {
  for (int64_t i = 0; i < A * B; ++i) {
    y[i] = 0;
    for (int64_t d = 0; d < D; ++d) y[i] += x[(i / B * D + d) * B + i % B];
  }
}
"""


def test_c_functions_get_the_products_by_name(tmp_path: Path) -> None:
    (tmp_path / "groups_in_c.c").write_text(IN_C)
    ops = opwright.load(tmp_path / "groups_in_c.c")
    for x in layouts(torch.randn(2, 3, 4)):
        torch.testing.assert_close(ops.total(x, 1), x.sum(1))


def test_python_functions_get_tensors_as_they_are() -> None:
    def total(x: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
        return x.sum(dim, keepdim)

    def backward(grad: torch.Tensor, x: torch.Tensor, dim: int, keepdim: bool) -> torch.Tensor:
        return (grad if keepdim else grad.unsqueeze(dim)).expand_as(x)

    grad, x_like = "grad_y: T[*A, 1 if keepdim, *B]", "x: T[*A, D, *B]"
    texts = [
        f"total({x_like}, dim: axis(D) = -1, keepdim: bool = False) -> (y: T[*A, 1 if keepdim, *B])",
        f"total_backward({grad}, {x_like}, dim: axis(D), keepdim: bool) -> (grad_x: T[*A, D, *B])",
    ]
    op = opwright.differentiable(total, backward, signature=texts)
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: op(x, -2), x)
    torch.testing.assert_close(op(x, 1, True), x.sum(1, True))
    with pytest.raises(ArgumentError, match="Dimension out of range"):
        op(x, 3)
