"""PyTorch's modes, hooks and subclasses: what they do to its own operators, they do to ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

from opwright import ArgumentError, Operators

Leaf = Callable[..., torch.Tensor]


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_deterministic_algorithms(deterministic: None, grads: Operators, leaf: Leaf) -> None:
    """Outputs are written whole, twice the same."""
    x = leaf(5)
    first, second = (torch.autograd.grad(grads.gate(x).sum(), x)[0] for _ in range(2))
    torch.testing.assert_close(first, 3 * x.detach() ** 2)
    assert torch.equal(first, second)


def test_inference_mode(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with torch.inference_mode():
        y, plain = grads.gate(x), torch.full((3,), 2.0, dtype=torch.float64)
        assert y.is_inference()
        assert grads.mul(plain, plain).is_inference()
        assert not y.requires_grad
    torch.testing.assert_close(y.clone(), x.detach() ** 3)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        grads.mul(x, plain)
    assert grads.mul(x.detach(), plain).tolist() == (2 * x.detach()).tolist()


def test_no_grad_and_enable_grad(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with torch.no_grad():
        assert not grads.gate(x).requires_grad
        assert grads.probe(x)[1] == 0  # no residual was asked for
        with torch.enable_grad():
            assert grads.gate(x).requires_grad
            assert grads.probe(x)[1] == 1


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoint(grads: Operators, leaf: Leaf, use_reentrant: bool) -> None:
    x = leaf(4)
    y = checkpoint(lambda x: grads.gate(grads.mul(x, x)), x, use_reentrant=use_reentrant)  # x^6
    y.sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach() ** 5)


def test_saved_tensors_hooks(grads: Operators, leaf: Leaf) -> None:
    """What is saved goes through `pack`, what the backward gets is what `unpack` returned."""
    x, y, packed = leaf(3), leaf(3).detach() + 1, []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        packed.append(tensor.clone())
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: 10 * tensor):
        z = grads.mul(x, y)
        g = grads.gate(x)
    torch.testing.assert_close(packed, [x.detach(), y, x.detach(), x.detach() ** 2])
    torch.testing.assert_close(torch.autograd.grad(z.sum(), x)[0], 10 * y)
    torch.testing.assert_close(torch.autograd.grad(g.sum(), x)[0], 30 * x.detach() ** 2)  # the residual, times ten
    with save_on_cpu():
        s = grads.logistic(x)
    p = x.detach().sigmoid()
    torch.testing.assert_close(torch.autograd.grad(s.sum(), x)[0], p * (1 - p))


def test_hooks_of_tensors_and_nodes(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    seen: list[Any] = []
    y = grads.mul(x, x)
    y.register_hook(lambda grad: 2 * grad)
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda grads_out: seen.append([g.tolist() for g in grads_out]))
    y.grad_fn.register_hook(lambda grads_in, grads_out: tuple(None if g is None else g + 1 for g in grads_in))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("accumulated"))
    y.sum().backward()
    assert seen == [[[2.0, 2.0, 2.0]], "accumulated"]
    torch.testing.assert_close(x.grad, 4 * x.detach() + 2)  # x is there twice


def test_retain_graph(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    y = grads.gate(x).sum()
    first = torch.autograd.grad(y, x, retain_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(y, x)[0], first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(y, x)


def test_anomaly_mode_names_the_line_of_the_forward(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            y = grads.mul(x, torch.full((3,), torch.nan, dtype=torch.float64))  # this line
            with pytest.raises(RuntimeError, match="Function 'MulBackward' returned nan values in its 0th output"):
                y.sum().backward()
    assert any("# this line" in str(warning.message) for warning in caught)


class Seen(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.functions: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


def test_a_function_mode_sees_the_operator(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with Seen() as seen:
        grads.mul(x, x)
        torch.ops.autograd_ops.mul(x, x)
    assert seen.functions == [grads.mul, torch.ops.autograd_ops.mul]


class Named(torch.Tensor):
    seen: list[Any] = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]


def test_a_function_subclass_stays_what_it_is(grads: Operators) -> None:
    x = torch.ones(3).as_subclass(Named)
    Named.seen.clear()
    y = grads.mul(x, torch.full((3,), 2.0))
    assert Named.seen == [grads.mul]
    assert type(y) is Named
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_parameters(grads: Operators) -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    y = grads.mul(weight, weight)
    assert type(y) is torch.Tensor
    y.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [2.0, 2.0, 2.0]


def test_functionalize(grads: Operators) -> None:
    def add(x: torch.Tensor) -> Any:
        y = grads.mul(x, x)
        y.add_(1)
        return y

    traced = torch.fx.experimental.proxy_tensor.make_fx(torch.func.functionalize(add))(torch.ones(3))
    names = [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
    assert [name.split(".")[1] for name in names] == ["mul", "add"]  # and not add_
    assert traced(torch.full((3,), 2.0)).tolist() == [5.0, 5.0, 5.0]


class Elsewhere(torch.Tensor):
    """A tensor of a device for which there are no kernels, as far as the dispatcher can tell; it has no memory."""

    @staticmethod
    def __new__(cls: type[Elsewhere], size: int) -> Elsewhere:  # noqa: PYI034
        made: Elsewhere = torch.Tensor._make_wrapper_subclass(cls, (size,), device=torch.device("privateuseone:0"))
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise AssertionError(func)

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


def test_a_device_without_kernels_is_an_error(grads: Operators) -> None:
    """mps, xpu and the like can't be had here; a private backend goes the same way."""
    python = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)
    here, there = torch.ones(3), Elsewhere(3)
    for arguments in ((there, there), (here, there), (there, here.requires_grad_())):
        with (
            torch._C._ExcludeDispatchKeyGuard(python),
            pytest.raises(
                ArgumentError, match=r"mul\(\): [xy] is on privateuseone:0, but this operator has kernels for cpu"
            ),
        ):
            grads.mul(*arguments)
