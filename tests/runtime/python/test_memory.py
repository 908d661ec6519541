"""What a call keeps, and for how long."""

from __future__ import annotations

import contextlib
import gc
import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import Operators
from opwright.runtime.python import host

pytestmark = pytest.mark.skipif(os.environ.get("OPWRIGHT_RUNTIME") != "python", reason="about the runtime in Python")


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_call_keeps_nothing(grads: Operators, calls: Operators, notation: Operators) -> None:
    def run(x: torch.Tensor) -> list[Any]:
        return [grads.mul(x, x), calls.strided(x), calls.copy(x.t()), notation.columns(x)]

    run(torch.ones(3, 4))  # what is built once leaves cycles
    gc.collect()
    x = torch.ones(3, 4)
    tracked, results = weakref.ref(x), run(x)
    made = [weakref.ref(results[0]), weakref.ref(results[3][0])]
    del x, results
    assert tracked() is None
    assert all(result() is None for result in made)
    assert gc.collect() == 0  # no cycles either


def test_an_error_keeps_nothing_but_its_traceback(calls: Operators) -> None:
    x = torch.ones(2)
    tracked = weakref.ref(x)
    with pytest.raises(RuntimeError):
        calls.checked(x, -1)
    del x
    gc.collect()  # what pytest.raises holds
    assert tracked() is None


def test_saved_tensors_go_with_the_backward(grads: Operators) -> None:
    x, scale = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)
    saved = weakref.ref(scale)
    z = grads.mul(x, scale)
    del scale
    assert saved() is not None
    z.sum().backward()
    assert z.grad_fn is not None
    assert saved() is None


@pytest.mark.parametrize("op", ["mul", "logistic", "gate", "affine"])
def test_a_graph_goes_with_its_output(grads: Operators, op: str) -> None:
    def run(x: torch.Tensor) -> Any:
        return grads.mul(x, x) if op == "mul" else getattr(grads, op)(x)

    x = torch.ones(3, requires_grad=True)
    run(x)
    gc.collect()
    between = x * 1
    tracked = weakref.ref(between)
    out = run(between)
    del between, out
    assert tracked() is None
    assert gc.collect() == 0


def test_a_graph_with_a_second_derivative(grads: Operators) -> None:
    x = torch.ones(3, requires_grad=True)
    between = x * 1
    tracked = weakref.ref(between)
    (first,) = torch.autograd.grad(grads.gate(between).sum(), x, create_graph=True)
    first.sum().backward()
    del first, between
    assert tracked() is None


@pytest.mark.parametrize("n", [3, -1])
def test_workspaces_are_given_back(n: int) -> None:
    """Also where the kernel fails."""
    ops = opwright.load(Path(__file__).parents[2] / "include" / "kernels" / "services.cpp")
    with contextlib.nullcontext() if n > 0 else pytest.raises(opwright.KernelError):
        ops.scratch(torch.ones(4), n)
    assert not host._blocks
