"""An operator of a forward and its backward: values, gradients, and what PyTorch does with operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.aten.differentiable.functions import (
    _ALL,
    glu_reference,
    gradients,
    inputs,
    make,
)

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


@pytest.mark.slow
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


@pytest.mark.slow
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
