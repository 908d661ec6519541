"""Calls on a device that isn't the CPU: where they run, what they get there, and what they say when they can't."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
import torch
from torch.library import opcheck

import opwright
from opwright.errors import ArgumentError, KernelError


def test_results_are_where_the_arguments_are(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    x = torch.arange(5.0)
    for index in (0, 1):
        y = ops.twice(there(x, index))
        assert str(y.device) == f"pretended:{index}"
        torch.testing.assert_close(y.cpu(), 2 * x)
        assert pretended.library.pretend_current() == 0  # as it was
    torch.testing.assert_close(ops.twice(x), 2 * x)
    every_other = there(torch.arange(10.0))[::2]
    torch.testing.assert_close(ops.twice(every_other).cpu(), 2 * torch.arange(0.0, 10, 2))
    half = there(x.half(), 1)
    torch.testing.assert_close(ops.twice(half).cpu(), 2 * x.half())


def test_the_current_stream_is_handed_over(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    for index in (0, 1):
        x = there(torch.ones(3), index)
        assert ops.current(x).item() == 1000 + 100 * index
        with pretended.stream(index, 7) as handle:
            assert ops.current(x).item() == handle == 1007 + 100 * index
    seen: list[int] = []
    with pretended.stream(0, 7):  # of this thread alone
        thread = threading.Thread(target=lambda: seen.append(int(ops.current(there(torch.ones(1))).item())))
        thread.start()
        thread.join()
    assert seen == [1000]


def test_gradients(ops: opwright.Operators, there: Any) -> None:
    x = there(torch.arange(4.0), 1).requires_grad_()
    y = ops.twice(x)
    assert y.grad_fn.name() == "TwiceBackward"
    y.backward(there(torch.arange(4.0) + 1, 1))
    assert str(x.grad.device) == "pretended:1"
    torch.testing.assert_close(x.grad.cpu(), 2 * (torch.arange(4.0) + 1))


def test_memory_comes_from_the_device_and_goes_back(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    x, idx = there(torch.arange(6.0)), there(torch.tensor([0, 1]))
    gc.collect()
    before = pretended.blocks()
    y = ops.sums(x, idx)
    assert pretended.blocks() == before + 1
    assert y.item() == 17
    y = ops.sums(there(torch.arange(6.0), 1), there(torch.tensor([0]), 1))
    assert (str(y.device), y.item()) == ("pretended:1", 16)
    del y
    gc.collect()
    assert pretended.blocks() == before


def test_indices_are_not_looked_at(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    x, idx = there(torch.arange(3.0)), there(torch.tensor([99]))
    waits, copies = pretended.waits(), pretended.copies()
    y = ops.sums(x, idx)
    assert (pretended.waits(), pretended.copies()) == (waits, copies)
    assert y.item() == 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_products(ops: opwright.Operators, there: Any, dtype: torch.dtype) -> None:
    a, b = (torch.randn(shape).to(dtype) for shape in ((3, 4), (4, 5)))
    c = ops.product(there(a, 1), there(b, 1))
    torch.testing.assert_close(c.cpu(), a @ b, atol=1e-2, rtol=1e-2)
    empty = ops.product(there(torch.ones(2, 0, dtype=dtype)), there(torch.ones(0, 2, dtype=dtype)))
    torch.testing.assert_close(empty.cpu(), torch.zeros(2, 2, dtype=dtype))


def test_random_numbers(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    x = there(torch.ones(8), 1)
    generator = torch.Generator(device="pretended:1")
    generator.manual_seed(3)
    first, second = ops.noise(x, rng=generator).cpu(), ops.noise(x, rng=generator).cpu()
    generator.manual_seed(3)
    waits = pretended.waits()
    torch.testing.assert_close(ops.noise(x, rng=generator).cpu(), first)
    assert pretended.waits() == waits
    assert not torch.equal(first, second)
    generator.manual_seed(4)
    assert not torch.equal(ops.noise(x, rng=generator).cpu(), first)
    assert not torch.equal(ops.noise(x).cpu(), ops.noise(x).cpu())
    with pytest.raises(RuntimeError, match="Expected a 'pretended' device type for generator but found 'cpu'"):
        ops.noise(x, rng=torch.Generator())


def test_a_captured_graph_draws_on_the_device(ops: opwright.Operators, there: Any, pretended: Any) -> None:
    x, generator = there(torch.ones(4)), torch.Generator(device="pretended:0")
    generator.manual_seed(5)
    with pretended.state(captured=True):
        first, second = ops.noise(x, rng=generator), ops.noise(x, rng=generator)
    for i, drawn in enumerate((first, second)):  # what the device's random_ gives, as a key
        assert drawn.tolist() == [philox(7919 + 4 * i, element) for element in range(4)]


def philox(key: int, element: int) -> int:
    """The first of Philox4x32-10's numbers."""
    words = [0, 0, element, 0]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [b >> 32 ^ words[1] ^ k0, b & 0xFFFFFFFF, a >> 32 ^ words[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return words[0]


def test_what_is_overwritten(ops: opwright.Operators, there: Any) -> None:
    x = there(torch.arange(3.0), 1)
    version = x._version
    assert ops.counted(x).tolist() == [0, 1, 2]
    assert x.tolist() == [1, 2, 3]
    assert x._version == version + 1
    every_other = there(torch.zeros(6))[::2]
    ops.counted(every_other)
    assert every_other.tolist() == [1, 1, 1]


def test_without_tensors(ops: opwright.Operators, pretended: Any) -> None:
    assert ops.made(3, device="pretended:1").tolist() == [0, 1, 2]
    with pretended.on(torch.device("pretended:1")):
        assert str(ops.made(3, device="pretended").device) == "pretended:1"
    with pytest.raises(ArgumentError) as caught:
        ops.made(3)
    assert str(caught.value) == (
        "made(): device is cpu, but this operator has kernels for pretended only\n"
        '  likely fix: device="pretended", or run its CUDA kernels on the CPU: load(..., backend="emulate")'
    )


def test_errors_of_kernels(ops: opwright.Operators, there: Any) -> None:
    with pytest.raises(KernelError, match=r"^failing\(\): the launch failed "):
        ops.failing(there(torch.ones(2)))


def test_a_device_without_kernels(ops: opwright.Operators, there: Any) -> None:
    x = torch.ones(2)
    with pytest.raises(ArgumentError) as caught:
        ops.only_cpu(there(x))
    assert str(caught.value) == (
        "only_cpu(): x is on pretended:0, but this operator has kernels for cpu only\n"
        '  likely fix: call it with .to("cpu")'
    )
    with pytest.raises(ArgumentError) as caught:
        ops.failing(x)
    assert str(caught.value) == (
        "failing(): x is on cpu, but this operator has kernels for pretended only\n"
        '  likely fix: call it with .to("pretended"), or run its CUDA kernels on the CPU: '
        'load(..., backend="emulate")'
    )


def test_tensors_on_several_devices(ops: opwright.Operators, there: Any) -> None:
    x = torch.ones(2, 2)
    with pytest.raises(ArgumentError) as caught:
        ops.product(there(x), there(x, 1))
    assert str(caught.value) == (
        "product(): b is on pretended:1, a on pretended:0; all tensors of a call must be on one device"
    )


def test_autocast_and_vmap(ops: opwright.Operators, there: Any) -> None:
    a, b = torch.randn(2, 2), torch.randn(2, 2)
    with torch.autocast("pretended", dtype=torch.float16):
        c = ops.product(there(a.half()), there(b))
    assert c.dtype == torch.float32
    batched = torch.vmap(ops.twice)(there(a))
    torch.testing.assert_close(batched.cpu(), 2 * a)


def test_checks_of_pytorchs(ops: opwright.Operators, there: Any) -> None:
    x = torch.randn(4)
    opcheck(ops.twice, (x,))
    traced = "test_faketensor"  # the others compute with operators that it lacks, or know the usual devices alone
    opcheck(ops.twice, (there(x),), test_utils=traced)
    opcheck(ops.twice, (there(x, 1).requires_grad_(),), test_utils=traced)


def test_numbers_beside_tensors(ops: opwright.Operators, pretended: Any, there: Any) -> None:
    x, by = torch.arange(4.0), torch.tensor(3.0)
    waits = pretended.waits()
    y = ops.scaled(there(x, 1), by)
    assert str(y.device) == "pretended:1"
    assert pretended.waits() == waits
    torch.testing.assert_close(y.cpu(), 3 * x)
    torch.testing.assert_close(ops.scaled(by, there(x)).cpu(), 3 * x)
    doubled = ops.scaled(there(x.half()), torch.tensor(2.0, dtype=torch.float64))
    assert doubled.dtype == torch.float16
    strided = ops.scaled(there(torch.arange(6.0).view(2, 3)).t(), by)
    torch.testing.assert_close(strided.cpu(), 3 * torch.arange(6.0).view(2, 3).t())
    with pytest.raises(ArgumentError, match=r"by is on cpu, x on pretended:0; all tensors of a call"):
        ops.scaled(there(x), x)
    leaf = there(x).requires_grad_()
    ops.scaled(leaf, by).sum().backward()
    assert leaf.grad.tolist() == [3, 3, 3, 3]
