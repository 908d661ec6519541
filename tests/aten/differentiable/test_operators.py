"""What the signature and the name of such an operator mean, and where it can go."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

import opwright
from opwright import KernelError, UnsupportedError
from tests.aten.differentiable.functions import (
    DOUBLE,
    MUL,
    fresh,
    glu_backward,
    glu_forward,
    glu_reference,
    gradients,
    inputs,
    make,
)


def test_optional_arguments_and_scalars() -> None:
    def forward(x: torch.Tensor, bias: torch.Tensor | None, k: int, flag: bool) -> torch.Tensor:
        y = x * k
        return -y if flag else y if bias is None else y + bias

    signature = ["affine(x: T[N], bias: T[N]?, k: int = 3, flag: bool = False) -> (y: T[N])"]
    signature += ["affine_backward(grad_y: T[N], k: int, flag: bool) -> (grad_x: T[N], grad_bias: T[N])"]
    op = make(forward, lambda g, k, flag: (-k * g if flag else k * g, None if flag else g), signature)
    x, bias = inputs((3,), (3,))
    assert torch.autograd.gradcheck(lambda *given: op(*given, 2), (x, bias))
    assert torch.equal(op(x, None, flag=True), -3 * x)


def test_lengths_that_the_function_decides() -> None:
    signature = ["positive(x: T[N]) -> (y: T[?K<=N]; at: i64[?K<=N])"]
    signature += ["positive_backward(grad_y: T[K], at: i64[K], x: T[N]) -> (grad_x: T[N])"]

    def forward(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        at = (x > 0).nonzero()[:, 0]
        return x[at], at

    op = make(forward, lambda g, at, x: torch.zeros_like(x).index_add(0, at, g), signature)
    x = torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
    op(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 0, 1]
    bad = make(lambda x: (x, torch.zeros(1, dtype=torch.int64)), lambda *_: None, signature)
    with pytest.raises(KernelError, match=r"returned at with shape \(1,\), expected \[\?K<=N\] = \(3,\)"):
        bad(x)


def test_axes_that_only_the_forward_knows() -> None:
    signature = ["total(x: T[N, M]) -> (y: T[])", "total_backward(grad_y: T[]) -> (grad_x: T[N, M])"]
    op = make(torch.sum, lambda g: g.expand(1, 1), signature)
    x = inputs((2, 3))[0]
    with pytest.raises(KernelError, match=r"returned grad_x with shape \(1, 1\), expected \[N, M\] = \(2, 3\)"):
        op(x).backward()
    fine = make(torch.sum, lambda g: g.expand(2, 3), signature)
    assert torch.autograd.gradcheck(fine, (x,))


def test_the_same_names_again_give_the_operator_new_functions() -> None:
    space = fresh()
    first = opwright.differentiable(lambda x: 2 * x, lambda g: 2 * g, signature=DOUBLE, namespace=space)
    graph = torch.compile(first, fullgraph=True, backend="eager")
    x = inputs((2,))[0]
    assert torch.equal(graph(x), 2 * x)
    again = opwright.differentiable(lambda x: 4 * x, lambda g: 4 * g, signature=DOUBLE, namespace=space)
    assert again is first
    assert torch.equal(graph(x), 4 * x)
    again(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4, 4]


def test_another_signature_retires_the_operator_that_was_there() -> None:
    space = fresh()
    old = opwright.differentiable(lambda x: 2 * x, lambda g: 2 * g, signature=DOUBLE, namespace=space)
    rows = ("twice(x: T[N]) -> (y: T[N])", "twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
    new = opwright.differentiable(lambda x: 2 * x, lambda g: 2 * g, signature=rows, namespace=space)
    assert getattr(torch.ops, space).twice.default is new
    with pytest.raises(opwright.OpwrightError, match="the signature has changed since this callable was taken"):
        old(torch.ones(2, 2))


def test_several_operators_share_a_namespace() -> None:
    space = fresh()
    opwright.differentiable(lambda x: 2 * x, lambda g: 2 * g, signature=DOUBLE, namespace=space)
    opwright.differentiable(torch.mul, lambda g, x, y: (g * y, g * x), signature=MUL, namespace=space)
    names = getattr(torch.ops, space)
    assert names.twice(torch.ones(1)).item() == names.mul(torch.ones(1), torch.full((1,), 2.0)).item() == 2


def test_copies_and_pickles_hold_it_by_name(glu: Any) -> None:
    assert copy.copy(glu) is copy.deepcopy(glu) is glu
    pickled = pickle.dumps(glu)
    assert pickle.loads(pickled) is glu  # noqa: S301 - our own
    with pytest.raises(opwright.OpwrightError) as caught:
        pickle.loads(pickled.replace(b"differentiable_glu", b"differentiable_not"))  # noqa: S301 - our own
    assert str(caught.value) == (
        "the pickle holds the operator torch.ops.differentiable_not.glu by its name, and there is none in this "
        "process\n"
        "  likely fix: import the module that makes it with opwright.differentiable before unpickling"
    )


def test_export(glu: Any) -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(10, 4))

        def forward(self, x: torch.Tensor) -> Any:
            return glu(x, self.weight)

    rows = torch.export.Dim("rows")
    layer = Layer()
    exported = torch.export.export(layer, (torch.ones(3, 4),), dynamic_shapes={"x": {0: rows}})
    x = torch.randn(7, 4)
    torch.testing.assert_close(exported.module()(x), layer(x))


def test_it_works_in_threads(glu: Callable[..., torch.Tensor]) -> None:
    x, w = inputs((3, 4), (10, 4))
    expected = gradients(glu_reference, (x, w))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: gradients(glu, (x, w)), range(40)):
            torch.testing.assert_close(found, expected)


def test_integer_outputs_have_no_gradient() -> None:
    signature = ["top(x: T[..., N]) -> (v: T[..., 1], at: i64[..., 1])"]
    signature += ["top_backward(grad_v: T[..., 1], at: i64[..., 1], x: T[..., N]) -> (grad_x: T[..., N])"]
    op = make(lambda x: torch.topk(x, 1, -1), lambda g, at, x: torch.zeros_like(x).scatter(-1, at, g), signature)
    x = inputs((2, 3))[0]
    assert torch.autograd.gradcheck(lambda x: op(x)[0], (x,))
    assert not op(x)[1].requires_grad


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # PyTorch's own
def test_forward_mode_is_an_error(glu: Callable[..., torch.Tensor]) -> None:
    x, w = inputs((3, 4), (10, 4))
    with forward_ad.dual_level(), pytest.raises(UnsupportedError, match="no forward-mode derivative"):
        glu(forward_ad.make_dual(x, torch.ones_like(x)), w)


def test_opcheck_finds_a_function_that_changes_its_argument() -> None:
    op: Any = make(lambda x: x.add_(1), lambda g: g, DOUBLE)
    with pytest.raises(Exception, match="mutat"):
        torch.library.opcheck(op, (torch.ones(3),))


def test_functions_in_torch_autograd_function_go_on_working(glu: Callable[..., torch.Tensor]) -> None:
    class Glu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            y, *rest = glu_forward(x, w, 1.0)
            ctx.save_for_backward(x, w, *rest)
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            x, w, value, gate = ctx.saved_tensors
            return glu_backward(grad, x, w, value, gate, 1.0)

    given = inputs((3, 4), (10, 4))
    for found, expected in zip(gradients(Glu.apply, given), gradients(glu, given), strict=True):
        torch.testing.assert_close(found, expected)
