"""Pointwise operators: bandwidth against a streaming copy; LLTM's cell against eager and torch.compile; small calls.

Large tensors are 64 MiB each, on two threads; small ones have 4 to 4096 elements. ``python benchmarks/pointwise.py
[--rounds 11]``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

import opwright
from opwright.bench import Result, Timing, interleaved, ratio
from opwright.bench.scripts import parse_rounds

HERE = Path(__file__).parent


STREAMS = opwright.load(HERE / "peer_sources/streams.cpp")
ACTIVATIONS = opwright.load(HERE.parent / "examples/activations/activations.cpp")
CELL = opwright.load(HERE.parent / "examples/lltm/lltm_derived.cpp")
LARGE, SMALL = 1 << 24, (4, 64, 1024, 4096)

Candidates = dict[str, Callable[[], object]]


def arithmetic() -> dict[str, Candidates]:
    """Return each arithmetic example and its backward, with a copy that moves as many bytes."""
    a, b, c = (torch.randn(LARGE) for _ in range(3))
    ops, streams = ACTIVATIONS, STREAMS
    return {
        "hard_swish": {"ours": lambda: ops.hard_swish(a), "copy": lambda: streams.r1w1(a)},
        "hard_swish_backward": {"ours": lambda: ops.hard_swish_backward(a, b), "copy": lambda: streams.r2w1(a, b)},
        "smooth_l1": {"ours": lambda: ops.smooth_l1(a, b), "copy": lambda: streams.r2w1(a, b)},
        "smooth_l1_backward": {
            "ours": lambda: ops.smooth_l1_backward(a, b, c, 1.0),
            "copy": lambda: streams.r3w2(a, b, c),
        },
    }


def cell_eager(input_gate: Tensor, output_gate: Tensor, candidate: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """Compute LLTM's cell with PyTorch's operators."""
    new_cell = old_cell + torch.nn.functional.elu(candidate) * torch.sigmoid(input_gate)
    return torch.tanh(new_cell) * torch.sigmoid(output_gate), new_cell


def cells(size: int) -> Candidates:
    """Return forward and backward of LLTM's cell in three variants."""
    tensors = [torch.randn(size, requires_grad=True) for _ in range(4)]
    gradients = [torch.randn(size) for _ in range(2)]
    forms = {"ours": CELL.lltm_derived, "eager": cell_eager, "torch.compile": torch.compile(cell_eager)}

    def step(form: Callable[..., tuple[Tensor, Tensor]]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(form(*tensors), tensors, gradients)

    found = {name: step(form) for name, form in forms.items()}
    for name, call in found.items():
        for one, other in zip(call(), found["eager"](), strict=True):
            torch.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")
    return found


def small(size: int) -> Candidates:
    """Return calls of two operations; ours is one operator."""
    x, y = torch.randn(size), torch.randn(size)

    def eager() -> Tensor:
        return torch.abs(x - y)

    return {"ours": lambda: ACTIVATIONS.smooth_l1(x, y), "eager": eager}


def measure(rounds: int) -> tuple[dict[str, Timing], dict[str, float], dict[str, str]]:
    """Return timings, ratios, and their targets."""
    timings: dict[str, Timing] = {}
    ratios: dict[str, float] = {}
    targets: dict[str, str] = {}

    def compare(what: str, candidates: Candidates, against: dict[str, str], seconds: float) -> None:
        timed = interleaved(candidates, rounds=rounds, seconds=seconds)
        timings.update({f"{what}, {name}": timing for name, timing in timed.items()})
        for name, target in against.items():
            ratios[f"{what}: {name} / ours"] = ratio(timed[name], timed["ours"])
            targets[f"{what}: {name} / ours"] = target

    for name, candidates in arithmetic().items():
        compare(f"{name}, 64 MiB", candidates, {"copy": ">= 0.9"}, 0.1)
    compare("lltm cell, 64 MiB", cells(LARGE), {"eager": ">= 2", "torch.compile": ">= 1"}, 0.1)
    for size in SMALL:
        compare(f"smooth_l1, {size} elements", small(size), {"eager": ">= 1"}, 0.005)
        compare(f"lltm cell, {size} elements", cells(size), {"eager": ">= 1"}, 0.005)
    return timings, ratios, targets


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 11, "samples of each candidate")
    torch.set_num_threads(2)
    what = "Pointwise operators, float32, two threads; ratios are the other's time by ours"
    result = Result("pointwise", what, *measure(rounds))
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
