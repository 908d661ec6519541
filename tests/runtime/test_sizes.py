"""Sizes with a name (`where OH = ...`), and kernels with parameters for them and for other axes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import conv2d

import opwright
from opwright import ArgumentError, KernelError, Operators, SignatureError

Leaf = Callable[..., torch.Tensor]
gradcheck: Any = torch.autograd.gradcheck  # its annotation knows no numbers among the inputs


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(Path(__file__).parent / "kernels" / "size_ops.cpp")


def test_axes_anywhere_among_the_parameters(ops: Operators) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    y, sizes = ops.every(x, 2, torch.zeros(5))
    assert torch.equal(y, x[:, ::2].sum(1))
    assert sizes.tolist() == [3, 4, 5, 2]
    assert ops.every(x, 1, None)[1].tolist() == [3, 4, 0, 1]  # nothing that is there has L


def test_gradients(ops: Operators, leaf: Leaf) -> None:
    assert gradcheck(ops.weigh, (leaf(3, 4), leaf(3)))
    assert gradcheck(ops.total, leaf(2, 3))


def test_batched_kernels_have_them_too(ops: Operators) -> None:
    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(ops.mean(x), x.mean(-1))
    torch.testing.assert_close(torch.vmap(ops.mean)(x), x.mean(-1))


def test_a_size_that_does_not_fit_the_parameter(ops: Operators) -> None:
    x = torch.zeros(1, dtype=torch.float16)
    assert ops.narrow(x.expand(2**31 - 1)).item() == 2**31 - 1
    with pytest.raises(KernelError, match=r"N is 2147483648, which doesn't fit the kernel's parameter of 4 bytes"):
        ops.narrow(x.expand(2**31))


X, W = torch.linspace(-1, 1, 84).reshape(1, 2, 7, 6), torch.linspace(2, -1, 36).reshape(3, 2, 3, 2)


@pytest.mark.parametrize("given", [(1, 0, 1), (2, 1, 1), (3, 2, 2), (1, 3, 3)])
def test_a_convolution(ops: Operators, given: tuple[int, int, int]) -> None:
    torch.testing.assert_close(ops.conv(X, W, *given), conv2d(X, W, None, *given))


@pytest.mark.parametrize("given", [(1, 0, 1), (2, 1, 2)])
def test_a_backward_sees_the_names(ops: Operators, leaf: Leaf, given: tuple[int, int, int]) -> None:
    x, w = leaf(2, 2, 5, 4), leaf(1, 2, 3, 2)
    assert gradcheck(ops.conv, (x, w, *given))
    expected = torch.autograd.grad(conv2d(x, w, None, *given).sum(), (x, w))
    torch.testing.assert_close(torch.autograd.grad(ops.conv(x, w, *given).sum(), (x, w)), expected)


def test_a_backward_without_a_tensor_of_that_size(ops: Operators, leaf: Leaf) -> None:
    assert gradcheck(ops.windows, (leaf(5), 2))
    assert gradcheck(ops.windows, (leaf(5), 3, 1))
    assert gradcheck(ops.windows, (leaf(2), 3))  # M is 0
    assert gradcheck(ops.thinned, (leaf(7), 3))
    names = [argument.name for argument in ops.thinned_backward._schema.arguments]
    assert names == ["grad_y", "by", "axis_N", "output_mask"]  # M is computed again


OH = "OH = (H+2*pad-dilation*(K-1)-1)//stride+1"
WRONG = [
    ("conv", (X, W, 0), f"division by zero in {OH}"),
    ("conv", (X[:, :, :1], W), f"{OH} is -1, expected a size, at least 0"),
    ("conv", (X, W, 1, 0, 4), f"{OH} is -1, expected a size, at least 0"),
    ("conv", (X, W, 1, -1), "pad is -1, expected a size, at least 0"),
    ("conv", (X, W, 1, 2**62), f"{OH} is {2**63 + 5}, larger than a tensor can be"),
    ("windows", (X[0, 0, 0], 2, 6), "first is 6, expected an int in [0, M] = [0, 5]"),
    ("windows", (X[0, 0, 0], 9), "M = N-k+1 is -2, expected a size, at least 0"),
    ("paired", (torch.ones(6), torch.ones(4), torch.ones(6), torch.zeros(2, dtype=torch.int64)),
     "y has shape (4,), expected [M] = (3,)"),
    ("paired", (torch.ones(6), torch.ones(3), torch.ones(7), torch.zeros(2, dtype=torch.int64)),
     "z has shape (7,), expected [M*S] = (6,)"),
]  # fmt: skip


@pytest.mark.parametrize("meta", [False, True])
@pytest.mark.parametrize(("name", "given", "message"), WRONG)
def test_what_is_refused(ops: Operators, name: str, given: tuple[object, ...], message: str, meta: bool) -> None:
    tensors = [t.to("meta") if meta and isinstance(t, torch.Tensor) else t for t in given]
    with pytest.raises(ArgumentError) as caught:
        getattr(ops, name)(*tensors)
    assert str(caught.value).splitlines()[0] == f"{name}(): {message}"


def test_what_is_known_is_told(ops: Operators) -> None:
    with pytest.raises(ArgumentError) as caught:
        ops.paired(torch.ones(6), torch.ones(4), torch.ones(6), torch.zeros(2, dtype=torch.int64))
    assert "  bound so far: N=6 (x), S=2 (at), M=3 (where), quarter=1 (where)\n" in str(caught.value)


def test_without_tensors(ops: Operators) -> None:
    y, whole = ops.steps(7, 2)
    assert (y.tolist(), len(whole)) == ([0, 2, 4], 7)
    assert ops.steps(7, 2, device="meta")[0].shape == (3,)
    with pytest.raises(ArgumentError, match="division by zero in M = n//by"):
        ops.steps(7, 0)


def test_checks_domains_and_bounds(ops: Operators) -> None:
    x, y, at = torch.ones(9), torch.arange(4.0), torch.tensor([2, 0, 3])
    sizes, w = ops.paired(x, y, torch.ones(12), at)
    assert (sizes.tolist(), w.tolist()) == ([9, 4, 3, 2], [2, 0, 3])
    with pytest.raises(ArgumentError, match=r"at\[1\] is 4, expected an index in \[0, M\) = \[0, 4\)"):
        ops.paired(x, y, torch.ones(12), torch.tensor([2, 4, 3]))


def test_over_leading_axes(ops: Operators) -> None:
    x = torch.randn(3, 2, 7)
    expected = torch.nn.functional.max_pool1d(x, 3)
    assert torch.equal(ops.pooled(x, 3), expected)
    assert torch.equal(torch.vmap(lambda row: ops.pooled(row, 3), in_dims=1, out_dims=1)(x), expected)
    assert ops.pooled(x, 8).shape == (3, 2, 0)


@pytest.mark.slow
def test_vmap_and_opcheck(ops: Operators, leaf: Leaf) -> None:
    xs = torch.stack([X, X.flip(0)])
    got = torch.vmap(lambda x: ops.conv(x, W, 2, 1))(xs)
    torch.testing.assert_close(got, torch.stack([conv2d(x, W, None, 2, 1) for x in xs]))
    torch.library.opcheck(ops.conv, (leaf(1, 2, 5, 4), leaf(2, 2, 3, 2), 2, 1))
    torch.library.opcheck(ops.windows, (leaf(5), 2))


def test_pytorchs_schema_has_no_names(ops: Operators) -> None:
    schema = str(ops.conv._schema).partition("(")[2]
    assert schema == "Tensor x, Tensor w, SymInt stride=1, SymInt pad=0, SymInt dilation=1) -> Tensor"


@pytest.mark.slow
def test_a_compiled_function_for_all_sizes(ops: Operators, leaf: Leaf) -> None:
    def f(x: torch.Tensor, w: torch.Tensor, stride: int, pad: int) -> torch.Tensor:
        return torch.as_tensor(ops.conv(x, w, stride, pad).square() + ops.windows(w.flatten(), pad))

    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager", dynamic=True)
    for x, w, *given in ((leaf(2, 3, 8, 9), leaf(4, 3, 3, 2), 2, 3), (leaf(3, 2, 6, 7), leaf(5, 2, 4, 3), 3, 4)):
        torch.testing.assert_close(compiled(x, w, *given), f(x, w, *given))
        expected = torch.autograd.grad(f(x, w, *given).sum(), (x, w))
        torch.testing.assert_close(torch.autograd.grad(compiled(x, w, *given).sum(), (x, w)), expected)
    with pytest.raises((ArgumentError, RuntimeError), match=r"OH = |Runtime assertion|>= 0"):
        compiled(leaf(2, 3, 1, 9), leaf(4, 3, 13, 2), 2, 3)


@pytest.mark.slow
def test_exported_and_loaded(ops: Operators, tmp_path: Path) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return torch.as_tensor(ops.conv(x, w, 2, 1))

    high, wide = torch.export.Dim("high", min=4, max=64), torch.export.Dim("wide", min=4, max=64)
    exported = torch.export.export(Module(), (X, W), dynamic_shapes={"x": {2: high, 3: wide}, "w": None})
    torch.export.save(exported, tmp_path / "conv.pt2")
    loaded = torch.export.load(tmp_path / "conv.pt2").module()
    x = torch.randn(1, 2, 12, 5)
    torch.testing.assert_close(loaded(x, W), conv2d(x, W, None, 2, 1))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("M = N//3", "f_backward has M = N//3, but in f M = N//2"),
        ("L = N//2", "f_backward has L = N//2, but in f L is an axis"),
    ],
)
def test_a_backward_with_another_size_of_that_name(write: Callable[..., Path], where: str, message: str) -> None:
    path = write(
        'OPWRIGHT("f(x: f32[N], w: f32[L]) -> (y: f32[M]) where M = N//2")\n'
        "void f(Tensor<const float, 1> x, Tensor<const float, 1> w, Tensor<float, 1> y) {}\n"
        f'OPWRIGHT("f_backward(grad_y: f32[M]) -> (grad_x: f32[N], grad_w: f32[L]) where {where}")\n'
        "void f_backward(Tensor<const float, 1> g, Tensor<float, 1> grad_x, Tensor<float, 1> grad_w) {}"
    )
    with pytest.raises(SignatureError) as caught:
        opwright.load(path)
    assert str(caught.value).splitlines()[0].endswith(message)
    assert str(caught.value).endswith("likely fix: leave it out of f_backward, which sees the sizes of f")


def test_functions_in_python_have_them_too() -> None:
    op = opwright.differentiable(
        lambda x, k: x.unfold(0, k, k).sum(1),
        lambda grad_y, x, k: torch.cat([grad_y.repeat_interleave(k), grad_y.new_zeros(len(x) - k * len(grad_y))]),
        signature=[
            "folded(x: T[N], k: int) -> (y: T[M]) where M = N//k",
            "folded_backward(grad_y: T[M], x: T[N], k: int) -> (grad_x: T[N])",
        ],
        namespace="sizes_in_python",
    )
    assert gradcheck(op, (torch.randn(7, dtype=torch.float64, requires_grad=True), 3))
    with pytest.raises(ArgumentError, match="division by zero in M = N//k"):
        op(torch.ones(3), 0)
