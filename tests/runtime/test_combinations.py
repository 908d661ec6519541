"""Operators whose element types are chosen together."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright import ArgumentError, Operators
from opwright.cli.build import jobs_of
from opwright.signature import DType
from tests.interpreter import run_python

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own
SOURCE = Path(__file__).parent / "kernels" / "combination_ops.cpp"
MATMUL = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
    torch.float8_e4m3fn: torch.bfloat16,
}


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(SOURCE)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", MATMUL, ids=str)
def test_the_result_has_the_type_that_follows(ops: Operators, dtype: torch.dtype) -> None:
    a, b = random(3, 5).to(dtype), random(5, 2, seed=1).to(dtype)
    c = ops.mixed_matmul(a, b)
    assert c.dtype == MATMUL[dtype]
    torch.testing.assert_close(c, (a.double() @ b.double()).to(c.dtype))


def test_inputs_of_different_types(ops: Operators) -> None:
    at = torch.tensor([2, 0, 2], dtype=torch.int32)
    for x, w, result in (
        (torch.float32, torch.float32, torch.float32),
        (torch.float16, torch.float32, torch.float32),
        (torch.float32, torch.float64, torch.float64),
    ):
        first, second = random(4).to(x), random(4, seed=1).to(w)
        got = ops.gathered(first, second, at)
        torch.testing.assert_close(got, (first.to(result) * second.to(result))[at.long()])
    with pytest.raises(ArgumentError) as caught:
        ops.gathered(random(4).half(), random(4).double(), at)
    text = str(caught.value)
    assert text.startswith("gathered(): T = float16 (x), W = float64 (w) is none of the combinations of element types,")
    assert "(float32, float64, float64)" in text
    assert "w.to(torch.float32)" in text


def test_gradients(ops: Operators) -> None:
    a, b = random(3, 4).double().requires_grad_(), random(4, 2).double().requires_grad_()
    assert torch.autograd.gradcheck(ops.mixed_matmul, (a, b))
    x = random(3, 4).half().requires_grad_()
    ops.mixed_matmul(x, torch.ones(4, 2).half()).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float16
    assert torch.equal(x.grad, torch.full((3, 4), 2.0).half())
    narrow = ops.mixed_matmul(a.detach().to(torch.float8_e4m3fn), b.detach().to(torch.float8_e4m3fn))
    assert not narrow.requires_grad


def test_pointwise_promotes_first(ops: Operators) -> None:
    x, y = random(3), random(3, seed=1).half()
    assert torch.equal(ops.widen_product(x, y), x.double() * y.double())
    assert torch.equal(ops.widen_product(y, y), y.float() * y.float())
    whole = torch.tensor([3, -4], dtype=torch.int32)
    assert torch.equal(ops.widen_product(whole, whole), torch.tensor([9.0, 16.0]).double())
    leaf = y.clone().requires_grad_()
    ops.widen_product(leaf, y).sum().backward()
    assert leaf.grad is not None
    assert torch.equal(leaf.grad, y)


@pytest.mark.slow
def test_pytorchs_tools(ops: Operators) -> None:
    a, b = random(3, 4).half().requires_grad_(), random(4, 2).half().requires_grad_()
    torch.library.opcheck(ops.mixed_matmul, (a, b))
    torch._dynamo.reset()
    compiled = torch.compile(ops.mixed_matmul, dynamic=True, fullgraph=True, backend="aot_eager")
    for rows in (3, 6):
        x = random(rows, 4, seed=rows).half()
        assert torch.equal(compiled(x, b), ops.mixed_matmul(x, b))  # type: ignore[no-untyped-call]
    batch = random(5, 3, 4).half()
    got = torch.vmap(ops.mixed_matmul, in_dims=(0, None))(batch, b.detach())
    assert torch.equal(got, torch.stack([ops.mixed_matmul(x, b.detach()) for x in batch]))


def test_instances_are_the_combinations(ops: Operators) -> None:
    source = ops.__loaded__.sources[0]
    jobs = jobs_of(source, None, all_devices=False)
    every = {tuple(sorted(job.types.items())) for job in jobs if {*job.types} == {"T", "W"}}
    assert len(every) == 5 + 3 - 1  # of the matmul and of the product, which have one in common
    halves = [job.types for job in jobs_of(source, {"float16"}, all_devices=False)]
    assert halves
    assert all(types == {"T": DType.F16, "W": DType.F32} for types in halves)


_BUNDLED = """
import sys, torch
sys.modules["opwright"] = None
torch.ops.load_library(sys.argv[1])
x = torch.ones(2, 3).half().requires_grad_()
torch.ops.combination_ops.mixed_matmul(x, torch.ones(3, 2).half()).sum().backward()
print(x.grad.dtype)
"""


@pytest.mark.slow
def test_bundle(ops: Operators, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="leave gathered without a kernel"):
        opwright.bundle(ops, tmp_path / "none.so", dtypes=[torch.float16])
    types = [torch.float16, torch.float32, torch.int32]
    path = opwright.bundle(ops, tmp_path / "combinations.so", dtypes=types)
    done = run_python(_BUNDLED, path)
    assert done.stdout == "torch.float16\n", done.stderr
