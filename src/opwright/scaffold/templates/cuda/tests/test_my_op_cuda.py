"""The CUDA kernels: emulated in several orders and watched, and on a GPU where there is one, against the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import opwright
import pytest
import torch
from opwright.pytest_plugin import CudaPlace
from torch import Tensor

from my_op import my_op

SOURCES = sorted((Path(__file__).parents[1] / "csrc").glob("my_op.c*"))


def arguments(*shape: int, device: str, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x, weight = torch.randn(shape, dtype=dtype).to(device), torch.randn(shape[-1], dtype=dtype).to(device)
    return x.requires_grad_(), weight.requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3,), (2, 0, 3), (4, 1), (3, 300)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype, cuda_place: CudaPlace) -> None:
    form = opwright.load(*SOURCES, backend=cuda_place.backend).my_op
    inputs = arguments(*shape, device=cuda_place.device, dtype=dtype)
    on_cpu = inputs[0].detach().cpu().requires_grad_(), inputs[1].detach().cpu().requires_grad_()
    ours, theirs = form(*inputs), my_op(*on_cpu)
    torch.testing.assert_close(ours.cpu(), theirs)
    incoming = torch.randn_like(theirs)
    mine = torch.autograd.grad(ours, inputs, incoming.to(cuda_place.device))
    torch.testing.assert_close([t.cpu() for t in mine], list(torch.autograd.grad(theirs, on_cpu, incoming)))


def test_gradients_are_those_of_the_values(cuda_place: CudaPlace) -> None:
    form = opwright.load(*SOURCES, backend=cuda_place.backend).my_op
    assert torch.autograd.gradcheck(form, arguments(3, 4, device=cuda_place.device))


def test_what_opwright_checks_of_values_and_gradients(opwright_check: Callable[..., Any]) -> None:
    emulated = opwright.load(*SOURCES, backend="emulate").my_op
    wanted = ("agreement", "layouts", "gradcheck", "written outputs")
    opwright_check(emulated, reference=my_op, only=wanted)
