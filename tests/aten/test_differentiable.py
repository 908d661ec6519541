"""Operators made of functions that are there already: a forward and its backward."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

import opwright
from opwright import ArgumentError, KernelError, SignatureError, SourceError, UnsupportedError

_NAMES = itertools.count()
_ALL = {"test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"}

GLU = (
    "glu(x: T[N, K], w: T[2*M, K], scale: float = 1.0) -> (y: T[N, M]; value: T[N, M], gate: T[N, M])",
    (
        "glu_backward(grad_y: T[N, M], x: T[N, K], w: T[2*M, K], value: T[N, M], gate: T[N, M], scale: float) -> "
        "(grad_x: T[N, K], grad_w: T[2*M, K])"
    ),
)


def glu_forward(x: torch.Tensor, w: torch.Tensor, scale: float) -> list[torch.Tensor]:
    value, gate = torch.mm(x, w.t()).chunk(2, dim=1)  # views of one tensor: what C++ extensions return, too
    gate = torch.sigmoid(gate)
    return [scale * value * gate, value, gate]


def glu_backward(
    grad: torch.Tensor, x: torch.Tensor, w: torch.Tensor, value: torch.Tensor, gate: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    both = torch.cat([scale * grad * gate, scale * grad * value * gate * (1 - gate)], dim=1)
    return both @ w, both.t() @ x


def glu_reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.glu(x @ w.t(), dim=1)


def fresh() -> str:
    """A namespace that no other test has."""
    return f"differentiable_{next(_NAMES)}"


def make(
    forward: Callable[..., Any], backward: Callable[..., Any], signature: Sequence[str], **options: Any
) -> Callable[..., Any]:
    return opwright.differentiable(forward, backward, signature=signature, namespace=fresh(), **options)


@pytest.fixture(scope="module")
def glu() -> Callable[..., torch.Tensor]:
    return opwright.differentiable(glu_forward, glu_backward, signature=GLU, namespace="differentiable_glu")


def inputs(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def gradients(function: Callable[..., Any], given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    y = function(*given)
    weights = torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape) + 1
    return torch.autograd.grad((y * weights).sum(), given)


LLTM = (
    (
        "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[1, 3*S], old_h: T[B, S], old_cell: T[B, S]) -> "
        "(new_h: T[B, S], new_cell: T[B, S]; input_gate: T[B, S], output_gate: T[B, S], candidate: T[B, S], "
        "x: T[B, I+S], gates: T[B, 3*S])"
    ),
    (
        "lltm_backward(grad_new_h: T[B, S], grad_new_cell: T[B, S], new_cell: T[B, S], input_gate: T[B, S], "
        "output_gate: T[B, S], candidate: T[B, S], x: T[B, I+S], gates: T[B, 3*S], weights: T[3*S, I+S]) -> "
        "(grad_old_h: T[B, S], grad_input: T[B, I], grad_weights: T[3*S, I+S], grad_bias: T[1, 3*S], "
        "grad_old_cell: T[B, S])"
    ),
)


def lltm_forward(
    given: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, old_h: torch.Tensor, old_cell: torch.Tensor
) -> list[torch.Tensor]:
    x = torch.cat([old_h, given], dim=1)
    gates = torch.addmm(bias, x, weights.t())
    first, second, third = gates.chunk(3, dim=1)
    input_gate, output_gate, candidate = torch.sigmoid(first), torch.sigmoid(second), torch.nn.functional.elu(third)
    new_cell = old_cell + candidate * input_gate
    return [torch.tanh(new_cell) * output_gate, new_cell, input_gate, output_gate, candidate, x, gates]


def lltm_backward(
    grad_h: torch.Tensor, grad_cell: torch.Tensor, new_cell: torch.Tensor, input_gate: torch.Tensor,
    output_gate: torch.Tensor, candidate: torch.Tensor, x: torch.Tensor, gates: torch.Tensor, weights: torch.Tensor,
) -> list[torch.Tensor]:  # fmt: skip
    """Gradients that are slices of one tensor, and in an order of their own, as extensions return them."""
    first, second, third = gates.chunk(3, dim=1)
    tanh = torch.tanh(new_cell)
    of_cell = grad_cell + grad_h * output_gate * (1 - tanh**2)
    of_candidate = of_cell * input_gate * torch.where(third > 0, torch.ones_like(third), third.exp())
    of_input = of_cell * candidate * torch.sigmoid(first) * (1 - torch.sigmoid(first))
    of_output = grad_h * tanh * torch.sigmoid(second) * (1 - torch.sigmoid(second))
    of_gates = torch.cat([of_input, of_output, of_candidate], dim=1)
    of_x, size = of_gates @ weights, grad_h.shape[1]
    return [of_x[:, :size], of_x[:, size:], of_gates.t() @ x, of_gates.sum(dim=0, keepdim=True), of_cell]


def test_lltm_as_the_tutorials_have_it() -> None:
    lltm = make(lltm_forward, lltm_backward, LLTM)
    given = inputs((2, 3), (12, 7), (1, 12), (2, 4), (2, 4))
    for found, expected in zip(lltm(*given), lltm_forward(*given)[:2], strict=True):
        torch.testing.assert_close(found, expected)
    assert torch.autograd.gradcheck(lltm, given)
    assert torch.library.opcheck(lltm, tuple(given)) == dict.fromkeys(_ALL, "SUCCESS")  # type: ignore[arg-type]
    assert torch.autograd.gradcheck(lambda *given: lltm(*given)[1], given)  # nobody asks for the other gradient


def test_it_is_an_operator_of_pytorch(glu: torch._ops.OpOverload) -> None:
    assert glu is torch.ops.differentiable_glu.glu.default
    assert str(glu._schema).endswith("(Tensor x, Tensor w, float scale=1.) -> Tensor")


def test_values_and_gradients(glu: Callable[..., torch.Tensor]) -> None:
    given = inputs((3, 4), (10, 4))
    torch.testing.assert_close(glu(*given, 2.0), 2 * glu_reference(*given))
    for found, expected in zip(gradients(glu, given), gradients(glu_reference, given), strict=True):
        torch.testing.assert_close(found, expected)
    assert torch.autograd.gradcheck(glu, given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_element_types(glu: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
    given = inputs((3, 4), (10, 4), dtype=dtype)
    for found, expected in zip(gradients(glu, given), gradients(glu_reference, given), strict=True):
        torch.testing.assert_close(found, expected, rtol=0.05, atol=0.05)


def test_opcheck(glu: Any) -> None:
    assert torch.library.opcheck(glu, tuple(inputs((3, 4), (10, 4)))) == dict.fromkeys(_ALL, "SUCCESS")


def test_compile_with_its_gradient(glu: Callable[..., torch.Tensor]) -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return glu(x.sin(), w).cos()

    fast = torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")
    for rows in (3, 5):
        given = inputs((rows, 4), (10, 4))
        for found, expected in zip(gradients(fast, given), gradients(step, given), strict=True):
            torch.testing.assert_close(found, expected)


def test_vmap_and_functional_gradients(glu: Callable[..., torch.Tensor]) -> None:
    x, w = (t.detach() for t in inputs((2, 3, 4), (10, 4)))
    torch.testing.assert_close(torch.vmap(glu, (0, None))(x, w), torch.stack([glu(each, w) for each in x]))
    found = torch.func.grad(lambda w: glu(x[0], w).sum())(w)
    torch.testing.assert_close(found, torch.func.grad(lambda w: glu_reference(x[0], w).sum())(w))


def test_autocast_gives_all_of_a_type_variable_the_same_type(glu: Callable[..., torch.Tensor]) -> None:
    x, w = inputs((3, 4), (10, 4), dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert glu(x @ torch.eye(4), w).dtype == torch.float32


def test_meta_tensors_never_reach_the_functions(glu: Callable[..., torch.Tensor]) -> None:
    y = glu(torch.empty(3, 4, device="meta"), torch.empty(10, 4, device="meta"))
    assert (y.device.type, y.shape) == ("meta", (3, 5))


def test_without_gradients_nothing_is_kept(glu: Callable[..., torch.Tensor]) -> None:
    x, w = inputs((3, 4), (10, 4))
    with torch.no_grad():
        assert not glu(x, w).requires_grad
    assert not glu(x.detach(), w.detach()).requires_grad


def test_results_share_no_memory_with_each_other_or_with_arguments() -> None:
    def forward(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x, x.t(), x

    signature = ["f(x: T[N, M]) -> (a: T[N, M], b: T[M, N], c: T[N, M])"]
    signature += ["f_backward(grad_a: T[N, M], grad_b: T[M, N], grad_c: T[N, M]) -> (grad_x: T[N, M])"]
    op = make(forward, lambda a, b, c: a + b.t() + c, signature)
    x = inputs((2, 3))[0]
    results = op(x)
    assert all(torch.equal(r, e) for r, e in zip(results, (x, x.t(), x), strict=True))
    assert all(r.is_contiguous() for r in results)
    assert len({t.data_ptr() for t in (x, *results)}) == 4
    assert torch.library.opcheck(op, (x,)) == dict.fromkeys(_ALL, "SUCCESS")  # type: ignore[arg-type]


DOUBLE = ("twice(x: T[...]) -> (y: T[...])", "twice_backward(grad_y: T[...]) -> (grad_x: T[...])")


@pytest.mark.parametrize(("contiguous", "expected"), [("gradients", True), ("all", True), ("none", False)])
def test_expanded_gradients_are_made_contiguous(contiguous: Any, expected: bool) -> None:
    seen: list[bool] = []

    def backward(grad: torch.Tensor) -> torch.Tensor:
        seen.append(grad.is_contiguous())
        return 2 * grad

    op = make(lambda x: 2 * x, backward, DOUBLE, contiguous=contiguous)
    x = inputs((2, 3))[0]
    op(x).sum().backward()  # its gradient is one number, expanded
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full((2, 3), 2.0, dtype=torch.float64))
    assert seen == [expected]


@pytest.mark.parametrize(("contiguous", "expected"), [("gradients", False), ("all", True), ("none", False)])
def test_arguments_are_made_contiguous_for_functions_that_want_that(contiguous: Any, expected: bool) -> None:
    seen: list[bool] = []

    def forward(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.is_contiguous())
        return 2 * x

    op = make(forward, lambda grad: 2 * grad, DOUBLE, contiguous=contiguous)
    assert torch.equal(op(torch.ones(2, 3).t()), torch.full((3, 2), 2.0))
    assert seen == [expected]


PAIR = "pair(x: T[...]) -> (y: T[...], z: T[...])"


def test_a_gradient_that_nobody_gave_is_zero() -> None:
    backward = "pair_backward(grad_y: T[...], grad_z: T[...]) -> (grad_x: T[...])"
    op = make(lambda x: (2 * x, 3 * x), lambda y, z: 2 * y + 3 * z, [PAIR, backward])
    x = inputs((2,))[0]
    op(x)[1].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]


def test_an_optional_gradient_that_nobody_gave_is_none() -> None:
    seen: list[bool] = []

    def backward(y: torch.Tensor | None, z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        seen.append(y is None)
        return 3 * z * torch.ones_like(x)

    text = "pair_backward(grad_y: T[...]?, grad_z: T[...], x: T[...]) -> (grad_x: T[...])"
    op = make(lambda x: (2 * x, 3 * x), backward, [PAIR, text])
    op(inputs((2,))[0])[1].sum().backward()
    assert seen == [True]


MUL = (
    "mul(x: T[...], y: T[...]) -> (z: T[...])",
    "mul_backward(grad_z: T[...], x: T[...], y: T[...]) -> (grad_x: T[...], grad_y: T[...])",
)


def test_a_backward_may_be_told_what_is_wanted_and_leave_the_rest_out() -> None:
    seen: list[list[bool]] = []

    def backward(g: torch.Tensor, x: torch.Tensor, y: torch.Tensor, mask: list[bool]) -> list[torch.Tensor | None]:
        seen.append(mask)
        return [g * y if mask[0] else None, g * x if mask[1] else None]

    op = make(torch.mul, backward, MUL, output_mask=True)
    x, y = inputs((3,), (3,))
    op(x.detach(), y).sum().backward()
    torch.autograd.grad(op(x, y).sum(), [x])
    assert seen == [[False, True], [True, False]]
    assert torch.autograd.gradcheck(op, (x, y))


def test_gradients_that_nobody_wants_are_dropped_unseen() -> None:
    op = make(torch.mul, lambda g, x, y: (g * y, "nothing that anybody looks at"), MUL)
    x, y = inputs((3,), (3,))
    op(x, y.detach()).sum().backward()
    assert torch.equal(x.grad, y)  # type: ignore[arg-type]


def test_none_is_a_gradient_of_zeros() -> None:
    op = make(torch.mul, lambda g, x, y: (None, g * x), MUL)
    x, y = inputs((2, 3), (2, 3))
    op(x, y).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.zeros_like(x))


SECOND = (
    "mul_backward_backward(grad_grad_x: T[...]?, grad_grad_y: T[...]?, grad_z: T[...], x: T[...], y: T[...]) -> "
    "(grad_grad_z: T[...], grad_x: T[...], grad_y: T[...])"
)


def mul_backward_backward(
    gx: torch.Tensor | None, gy: torch.Tensor | None, g: torch.Tensor, x: torch.Tensor, y: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    gx = torch.zeros_like(g) if gx is None else gx
    gy = torch.zeros_like(g) if gy is None else gy
    return gx * y + gy * x, gy * g, gx * g


def test_second_derivatives() -> None:
    op = opwright.differentiable(
        torch.mul,
        lambda g, x, y: (g * y, g * x),
        mul_backward_backward,
        signature=[*MUL, SECOND],
        namespace=fresh(),
    )
    assert torch.autograd.gradgradcheck(op, inputs((3,), (3,)))


def test_a_missing_second_derivative_says_what_to_give() -> None:
    op = make(torch.mul, lambda g, x, y: (g * y, g * x), MUL)
    x, y = inputs((3,), (3,))
    with pytest.raises(UnsupportedError) as caught:
        torch.autograd.grad(op(x, y).sum(), [x], create_graph=True)[0].sum().backward()
    assert str(caught.value) == (
        "mul_backward() has no second derivative: there is no mul_backward_backward\n"
        f"  signature:  {MUL[1]}\n"
        "  likely fix: give differentiable() a function for it, and its signature: "
        "mul_backward_backward(grad_grad_x: T[...], grad_grad_y: T[...], grad_z: T[...], x: T[...], y: T[...]) -> "
        "(grad_grad_z: T[...], grad_x: T[...], grad_y: T[...])"
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


def test_the_error_of_a_function_is_raised_as_it_is() -> None:
    def fails(_x: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("mine")

    op = make(fails, fails, DOUBLE)
    with pytest.raises(ZeroDivisionError, match="mine"):
        op(torch.ones(1))
    with pytest.raises(ZeroDivisionError, match="mine"):
        make(lambda x: 2 * x, fails, DOUBLE)(inputs((2,))[0]).sum().backward()


def test_arguments_that_do_not_fit(glu: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ArgumentError, match=r"w has shape \(10, 5\), expected \[2\*M, K\] = \(\?, 4\)"):
        glu(torch.ones(3, 4), torch.ones(10, 5))
    with pytest.raises(ArgumentError, match="sparse"):
        glu(torch.ones(3, 4).to_sparse(), torch.ones(10, 4))
    with pytest.raises(ArgumentError, match="index"):
        make(
            lambda x, at: x[at],
            lambda *_: None,
            [
                "take(x: T[N], at: i64[K] in [0, N)) -> (y: T[K])",
                "take_backward(grad_y: T[K], x: T[N]) -> (grad_x: T[N])",
            ],
        )(torch.ones(3), torch.tensor([3]))


def unnamed(results: Any) -> Callable[..., Any]:
    def function(*_args: Any) -> Any:
        return results

    function.__qualname__ = "lltm_forward"
    return function


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (
            [torch.ones(2, 3)],
            (
                "returned 1 tensor, expected 2: a, t (t after the ';', kept for the backward)\n"
                "  bound so far: N=2, M=3\n"
                "  signature:    f(x: T[N, M]) -> (a: T[N, M]; t: T[M])\n"
                "  likely fix:   return one for each name of the signature, in its order"
            ),
        ),
        (torch.ones(2, 3), "returned 1 tensor, expected 2"),
        ([torch.ones(2, 3), torch.ones(2)], "returned t with shape (2,), expected [M] = (3,)"),
        ([torch.ones(2, 3), torch.ones(3).double()], "returned t as torch.float64, expected T = f32"),
        ([torch.ones(2, 3), torch.ones(3, device="meta")], "returned t on meta, expected cpu"),
        ([torch.ones(2, 3), None], "returned NoneType for t, expected a tensor"),
        ([torch.ones(2, 3), 3.0], "returned float for t, expected a tensor"),
    ],
)
def test_results_that_do_not_fit(results: Any, message: str) -> None:
    signature = ["f(x: T[N, M]) -> (a: T[N, M]; t: T[M])", "f_backward(grad_a: T[N, M]) -> (grad_x: T[N, M])"]
    op = make(unnamed(results), unnamed(None), signature)
    with pytest.raises(KernelError) as caught:
        op(torch.ones(2, 3))
    assert str(caught.value).startswith(f"f(): lltm_forward {message}")


def test_the_wrong_number_of_gradients() -> None:
    op = make(torch.mul, lambda g, x, _y: g * x, MUL)
    with pytest.raises(KernelError, match="returned 1 gradient, expected 2: grad_x, grad_y"):
        op(*inputs((3,), (3,))).sum().backward()


def test_tensors_on_two_devices(glu: Callable[..., torch.Tensor]) -> None:
    with pytest.raises((ArgumentError, RuntimeError), match="device"):
        glu(torch.ones(3, 4), torch.ones(10, 4, device="meta"))


@pytest.mark.parametrize(
    ("functions", "signature", "error", "message"),
    [
        ((torch.mul, 3), MUL, TypeError, r"differentiable\(\) got 3, expected a function"),
        (
            (torch.mul, torch.mul),
            MUL[0],
            TypeError,
            r"add the signature of its backward, such as\n  mul_backward\(grad_z: T\[...\], ",
        ),
        ((torch.mul, None), MUL, TypeError, r"differentiable\(\) got None, expected a function"),
        ((torch.mul, None, torch.mul), MUL, TypeError, r"differentiable\(\) got None, expected a function"),
        ((torch.mul, torch.mul), None, TypeError, r"got signature=None, expected a list of strings"),
        ((torch.mul, torch.mul), [1, 2], TypeError, r"got signature=\[1, 2\], expected a list of strings"),
        ((torch.mul, torch.mul), [*MUL, SECOND], TypeError, "got 3 signatures for 2 functions"),
        ((torch.mul, torch.mul), MUL[::-1], SignatureError, "expected one of mul_backward_backward"),
        ((torch.mul, torch.mul), [MUL[0], "g(x: T[N]) -> (y: T[N])"], SignatureError, "expected one of mul_backward"),
        (
            (torch.mul, torch.mul),
            ["f(x: T) -> (y: T)", "f_backward(grad_y: T) -> (grad_x: T)"],
            UnsupportedError,
            "whole",
        ),
        (
            (torch.mul, torch.mul),
            ["f(x: T[N]!) -> (y: T[N])", "f_backward(grad_y: T[N], grad_x: T[N]) -> (grad_x: T[N])"],
            UnsupportedError,
            "return the new value as an output",
        ),
        (
            (torch.mul, torch.mul),
            ["f(n: int) -> (y: T[n])", "f_backward(grad_y: T[n]) -> (grad_x: T[n])"],
            UnsupportedError,
            "take the tensor",
        ),
    ],
)
def test_what_is_refused(functions: Any, signature: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        opwright.differentiable(*functions, signature=signature, namespace=fresh())


def test_names_that_are_taken() -> None:
    with pytest.raises(SourceError, match=r'likely fix: differentiable\(..., namespace="..."\) with another name$'):
        opwright.differentiable(torch.mul, torch.mul, signature=MUL, namespace="aten")
    with pytest.raises(TypeError, match="contiguous='gradient', expected"):
        make(torch.mul, torch.mul, MUL, contiguous="gradient")


@pytest.mark.slow
def test_functions_that_pybind11_bound(tmp_path: Path) -> None:
    document = Path(__file__).parents[2] / "docs" / "differentiable.md"
    (source,) = re.findall(r"^```cpp\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "glu.cpp").write_text(source)
    code = f"""
import torch, opwright
from opwright.cpp_extension import load
glu = load("glu_cpp", [{str(tmp_path / "glu.cpp")!r}], extra_cflags=["-O1"])
op = opwright.differentiable(glu.forward, glu.backward, signature={GLU!r})
x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
w = torch.randn(10, 4, dtype=torch.float64, requires_grad=True)
torch.testing.assert_close(op(x, w, 2.0), 2 * torch.nn.functional.glu(x @ w.t()))
assert torch.autograd.gradcheck(op, (x, w))
assert set(torch.library.opcheck(op, (x, w)).values()) == {{"SUCCESS"}}
torch.compile(lambda x, w: op(x.sin(), w), fullgraph=True, backend="aot_eager")(x, w).sum().backward()
try:
    op(x, torch.randn(9, 4, dtype=torch.float64))
except opwright.ArgumentError as error:
    print(str(error).splitlines()[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "glu(): w has shape (9, 4), expected [2*M, K]: no M gives 2*M = 9\n"
