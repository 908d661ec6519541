"""Call overhead on 4 elements: operators with all their checks, PyTorch's own, and its kinds of custom operators.

One process, one thread, the candidates of a group in turn. A *step* is one of training: the gradients are None before
each call, ``.backward()`` sets them. Most of it is autograd's engine, whatever the operator: the *floor* is a node that
does nothing, with the same edges. ``16 in a row`` calls the operator 16 times before one ``.backward()``, as a network
does, and gives the time per operator. ``python benchmarks/call_overhead.py [--rounds 101]``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.utils.cpp_extension

import opwright
from opwright.bench import Result, interleaved, ratio
from opwright.bench.scripts import parse_rounds, summary
from opwright.runtime.torch_internals import call_of

HERE = Path(__file__).parent
IN_A_ROW = 16
DISPATCHED = "opwright, by PyTorch's parser and dispatcher"
FLOOR, OURS, FUNCTION, REGISTERED = "floor", "opwright", "autograd.Function", "register_autograd"
Op = Callable[..., Any]
Group = dict[str, Callable[[], object]]


def products(ours: Op) -> dict[str, Op]:
    """Return x * y of both inputs' gradients in every form, and the floor."""
    peers = torch.utils.cpp_extension.load(
        "call_peers", [str(HERE / "peer_sources/call_peers.cpp")], extra_cflags=["-O3"]
    )
    ops = torch.ops.call_peers

    def save(ctx: Any, inputs: Any, output: object) -> None:
        del output
        ctx.save_for_backward(*inputs)

    torch.library.register_autograd(
        "call_peers::product",
        lambda ctx, grad: ops.product_backward.default(grad, *ctx.saved_tensors),
        setup_context=save,
    )
    return {
        "torch.mul": torch.mul,
        "torch.add": torch.add,
        OURS: ours,
        FUNCTION: function(peers),
        REGISTERED: ops.product.default,
        FLOOR: peers.nothing,
    }


def function(peers: ModuleType) -> Op:
    """Wrap the pybind11 functions in an autograd.Function."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            ctx.save_for_backward(x, y)
            return peers.product(x, y)  # type: ignore[no-any-return]

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
            return peers.product_backward(grad, *ctx.saved_tensors)  # type: ignore[no-any-return]

    return Product.apply  # type: ignore[no-any-return]


def step(op: Op, x: torch.Tensor, y: torch.Tensor, grad: torch.Tensor, count: int = 1) -> Callable[[], None]:
    """Return a training step that uses the operator, once or in a row."""

    def call() -> None:
        x.grad = y.grad = None
        result = x
        for _ in range(count):
            result = op(result, y)
        result.backward(grad)

    return call


def asked(op: Op, x: torch.Tensor, y: torch.Tensor, grad: torch.Tensor) -> Callable[[], object]:
    """Return a step that asks ``torch.autograd.grad`` for the gradients."""
    return lambda: torch.autograd.grad(op(x, y), (x, y), grad)


def groups(ops: opwright.Operators, forms: dict[str, Op]) -> dict[str, Group]:
    """Return every timed call, by comparison and by operator."""
    x, y, grad = torch.randn(4), torch.randn(4), torch.ones(4)
    a, b = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    column, row, eight = torch.randn(4, 1), torch.randn(1, 4), [torch.randn(4) for _ in range(8)]
    into, added = torch.zeros(4), torch.zeros(4)
    calls = {name: form for name, form in forms.items() if name != FLOOR}
    dispatched = {DISPATCHED: call_of(forms[OURS])}  # type: ignore[arg-type] - the operator
    layer_norm = torch.ops.aten.native_layer_norm.default
    return {
        "no gradient": {name: lambda op=op: op(x, y) for name, op in (calls | dispatched).items()},  # type: ignore[misc]
        "one float": {"torch.add": lambda: torch.add(x, y), OURS: lambda: ops.scaled_sum(x, y, 2.0)},
        "forward": {name: lambda op=op: op(a, b) for name, op in forms.items()},  # type: ignore[misc]
        "step": {name: step(op, a, b, grad) for name, op in forms.items()},
        "autograd.grad": {name: asked(op, a, b, grad) for name, op in forms.items()},
        f"{IN_A_ROW} in a row": {name: step(op, a, b, grad, IN_A_ROW) for name, op in forms.items()},
        "eight tensors": {"torch.stack": lambda: torch.stack(eight), OURS: lambda: ops.stacked(*eight)},
        "three results": {
            "native_layer_norm": lambda: layer_norm(x, [4], None, None, 1e-5),
            OURS: lambda: ops.normalised(x, 1e-5),
        },
        "broadcasting": {
            "torch.mul": lambda: torch.mul(column, row),
            OURS: lambda: ops.pointwise_product(column, row),
        },
        "overwritten": {"torch.add_": lambda: into.add_(y), OURS: lambda: ops.add_to(added, y)},
    }


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 101)
    torch.set_num_threads(1)
    ops = opwright.load(HERE / "peer_sources/call_ops.cpp")
    timed = {
        what: interleaved(calls, rounds=rounds, seconds=0.01)
        for what, calls in groups(ops, products(ops.product)).items()
    }
    row = f"{IN_A_ROW} in a row"
    timed[row] = {name: summary([each / IN_A_ROW for each in timing.samples]) for name, timing in timed[row].items()}
    result = Result(
        "call_overhead",
        "One call on 4 elements, one thread",
        {f"{name}, {what}": timing for what, group in timed.items() for name, timing in group.items()},
    )

    def compare(what: str, name: str, other: str, target: str = "") -> None:
        label = f"{what}: {name} / {other}"
        result.ratios[label], result.targets[label] = ratio(timed[what][name], timed[what][other]), target

    compare("no gradient", OURS, "torch.add", "<= 0.8")
    compare("one float", OURS, "torch.add", "<= 0.8")
    compare("no gradient", DISPATCHED, OURS)
    compare("no gradient", FUNCTION, OURS)
    compare("no gradient", REGISTERED, OURS)
    compare("forward", OURS, "torch.mul", "<= 0.9")
    compare("step", OURS, "torch.mul", "<= 0.95")
    compare("step", OURS, "torch.add", "<= 1.0")
    compare("autograd.grad", OURS, "torch.mul", "<= 0.95")
    compare("step", FUNCTION, OURS, ">= 1.4")
    compare("step", REGISTERED, OURS, ">= 2.0")
    compare(row, OURS, "torch.mul", "<= 1.0")
    compare(row, FUNCTION, OURS)
    compare(row, REGISTERED, OURS)
    compare("eight tensors", OURS, "torch.stack")
    compare("three results", OURS, "native_layer_norm")
    compare("broadcasting", OURS, "torch.mul")
    compare("overwritten", OURS, "torch.add_")
    for what in ("step", "autograd.grad"):
        label = f"{what}, less the floor: {OURS} / torch.mul"
        floor = timed[what][FLOOR].median
        result.ratios[label] = (timed[what][OURS].median - floor) / (timed[what]["torch.mul"].median - floor)
        result.targets[label] = "<= 0.7"
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
