"""Those who look at operators instead of running them: opcheck, fakes, meta, tracers, dispatch modes, subclasses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from opwright import Operators, UnsupportedError

Leaf = Callable[..., torch.Tensor]
_ALL = {"test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"}


def arguments(leaf: Leaf) -> dict[str, tuple[Any, ...]]:
    x, y, m = leaf(3), leaf(3), leaf(2, 3)
    d = [t.detach() for t in (x, y)]
    return {
        "mul": (m, m),
        "mul_backward": (m, m, m),
        "mul_backward_backward": (d[0], None, *d, d[1], [True, False, True]),
        "logistic": (x,),
        "rowsum": (m,),
        "rowsum_backward": (x, 5, [True]),
        "total": (leaf(2, 3, 4),),
        "total_backward": (leaf(), 2, [2, 3]),
        "total_backward_backward": (None, d[0].sum(), 2, [2, 3]),
        "probe": (x,),
        "gate": (x,),
        "gate_backward": (x, None, y, y),
        "affine": (x, None, y, 2.0, 3, True),
        "affine_backward": (*d, None, 2.0, 3, True, [True, False, True]),
        "pair": (x, y),
        "mixed": (x, torch.arange(3)),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", arguments(lambda *shape: torch.empty(shape)))
def test_opcheck(grads: Operators, leaf: Leaf, name: str) -> None:
    results = torch.library.opcheck(getattr(grads, name), arguments(leaf)[name])
    assert results == dict.fromkeys(_ALL, "SUCCESS")


def test_opcheck_of_the_recorded_form(grads: Operators, leaf: Leaf) -> None:
    op = grads.gate.overloadpacket.recorded
    assert torch.library.opcheck(op, (leaf(3),)) == dict.fromkeys(_ALL, "SUCCESS")


def test_meta_tensors(grads: Operators) -> None:
    x = torch.empty(3, 5, device="meta", dtype=torch.bfloat16, requires_grad=True)
    y = grads.mul(x.t(), x.t())
    assert (y.device.type, y.shape, y.dtype, y.stride()) == ("meta", (5, 3), torch.bfloat16, (3, 1))
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.is_meta
    s, index = grads.affine(torch.empty(7, device="meta"))
    assert (s.shape, index.dtype) == ((7,), torch.int64)


def test_fake_tensors(grads: Operators, leaf: Leaf) -> None:
    with FakeTensorMode() as mode:
        x = mode.from_tensor(leaf(2, 3, 4))
        s = grads.total(x)
        assert (s.shape, s.dtype, s.device.type) == ((), torch.float64, "cpu")
        (gx,) = torch.autograd.grad(s, x)
        assert gx.shape == (2, 3, 4)


def test_make_fx_with_symbolic_sizes(grads: Operators, leaf: Leaf) -> None:
    def step(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        s = grads.rowsum(grads.mul(x, y))
        return (s, *torch.autograd.grad(s.sum(), (x, y)))

    graph = make_fx(step, tracing_mode="symbolic")(leaf(3, 4), leaf(3, 4))
    called = [str(n.target) for n in graph.graph.nodes if "autograd_ops" in str(n.target)]
    assert [name.split(".")[1] for name in called] == ["mul", "rowsum", "rowsum_backward", "mul_backward"]
    x, y = leaf(5, 2), leaf(5, 2)
    for got, expected in zip(graph(x, y), step(x, y), strict=True):
        torch.testing.assert_close(got, expected)


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "autograd_ops":
            self.names.append(func._schema.name.split("::")[1])
        return func(*args, **(kwargs or {}))


def test_a_dispatch_mode_sees_forward_and_backward(grads: Operators, leaf: Leaf) -> None:
    x = leaf(3)
    with Log() as log:
        y = grads.gate(x)
        grads.gate(x.detach())
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        first.sum().backward()
    assert log.names[:4] == ["gate", "gate", "gate_backward", "gate_backward_backward"]
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 6 * x.detach())


class Wrapped(torch.Tensor):
    inner: torch.Tensor  # type: ignore[assignment]

    @staticmethod
    def __new__(cls: type[Wrapped], inner: torch.Tensor) -> Wrapped:  # noqa: PYI034
        made: Wrapped = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=True)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        _calls.append(func._schema.name)
        unwrapped = torch.utils._pytree.tree_map_only(Wrapped, lambda t: t.inner, args)
        return torch.utils._pytree.tree_map_only(torch.Tensor, Wrapped, func(*unwrapped, **(kwargs or {})))


_calls: list[str] = []


def test_a_subclass_sees_forward_and_backward(grads: Operators) -> None:
    x = Wrapped(torch.arange(1.0, 4.0))
    y = grads.gate(x)
    assert type(y) is Wrapped
    torch.autograd.backward(y, Wrapped(torch.ones(3)))
    assert isinstance(x.grad, Wrapped)
    assert x.grad.inner.tolist() == [3.0, 12.0, 27.0]
    assert {"autograd_ops::gate", "autograd_ops::gate_backward"} <= set(_calls)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # torch's own decompositions for jvp
def test_forward_mode_is_refused(grads: Operators, leaf: Leaf) -> None:
    message = r"mul\(\): there is no forward-mode derivative \(jvp\) of this operator; use reverse mode"
    x = torch.ones(3)
    with pytest.raises(UnsupportedError, match=message):
        torch.func.jvp(lambda x: grads.mul(x, x), (x,), (x,))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        with pytest.raises(UnsupportedError, match=message):
            grads.mul(x, dual)
        with torch.no_grad(), pytest.raises(UnsupportedError, match=message):
            grads.mul(dual, x)
    y = leaf(3)

    def squares(x: torch.Tensor) -> Any:
        return grads.mul(x, x).sum()

    with pytest.raises(UnsupportedError, match="forward-mode"):
        torch.func.jvp(torch.func.grad(squares), (y.detach(),), (x.double(),))
    with forward_ad.dual_level():  # a tangent in the backward alone
        z = grads.logistic(y)
        with pytest.raises(UnsupportedError, match="forward-mode"):
            torch.autograd.grad(z, y, forward_ad.make_dual(torch.ones_like(z), torch.ones_like(z)))


@pytest.mark.slow
def test_compiled_autograd_of_a_compiled_forward(grads: Operators, leaf: Leaf) -> None:
    from torch._dynamo import compiled_autograd

    x = leaf(3)
    y = torch.compile(lambda x: grads.logistic(x).sum(), backend="aot_eager", fullgraph=True)(x)
    with compiled_autograd._enable(torch.compile(backend="eager")):
        y.backward()
    s = torch.sigmoid(x.detach())
    torch.testing.assert_close(x.grad, s * (1 - s))
