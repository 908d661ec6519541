"""`opwright.check` with the device's tensors."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

import opwright
from tests.runtime.pretend.conftest import KIND

_FEW = ("calls", "values", "memory", "gradients", "opcheck", "fake kernel", "vmap", "torch.func", "inference mode")


@pytest.mark.skipif(os.environ.get("OPWRIGHT_RUNTIME") == "python", reason="once is enough: it is about the checks")
def test_all_checks_of_an_operator_with_kernels_for_two(ops: opwright.Operators) -> None:
    report = opwright.check(ops.twice, device=KIND, level="quick", only=_FEW)
    assert report.ok, str(report)
    ran = {outcome.check: outcome for outcome in report.outcomes if outcome.status == "passed"}
    assert ran.keys() >= {"devices", "layouts", "gradcheck", "opcheck", "vmap"}
    assert "against the kernels of the CPU" in ran["devices"].detail
    for_the_cpu = [outcome for outcome in report.outcomes if outcome.detail.endswith("it is for the CPU alone")]
    assert {outcome.check for outcome in for_the_cpu} >= {"far elements", "history", "threads"}


@pytest.mark.parametrize(("there", "kind"), [(3.0, "differs-between-devices"), (2.0, "")])
def test_what_differs_between_devices_is_found(pretended: object, there: float, kind: str) -> None:
    def twice(x: Tensor) -> Tensor:
        return x * (there if x.device.type == KIND else 2.0)

    report = opwright.check(twice, signature="t(x: T[N]) -> (y: T[N]) where T in (f32)", device=KIND, only=("devices",))
    assert report.kinds == ({kind} if kind else set())
    if kind:
        assert f"device='{KIND}:0'" in report.findings[0].reproducer


def test_gradients_that_differ_are_found(pretended: object) -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
            return 2 * x

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor) -> Tensor:
            return (2 if grads[0].device.type == "cpu" else 3) * grads[0]

    report = opwright.check(Twice, signature="t(x: T[N]) -> (y: T[N]) where T in (f64)", device=KIND, only=("devices",))
    assert report.kinds == {"differs-between-devices"}
    assert "grad_x differs from what the CPU's kernel gives" in report.findings[0].message
    told = opwright.check(Twice, signature="t(x: T[N]) -> (y: T[N])", device=KIND, only=("gradcheck",), level="quick")
    assert told.kinds == {"constant-factor"}
