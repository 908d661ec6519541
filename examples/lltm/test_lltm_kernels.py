"""Tests of LLTM's CUDA kernels: emulated in every order and checked, and on a GPU if there is one."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
import torch
from lltm import LLTM, lltm_python
from lltm_kernels import AccessorLLTM, KernelLLTM, PointerLLTM, PointwiseLLTM
from test_lltm import Sizes, arguments, values_and_gradients
from torch import Tensor

import opwright
from opwright.cuda.emulation import order

KINDS = [PointerLLTM, AccessorLLTM, PointwiseLLTM]
ORDERS = [("forward", 0), ("reverse", 0), ("random", 1), ("random", 2)]
NEEDS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
BACKENDS = ["emulate", opwright.emulate(check=True)]
PLACES = [pytest.param("cpu", id="emulated"), pytest.param("cuda", marks=NEEDS_GPU)]


@pytest.fixture(params=BACKENDS, ids=["emulated", "checked"])
def backend(request: pytest.FixtureRequest) -> object:
    return request.param


@pytest.fixture(params=ORDERS, ids=lambda each: f"{each[0]}-{each[1]}")
def in_order(request: pytest.FixtureRequest) -> Iterator[None]:
    with order(*request.param):
        yield


def made(kind: type[KernelLLTM], device: str = "cpu", backend: object = "emulate") -> KernelLLTM:
    """Build a layer whose parameters are passed at each call; the arguments determine the sizes."""
    return kind(1, 1, backend=backend if device == "cpu" else None).to(device)  # type: ignore[arg-type]


def step(model: KernelLLTM, *inputs: Tensor) -> tuple[Tensor, ...]:
    x, weights, bias, old_h, old_cell = inputs
    new: tuple[Tensor, ...] = torch.func.functional_call(
        model, {"weights": weights, "bias": bias}, (x, (old_h, old_cell))
    )
    return new


def close_to_python(model: KernelLLTM, sizes: Sizes, device: str, dtype: torch.dtype = torch.float64) -> None:
    inputs = arguments(sizes, dtype)
    there = [tensor.detach().to(device).requires_grad_() for tensor in inputs]
    wide = [tensor.detach().double().requires_grad_() for tensor in inputs]
    ours = values_and_gradients(lambda *given: step(model, *given), there)
    for one, exact in zip(ours, values_and_gradients(lltm_python, wide), strict=True):
        scale = max(1.0, float(exact.detach().abs().max())) if exact.numel() else 1.0
        tolerance = 16 * torch.finfo(dtype).eps * scale
        torch.testing.assert_close(one.cpu(), exact.to(dtype), rtol=0.0, atol=tolerance)


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
@pytest.mark.parametrize("sizes", [(5, 3, 7), (16, 32, 128), (1, 1, 1), (0, 3, 4), (2, 0, 3), (2, 3, 0)])
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_gradients(kind: type[KernelLLTM], sizes: Sizes, dtype: torch.dtype, device: str) -> None:
    close_to_python(made(kind, device), sizes, device, dtype)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.usefixtures("in_order")
@pytest.mark.parametrize("kind", KINDS)
def test_in_every_order_with_and_without_the_checker(kind: type[KernelLLTM], backend: object) -> None:
    close_to_python(made(kind, backend=backend), (9, 2, 70), "cpu")  # several blocks along each axis, with partial ones


@pytest.mark.slow
@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(kind: type[KernelLLTM], device: str) -> None:
    inputs = [tensor.detach().to(device).requires_grad_() for tensor in arguments((3, 2, 2))]
    model = made(kind, device)
    assert torch.autograd.gradcheck(lambda *given: step(model, *given), inputs)
    if kind is not AccessorLLTM:
        assert torch.autograd.gradgradcheck(lambda *given: step(model, *given), inputs)


@pytest.mark.slow
def test_gradcheck_under_the_checker(backend: object) -> None:
    for kind in KINDS:
        model = made(kind, backend=backend)
        assert torch.autograd.gradcheck(lambda *given, model=model: step(model, *given), arguments((2, 1, 2)))


def test_second_derivatives_of_the_accessor_form_are_refused_by_name() -> None:
    inputs = arguments((3, 2, 2))
    new_h, _ = step(made(AccessorLLTM), *inputs)
    (gradient,) = torch.autograd.grad(new_h.sum(), inputs[0], create_graph=True)
    with pytest.raises(opwright.UnsupportedError, match=r"lltm_accessors_backward\(\) has no second derivative"):
        gradient.sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_without_gradient_and_for_one_input_alone(kind: type[KernelLLTM], device: str) -> None:
    """Nothing is saved without a gradient, and only the requested gradients are computed."""
    model, inputs = made(kind, device), [tensor.detach().to(device) for tensor in arguments((3, 2, 4))]
    unsaved, theirs = step(model, *inputs), lltm_python(*inputs)
    for wanted in range(5):
        inputs[wanted].requires_grad_()
        ours, exact = (
            torch.autograd.grad(sum(each.sum() for each in outputs), inputs[wanted])
            for outputs in (step(model, *inputs), lltm_python(*inputs))
        )
        torch.testing.assert_close(ours, exact)
        inputs[wanted].requires_grad_(False)
    torch.testing.assert_close(tuple(unsaved), tuple(theirs))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_trained_like_the_one_in_python(kind: type[KernelLLTM]) -> None:
    torch.manual_seed(0)
    ours, theirs = kind(3, 5, backend="emulate").double(), LLTM(3, 5).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(4, 6, 3, dtype=torch.float64)
    for model in (copy.deepcopy(ours), theirs):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            state = torch.zeros(2, 6, 5, dtype=torch.float64).unbind()
            optimizer.zero_grad()
            for each in x:
                state = model(each, state)
            (state[0].square().sum() + state[1].sum()).backward()
            optimizer.step()
        if model is not theirs:
            ours = model
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_wrong_arguments_are_named() -> None:
    x, weights, bias, h, cell = (tensor.detach() for tensor in arguments((4, 3, 5)))
    with pytest.raises(opwright.ArgumentError, match=r"lltm_accessors\(\): old_cell has shape \(3, 5\)"):
        made(AccessorLLTM).ops.lltm_accessors(torch.zeros(4, 3, 5).double(), cell[1:])
    with pytest.raises(RuntimeError, match="4"):
        step(made(PointerLLTM), x, weights, bias, h[1:], cell)
