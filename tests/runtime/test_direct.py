"""The direct path of calls: when it is taken, and that either way gives the same results, graphs and errors."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import opwright
from opwright import ArgumentError, Operators
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.torch_internals import call_of, set_call
from tests.interpreter import run_python
from tests.messages.raising import failing

pytestmark = pytest.mark.skipif(
    getattr(getattr(started_runtime(), "direct", None), "obstacle", "no such path") != "",
    reason="this runtime, or this process, has no direct path",
)
SOURCE = """
#include <opwright.h>
#include <optional>
#include <string_view>
enum class Mode { mean, sum };
OPWRIGHT("scaled(x: T[N], y: T[N], by: float = 2.0) -> (z: T[N])")
template <class T>
void scaled(Tensor<const T, 1> x, Tensor<const T, 1> y, double by, Tensor<T, 1> z) {
  for (int64_t i = 0; i < x.size(0); ++i) z[i] = T(x[i] * y[i] * T(by));
}
OPWRIGHT("scaled_backward(grad_z: T[N], x: T[N], y: T[N], by: float) -> (grad_x: T[N], grad_y: T[N])")
template <class T>
void scaled_backward(Tensor<const T, 1> grad_z, Tensor<const T, 1> x, Tensor<const T, 1> y, double by,
                     Tensor<T, 1> grad_x, Tensor<T, 1> grad_y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (grad_x) grad_x[i] = grad_z[i] * y[i] * T(by);
    if (grad_y) grad_y[i] = grad_z[i] * x[i] * T(by);
  }
}
OPWRIGHT("added(x: T!, y: T) -> ()")
template <class T>
void added(T &x, T y) { x += y; }
OPWRIGHT("told(x: T[N], w: T[N]?, k: int, mode: sum | mean = sum, p: float?, flag: bool = False, text: str = 'plain')"
         " -> (y: f64[8], z: T[N])")
template <class T>
void told(Tensor<const T, 1> x, Tensor<const T, 1> w, int64_t k, Mode mode, std::optional<double> p, bool flag,
          std::string_view text, Tensor<double, 1> y, Tensor<T, 1> z) {
  const double all[] = {double(x.size(0)), w ? 1.0 : 0.0, double(k), double(mode == Mode::mean), p.value_or(-1),
                        double(p.has_value()), double(flag), double(text.size())};
  for (int i = 0; i < 8; ++i) y[i] = all[i];
  for (int64_t i = 0; i < x.size(0); ++i) z[i] = x[i];
}
"""


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load_inline("direct_ops", cpp=SOURCE)


@contextlib.contextmanager
def counted(op: Any) -> Iterator[list[int]]:
    """Count the calls that go PyTorch's way."""
    own, calls = call_of(op), [0]

    def call(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return own(*args, **kwargs)

    set_call(op, call)
    try:
        yield calls
    finally:
        set_call(op, own)


class Plain(torch.Tensor):
    """A subclass."""


class Listening(TorchDispatchMode):
    """A mode that only looks."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def doubled() -> contextlib.AbstractContextManager[Any]:
    return torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t)


X, Y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, -1.0, 4.0])
NOTHING = contextlib.nullcontext

DIRECT: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "plain": (NOTHING, lambda op: op(X, Y)),
    "a number": (NOTHING, lambda op: op(X, Y, 3.0)),
    "an int for a float": (NOTHING, lambda op: op(X, Y, 3)),
    "empty keywords": (NOTHING, lambda op: op(X, Y)),
    "a parameter": (NOTHING, lambda op: op(torch.nn.Parameter(X), Y)),
    "a gradient": (NOTHING, lambda op: op(X.clone().requires_grad_(), Y)),
    "no_grad": (torch.no_grad, lambda op: op(X.clone().requires_grad_(), Y)),
    "inference": (torch.inference_mode, lambda op: op(X, Y)),
    "below autograd": (torch._C._AutoDispatchBelowAutograd, lambda op: op(X.clone().requires_grad_(), Y)),
    "saved tensors hooks": (doubled, lambda op: op(X.clone().requires_grad_(), Y)),
    "not contiguous": (NOTHING, lambda op: op(X.repeat(2)[::2], Y)),
    "another shape": (NOTHING, lambda op: op(X, torch.ones(4))),
    "another type": (NOTHING, lambda op: op(X, Y.double())),
}
OTHERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "a keyword": (NOTHING, lambda op: op(X, Y, by=3.0)),
    "a number for a tensor": (NOTHING, lambda op: op(X, 1.0)),
    "too few": (NOTHING, lambda op: op(X)),
    "too many": (NOTHING, lambda op: op(X, Y, 1.0, 2.0)),
    "None": (NOTHING, lambda op: op(X, None)),
    "a bool for a float": (NOTHING, lambda op: op(X, Y, True)),
    "a number that no float is": (NOTHING, lambda op: op(X, Y, 10**400)),
    "a tensor for a float": (NOTHING, lambda op: op(X, Y, torch.tensor(2.0))),
    "a subclass": (NOTHING, lambda op: op(X.as_subclass(Plain), Y)),
    "a device mode": (lambda: torch.device("cpu"), lambda op: op(X, Y)),
    "a dispatch mode": (Listening, lambda op: op(X, Y)),
    "a profiler": (torch.profiler.profile, lambda op: op(X, Y)),
    "autocast": (lambda: torch.autocast("cpu", torch.bfloat16), lambda op: op(X, Y)),
    "lazily negated": (NOTHING, lambda op: op(torch.complex(X, X).conj().imag, Y)),
    "meta": (NOTHING, lambda op: op(X.to("meta"), Y.to("meta"))),
    "sparse": (NOTHING, lambda op: op(X.to_sparse(), Y)),
    "vmap": (NOTHING, lambda op: torch.vmap(op)(X.expand(2, 3), Y.expand(2, 3))),
    "grad": (NOTHING, lambda op: torch.func.grad(lambda x: op(x, Y).sum())(X)),
}


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """Return what came of a call: a value with its graph, or an error's class and text."""
    try:
        value = call()
    except Exception as error:  # noqa: BLE001 - compared with the other way's
        return type(error).__name__, str(error)
    node = value.grad_fn
    edges = [type(edge).__name__ for edge, _ in node.next_functions] if node else []
    return f"{type(value).__name__} {node and node.name()} {edges} {value.is_inference()}", value.detach()


@pytest.mark.parametrize("name", [*DIRECT, *OTHERS])
def test_either_way_is_the_same(ops: Operators, name: str) -> None:
    context, call = (DIRECT | OTHERS)[name]
    with context(), counted(ops.scaled) as calls:
        kind, value = outcome(lambda: call(ops.scaled))
    assert bool(calls[0]) == (name in OTHERS)
    started_runtime().call_directly(ops.scaled, None)
    try:
        with context(), counted(ops.scaled) as calls:
            expected_kind, expected = outcome(lambda: call(ops.scaled))
    finally:
        started_runtime().call_directly(ops.scaled, ops.__loaded__.registered["scaled"].run)
    assert calls[0]
    assert kind == expected_kind
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(value, expected, rtol=0, atol=0)
    else:
        assert value == expected


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
def test_a_tangent(ops: Operators) -> None:
    with forward_ad.dual_level(), counted(ops.scaled) as calls:
        assert "forward" in failing(lambda: ops.scaled(forward_ad.make_dual(X, Y), Y), opwright.UnsupportedError)
    assert calls == [1]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_gradients(ops: Operators) -> None:
    x, y = (t.double().requires_grad_() for t in (X, Y))
    with counted(ops.scaled) as calls:
        assert torch.autograd.gradcheck(ops.scaled, (x, y))
        assert torch.autograd.gradcheck(lambda x, y: ops.scaled(x, y, 3.0), (x, y))
        with doubled():  # of x and y, which are saved, twice as much
            z = ops.scaled(x, y)
        torch.testing.assert_close(torch.autograd.grad(z.sum(), x), (4 * y,))
        with torch.autograd.detect_anomaly(check_nan=False):
            node: Any = ops.scaled(x, y).grad_fn
        assert "test_gradients" in "".join(node.metadata["traceback_"])
    assert calls == [0]


def test_every_kind_of_argument(ops: Operators) -> None:
    with counted(ops.told) as calls:
        y, z = ops.told(X, None, 5)
        assert y.tolist() == [3, 0, 5, 0, -1, 0, 0, 5]
        assert torch.equal(z, X)
        y, _ = ops.told(X, Y, -(2**62), "mean", 0.5, True, "\u00e9t\u00e9\0")
        assert y.tolist() == [3, 1, -(2.0**62), 1, 0.5, 1, 1, 6]
        assert calls == [0]
        assert "mode is 'mode', expected 'sum' or 'mean'" in failing(
            lambda: ops.told(X, None, 5, "mode"), ArgumentError
        )
        assert calls == [0]
        with pytest.raises((RuntimeError, OverflowError)):
            ops.told(X, None, 2**63)
        failing(lambda: ops.told(X, None, 1.0), ArgumentError)
        assert ops.told(X, None, 1, "sum", None, 1)[0][6] == 1  # PyTorch's parser takes an int for a bool
        failing(lambda: ops.told(X, None, 1, "sum", None, False, "\ud800"), ArgumentError)
        assert calls == [4]


def test_an_overwritten_argument(ops: Operators) -> None:
    x = torch.ones(3)
    with counted(ops.added) as calls:
        assert ops.added(x, Y) is None
        assert x._version == 1
        leaf = torch.ones(3, requires_grad=True)
        text = failing(lambda: ops.added(leaf, Y), RuntimeError)
        assert text.startswith("added(): x is overwritten, and it is a leaf that requires a gradient\n")
        with torch.inference_mode():
            ops.added(torch.ones(3), Y)
    assert calls == [1]  # below autograd, others count versions
    torch.testing.assert_close(x, 1 + Y)


def test_it_is_the_operator_that_graphs_know(ops: Operators) -> None:
    op = ops.scaled
    assert isinstance(op, torch._ops.OpOverload)
    assert op is torch.ops.direct_ops.scaled.default
    assert repr(op).startswith("<OpOverload(op='direct_ops.scaled'")
    assert hash(op) == hash(call_of(op))
    with counted(torch.ops.direct_ops.scaled) as calls:
        torch.testing.assert_close(torch.ops.direct_ops.scaled(X, Y), 2 * X * Y)
    assert calls == [0]


def test_a_traceback_begins_at_the_call(ops: Operators) -> None:
    for call in (lambda: ops.scaled(X, torch.ones(4)), lambda: ops.scaled(X)):
        with pytest.raises(ArgumentError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert {Path(entry.path).name for entry in caught.traceback} == {"test_direct.py"}


def test_a_new_signature(tmp_path: Path) -> None:
    source = tmp_path / "direct_edited.cpp"
    text = 'OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T> T f(T x) { return x + 1; }\n'
    source.write_text(text)
    operators = opwright.load(source)
    old, packet = operators.f, torch.ops.direct_edited.f
    assert old(X).tolist() == packet(X).tolist() == [2, 3, 4]
    source.write_text(text.replace("x + 1", "x + 2"))
    opwright.load(source)
    assert old(X).tolist() == packet(X).tolist() == [3, 4, 5]
    source.write_text(
        text.replace("(x: T)", "(x: T, by: float)").replace("(T x) { return x + 1", "(T x, double b) { return x * T(b)")
    )
    opwright.load(source)
    assert "the signature has changed since this callable was taken" in failing(lambda: old(X), opwright.OpwrightError)
    assert operators.f(X, 2.0).tolist() == packet(X, 2.0).tolist() == [2, 4, 6]
    source.write_text(text)
    opwright.load(source)
    assert old(X).tolist() == packet(X).tolist() == [2, 3, 4]


def test_threads_during_reloads(tmp_path: Path) -> None:
    source = tmp_path / "direct_threads.cpp"
    text = 'OPWRIGHT("f(x: T) -> (y: T)")\ntemplate <class T> T f(T x) { return x + 1; }\n'
    source.write_text(text)
    op, wrong, done = opwright.load(source).f, [], threading.Event()

    def call() -> None:
        while not done.is_set():
            if (got := op(X).tolist()) not in ([2, 3, 4], [3, 4, 5]):
                wrong.append(got)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for by in (2, 1, 2, 1):
        source.write_text(text.replace("x + 1", f"x + {by}"))
        opwright.load(source)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow
def test_off() -> None:
    code = f"""import torch, opwright
ops = opwright.load_inline("direct_off", cpp='''{SOURCE.split('OPWRIGHT("added', maxsplit=1)[0]}''')
from opwright.runtime.register.kernels import started_runtime
print(started_runtime().direct.obstacle, ops.scaled(torch.ones(2), torch.ones(2)).tolist())"""
    done = run_python(code, environment=os.environ | {"OPWRIGHT_DIRECT": "0"})
    assert done.stdout == "OPWRIGHT_DIRECT=0 [2.0, 2.0]\n"
