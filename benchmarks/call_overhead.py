"""Call overhead on 4 elements: my_op with all its checks, torch.add, and PyTorch's kinds of custom operators.

One process, one thread, the candidates in turn. ``forward + backward`` is a training step: the gradients are None
before each round (``optimizer.zero_grad()``). ``accumulated`` keeps them, ``autograd.grad`` returns them; both are
shown because they affect the alternatives differently. ``.backward()`` itself costs some 17 µs in Python and in the
engine, whatever the operator. So ``16 in a row`` calls the operator 16 times before it, as a network does, and gives
the time per operator. ``python benchmarks/call_overhead.py [--rounds 101]``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
import torch.utils.cpp_extension

import opwright
from opwright.bench import Result, interleaved, ratio
from opwright.bench.scripts import parse_rounds, summary

HERE = Path(__file__).parent
IN_A_ROW = 16
Op = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def operators() -> dict[str, Op]:
    """Return my_op in three forms, and torch.add, a built-in operator, which does less."""
    kernel = opwright.load(HERE.parent / "examples/my_op/my_op.cpp").my_op
    peer = torch.utils.cpp_extension.load("my_op_peer", [str(HERE / "peers/my_op_peer.cpp")], extra_cflags=["-O3"])
    ops = torch.ops.my_op_peer
    torch.library.register_autograd("my_op_peer::forward", lambda _, grad: ops.backward.default(grad))
    return {
        "torch.add": torch.add,
        "opwright": kernel,
        "autograd.Function": function(peer),
        "register_autograd": ops.forward.default,
    }


def function(peer: ModuleType) -> Op:
    """Wrap the pybind11 functions in an autograd.Function."""

    class MyOp(torch.autograd.Function):
        @staticmethod
        def forward(_ctx: object, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return peer.forward(x, y)  # type: ignore[no-any-return]

        @staticmethod
        def backward(_ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]
            return peer.backward(grad)  # type: ignore[no-any-return]

    return MyOp.apply  # type: ignore[no-any-return]


def step(op: Op, x: torch.Tensor, y: torch.Tensor, grad: torch.Tensor, count: int = 1) -> Callable[[], None]:
    """Return a training step that uses the operator, once or in a row."""

    def call() -> None:
        x.grad = y.grad = None
        result = x
        for _ in range(count):
            result = op(result, y)
        result.backward(grad)

    return call


def candidates() -> dict[str, dict[str, Callable[[], object]]]:
    """Return every timed call, by comparison and by operator."""
    x, y, grad = torch.randn(4), torch.randn(4), torch.ones(4)
    a, b = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    ops = operators()
    ours = {name: ops[name] for name in ("torch.add", "opwright")}
    return {
        "no gradient": {name: lambda op=op: op(x, y) for name, op in ops.items()},  # type: ignore[misc]
        "forward": {name: lambda op=op: op(a, b) for name, op in ops.items()},  # type: ignore[misc]
        "forward + backward": {name: step(op, a, b, grad) for name, op in ops.items()},
        f"{IN_A_ROW} in a row": {name: step(op, a, b, grad, IN_A_ROW) for name, op in ops.items()},
        "accumulated": {name: lambda op=op: op(a, b).backward(grad) for name, op in ours.items()},  # type: ignore[misc]
        "autograd.grad": {
            name: lambda op=op: torch.autograd.grad(op(a, b), (a, b), grad)  # type: ignore[misc]
            for name, op in ours.items()
        },
    }


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 101)
    torch.set_num_threads(1)
    groups = {what: interleaved(calls, rounds=rounds, seconds=0.01) for what, calls in candidates().items()}
    timings = {f"{name}, {what}": timing for what, group in groups.items() for name, timing in group.items()}

    def compared(name: str, other: str, what: str) -> float:
        return ratio(groups[what][name], groups[what][other])

    both, row = "forward + backward", f"{IN_A_ROW} in a row"
    for name in [name for name in timings if name.endswith(row)]:
        timings[name] = summary([sample / IN_A_ROW for sample in timings[name].samples])
    result = Result("call_overhead", "One call on 4 elements, one thread", timings)
    for label, value, target in (
        ("no gradient: opwright / torch.add", compared("opwright", "torch.add", "no gradient"), "<= 1.3"),
        ("forward + backward: opwright / torch.add", compared("opwright", "torch.add", both), "<= 1.0"),
        ("forward + backward: autograd.Function / opwright", compared("autograd.Function", "opwright", both), ">= 1.8"),
        ("forward + backward: register_autograd / opwright", compared("register_autograd", "opwright", both), ">= 2"),
        (f"{row}: opwright / torch.add", compared("opwright", "torch.add", row), ""),
        (f"{row}: autograd.Function / opwright", compared("autograd.Function", "opwright", row), ""),
        (f"{row}: register_autograd / opwright", compared("register_autograd", "opwright", row), ""),
        ("forward under grad: opwright / torch.add", compared("opwright", "torch.add", "forward"), ""),
        ("accumulated: opwright / torch.add", compared("opwright", "torch.add", "accumulated"), ""),
        ("autograd.grad: opwright / torch.add", compared("opwright", "torch.add", "autograd.grad"), ""),
    ):
        result.ratios[label], result.targets[label] = value, target
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
