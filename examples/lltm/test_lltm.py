from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from lltm import (
    LLTM,
    CellLLTM,
    DerivedLLTM,
    WholeLLTM,
    cell_ops,
    cell_python,
    derived_ops,
    lltm,
    lltm_cell,
    lltm_derived,
    lltm_python,
    ops,
)
from torch import Tensor

import opwright

FORMS = [lltm_cell, lltm_derived, lltm]
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
Sizes = tuple[int, int, int]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT.contiguous().mT if x.dim() == 2 else x,
    "sliced": lambda x: torch.cat([x, x], dim=-1)[..., : x.shape[-1]],
    "expanded": lambda x: x[:1].expand_as(x),
}


def arguments(sizes: Sizes, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    batch, features, state = sizes
    torch.manual_seed(0)
    shapes = [(batch, features), (3 * state, state + features), (3 * state,), (batch, state), (batch, state)]
    values = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    values[1] /= max(1, state) ** 0.5
    return [value.to(dtype).requires_grad_() for value in values]


def values_and_gradients(form: Callable[..., tuple[Tensor, ...]], inputs: list[Tensor]) -> tuple[Tensor, ...]:
    outputs = form(*inputs)
    torch.manual_seed(1)
    gradients = [torch.randn(output.shape, dtype=torch.float64).to(output) for output in outputs]
    return outputs + torch.autograd.grad(outputs, inputs, gradients)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(5, 3, 7), (16, 32, 128), (1, 1, 1), (0, 3, 4), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients(form: Callable[..., tuple[Tensor, ...]], sizes: Sizes, dtype: torch.dtype) -> None:
    inputs = arguments(sizes, dtype)
    wide = [tensor.detach().to(torch.float64).requires_grad_() for tensor in inputs]
    for ours, exact in zip(values_and_gradients(form, inputs), values_and_gradients(lltm_python, wide), strict=True):
        # The sums have terms of either sign: the error is relative to the largest result, not to each one.
        scale = max(1.0, float(exact.detach().abs().max())) if exact.numel() else 1.0
        torch.testing.assert_close(ours, exact.to(dtype), rtol=0.0, atol=16 * torch.finfo(dtype).eps * scale)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_gradcheck(form: Callable[..., tuple[Tensor, ...]], layout: str) -> None:
    def viewed(*inputs: Tensor) -> tuple[Tensor, ...]:
        return form(*map(LAYOUTS[layout], inputs))

    inputs = arguments((3, 2, 2))
    assert torch.autograd.gradcheck(viewed, inputs)
    assert torch.autograd.gradgradcheck(viewed, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_one_output_and_one_input(form: Callable[..., tuple[Tensor, ...]]) -> None:
    inputs = arguments((3, 2, 4))
    for output in range(2):
        for tensor in inputs:
            ours, theirs = (
                torch.autograd.grad(either(*inputs)[output].sum(), tensor, materialize_grads=True)[0]
                for either in (form, lltm_python)
            )
            torch.testing.assert_close(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_without_gradient(form: Callable[..., tuple[Tensor, ...]]) -> None:
    inputs = arguments((3, 2, 4))
    with torch.no_grad():
        unsaved = form(*inputs)
    for one, other in zip(unsaved, form(*inputs), strict=True):
        assert not one.requires_grad
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    inputs = [LAYOUTS[layout](tensor.detach()).requires_grad_() for tensor in arguments((3, 2, 4))]
    assert list(torch.library.opcheck(ops.lltm, tuple(inputs)).values()) == ["SUCCESS"] * 4
    gates = torch.randn(3, 12, requires_grad=True, dtype=torch.float64)
    assert list(torch.library.opcheck(cell_ops.lltm_cell, (gates, inputs[4])).values()) == ["SUCCESS"] * 4
    pointwise = (*(gate.detach().requires_grad_() for gate in gates.chunk(3, dim=1)), inputs[4])
    assert list(torch.library.opcheck(derived_ops.lltm_derived, pointwise).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
@pytest.mark.parametrize("form", FORMS)
def test_compiled_equals_eager(form: Callable[..., tuple[Tensor, ...]]) -> None:
    compiled = torch.compile(form, fullgraph=True, dynamic=True)
    for sizes in ((4, 3, 5), (7, 2, 6), (16, 9, 8)):
        inputs = arguments(sizes)
        ours, theirs = values_and_gradients(compiled, inputs), values_and_gradients(form, inputs)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other)


def test_the_derived_cell_broadcasts_and_promotes() -> None:
    """The handwritten cell doesn't: a gate for the whole batch, and a cell state of another type."""
    torch.manual_seed(0)
    gate, others = torch.randn(5, dtype=torch.float64), torch.randn(2, 3, 5, dtype=torch.float64)
    cell = torch.randn(3, 1)
    inputs = [tensor.requires_grad_() for tensor in (gate, *others, cell)]

    def theirs(i: Tensor, o: Tensor, c: Tensor, old_cell: Tensor) -> tuple[Tensor, ...]:
        gates = torch.cat(torch.broadcast_tensors(i, o, c), dim=1)
        return cell_python(gates, old_cell.double().expand(3, 5))

    ours = values_and_gradients(derived_ops.lltm_derived, inputs)
    for one, other in zip(ours, values_and_gradients(theirs, inputs), strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, in forward mode
def test_the_derived_cell_in_forward_mode() -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    assert torch.autograd.gradcheck(derived_ops.lltm_derived, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(derived_ops.lltm_derived, inputs, check_fwd_over_rev=True)


def trained(kind: type[LLTM]) -> list[Tensor]:
    torch.manual_seed(0)
    model = kind(3, 5).double()
    x, optimizer = torch.randn(4, 6, 3, dtype=torch.float64), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        h = cell = torch.zeros(6, 5, dtype=torch.float64)
        optimizer.zero_grad()
        for step in x:
            h, cell = model(step, (h, cell))
        (h.square().sum() + cell.sum()).backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("kind", [CellLLTM, DerivedLLTM, WholeLLTM])
def test_trains_like_python(kind: type[LLTM]) -> None:
    for ours, theirs in zip(trained(kind), trained(LLTM), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_wrong_arguments_are_named() -> None:
    x, weights, bias, h, cell = arguments((4, 3, 5))
    expected = r"weights has shape \(15, 7\), expected \[3\*S, I\+S\] = \(15, 8\)"
    with pytest.raises(opwright.ArgumentError, match=expected):
        lltm(x, weights[:, 1:], bias, h, cell)
    with pytest.raises(opwright.ArgumentError, match=r"old_cell has shape \(3, 5\)"):
        lltm(x, weights, bias, h, cell[1:])
    with pytest.raises(opwright.ArgumentError, match=r"bias .*float32"):
        lltm(x, weights, bias.float(), h, cell)
    with pytest.raises(opwright.ArgumentError, match=r"lltm_cell\(\): gates has shape"):
        cell_ops.lltm_cell(weights, cell)
