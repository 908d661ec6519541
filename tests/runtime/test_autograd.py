"""Opwright's nodes behave as PyTorch's own: what they keep, when they fail, and who may listen."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Callable

import pytest
import torch
from torch.autograd import grad
from torch.utils.checkpoint import checkpoint

from opwright import Operators

Leaf = Callable[..., torch.Tensor]


def test_the_residual_is_computed_exactly_when_it_will_be_needed(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    assert grads.probe(x)[1] == 1
    assert grads.probe(x.detach())[1] == 0
    for off in (torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(mode=False)):
        with off():
            assert grads.probe(x)[1] == 0
            with torch.enable_grad():
                assert grads.probe(x)[1] == (0 if off is torch.inference_mode else 1)
    x.requires_grad_(False)
    assert grads.probe(x)[1] == 0


def test_two_operators(grads: Operators) -> None:
    names = {name for name in dir(torch.ops.autograd_ops) if "probe" in name and "_sig_" not in name}
    assert names == {"probe", "probe_backward"}
    assert list(grads)[:3] == ["mul", "mul_backward", "mul_backward_backward"]


def test_the_graph_is_gone_with_its_output(grads: Operators, leaf: Leaf) -> None:
    """The node saves its own output: a reference cycle would keep both until the garbage collector finds them."""
    gc.disable()
    try:
        for op in (grads.logistic, grads.gate):
            x = leaf(3)
            y = op(x)
            out = weakref.ref(y)
            del y
            assert out() is None
    finally:
        gc.enable()


def test_memory_of_a_saved_output_is_freed(grads: Operators) -> None:
    """Native reference cycles are invisible to Python's collector, so this one looks at the memory."""
    import resource

    x = torch.zeros(1 << 22, requires_grad=True)
    grads.logistic(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        grads.logistic(x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 * 16 * 1024  # of 50 times 16 MB


def test_backward_twice(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(3), leaf(3)
    z = grads.mul(x, y).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2 * y.detach())
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.backward()


def test_a_saved_input_changed_in_place(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(3), torch.ones(3, dtype=torch.float64)
    z = grads.mul(x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_saved_output_changed_in_place(grads: Operators, leaf: Leaf) -> None:
    y = grads.logistic(leaf(3))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_hooks_and_retain_grad(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    y = grads.logistic(x)
    y.retain_grad()
    seen: list[str] = []

    def double(gradient: torch.Tensor) -> torch.Tensor:
        seen.append("tensor")
        return 2 * gradient

    y.register_hook(double)
    y.grad_fn.register_hook(lambda *_: seen.append("node"))
    y.sum().backward()
    value = y.detach()
    assert seen == ["tensor", "node"]
    assert y.grad is not None
    assert x.grad is not None
    assert y.grad.tolist() == [2.0] * 3
    torch.testing.assert_close(x.grad, 2 * value * (1 - value))


def test_views_take_part(grads: Operators, leaf: Leaf) -> None:
    x = leaf(4, 6)
    out = grads.mul(x[1:3, ::2], x.t()[1:4, 1:3].t())
    (out[:, 1:].reshape(-1)).sum().backward()
    y = x.detach().requires_grad_()
    (y[1:3, ::2] * y.t()[1:4, 1:3].t())[:, 1:].sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(grads: Operators, leaf: Leaf, reentrant: bool) -> None:
    x, y = leaf(3), leaf(3)

    def body(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = grads.gate(grads.logistic(grads.mul(x, y)))
        return out

    expected = grad(body(x, y).sum(), (x, y))
    checkpoint(body, x, y, use_reentrant=reentrant).sum().backward()
    assert all(torch.equal(t.grad, e) for t, e in zip((x, y), expected, strict=True) if t.grad is not None)
    assert x.grad is not None


def test_saved_tensor_hooks(grads: Operators, leaf: Leaf) -> None:
    x, y = leaf(3), leaf(3)
    packed: list[torch.Tensor] = []

    def pack(t: torch.Tensor) -> int:
        packed.append(t.detach().clone())
        return len(packed) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, packed.__getitem__):
        z = grads.logistic(grads.mul(x, y))
    assert all(map(torch.equal, packed, (x, y, z)))
    assert len(packed) == 3
    z.sum().backward()
    assert x.grad is not None
    value = z.detach()
    torch.testing.assert_close(x.grad, value * (1 - value) * y.detach())


def test_save_on_cpu_with_a_second_derivative(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with torch.autograd.graph.save_on_cpu():
        (first,) = grad(grads.gate(x).sum(), x, create_graph=True)
    torch.testing.assert_close(grad(first.sum(), x)[0], 6 * x.detach())


def test_anomaly_mode(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        anomaly = torch.autograd.detect_anomaly()
    with anomaly:
        y = grads.logistic(x)
        y.sum().backward()
        z = grads.mul(x, torch.full((3,), float("nan"), dtype=x.dtype))
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward"),
            pytest.raises(RuntimeError, match="'MulBackward' returned nan values"),
        ):
            z.sum().backward()


def test_inference_mode(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with torch.inference_mode():
        y = grads.mul(x, x)
        assert y.is_inference()
        assert not y.requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        grads.mul(x, y)
    assert torch.equal(grads.mul(y, y), y * y)  # nothing is saved: fine
    assert grads.rowsum(torch.ones(2, 2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("off", [torch.no_grad, contextlib.nullcontext])
def test_no_graph_without_need(grads: Operators, off: Callable[[], contextlib.AbstractContextManager[None]]) -> None:
    with off():
        y = grads.mul(torch.ones(3, requires_grad=off is torch.no_grad), torch.ones(3))
    assert y.grad_fn is None
    assert not y.requires_grad


def test_many_threads(grads: Operators) -> None:
    failed: list[object] = []

    def work(seed: int) -> None:
        x = torch.randn(257, generator=torch.Generator().manual_seed(seed), requires_grad=True)
        for _ in range(50):
            (g,) = grad(grads.logistic(grads.mul(x, x)).sum(), x)
            s = torch.sigmoid(x.detach() ** 2)
            if not torch.allclose(g, s * (1 - s) * 2 * x.detach(), atol=1e-6):
                failed.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_one_graph_in_many_threads(grads: Operators, leaf: Leaf) -> None:
    x = leaf(100)
    z = grads.gate(x).sum()
    results: list[torch.Tensor] = []
    run = [threading.Thread(target=lambda: results.extend(grad(z, x, retain_graph=True))) for _ in range(4)]
    for thread in run:
        thread.start()
    for thread in run:
        thread.join()
    assert len(results) == 4
    assert all(torch.equal(result, results[0]) for result in results)


def test_profiler_names(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    grads.probe(x)[0].sum().backward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        grads.probe(x)[0].sum().backward()
    names = {event.key for event in profile.key_averages()}
    assert {"autograd_ops::probe", "ProbeBackward", "autograd_ops::probe_backward"} <= names
