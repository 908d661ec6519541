"""LLTM: eager Python, C++ on ATen calls, torch.compile, and Opwright's two forms; one and two threads.

The weights change in place before every call, as in training, so nothing can be packed once and reused; that change
isn't timed. The targets are for batch 16, input 32, state 128.
``python benchmarks/lltm.py [--rounds 31] [--sizes 16x32x128 64x256x512 1x32x128]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.utils.cpp_extension

from opwright.bench import Result, Timing, interleaved, ratio

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples/lltm"))
from lltm import LLTM, CellLLTM, State, WholeLLTM, lltm_python  # noqa: E402 - found on the path above

MAIN = "16x32x128"
SIZES = (MAIN, "64x256x512", "1x32x128")
WHOLE = "opwright, whole operator"


def modules(features: int, state: int) -> dict[str, LLTM]:
    """Return the same layer in five variants, with the same parameters."""
    peer = torch.utils.cpp_extension.load("lltm_peer", [str(HERE / "peer_sources/lltm_peer.cpp")], extra_cflags=["-O3"])
    torch.compiler.reset()  # otherwise it would compile for dynamic sizes
    aten, compiled = LLTM(features, state), LLTM(features, state)
    aten.step = peer.lltm
    compiled.step = torch.compile(lltm_python)
    first = LLTM(features, state)
    found = {
        "eager Python": first,
        "C++ on ATen": aten,
        "torch.compile": compiled,
        "opwright, fused cell": CellLLTM(features, state),
        WHOLE: WholeLLTM(features, state),
    }
    for module in found.values():
        module.load_state_dict(first.state_dict())
    return found


def step(module: LLTM, x: torch.Tensor, state: State, backward: bool) -> Callable[[], object]:
    """Return a training step's use of the layer."""
    tensors = [x, *state, *module.parameters()]

    def call() -> None:
        new_h, new_cell = module(x, state)
        if backward:
            for tensor in tensors:
                tensor.grad = None
            torch.autograd.backward((new_h, new_cell), (torch.ones_like(new_h), torch.ones_like(new_cell)))

    return call


def update(found: dict[str, LLTM]) -> Callable[[], None]:
    """Return a call that changes weights in place, as an optimizer does between two calls."""

    def change() -> None:
        with torch.no_grad():
            for module in found.values():
                module.weights[0].add_(1e-9)

    return change


def agree(found: dict[str, LLTM], x: torch.Tensor, state: State) -> None:
    """Check that every variant computes the same, forward and backward."""
    results = {}
    for name, module in found.items():
        step(module, x, state, backward=True)()
        results[name] = [*module(x, state), x.grad, state[0].grad, state[1].grad, module.weights.grad, module.bias.grad]
    for result in results.values():
        torch.testing.assert_close(result, results["eager Python"])


def measure(result: Result, size: str, rounds: int) -> None:
    """Measure all variants at one size, with one thread and with two."""
    batch, features, state = map(int, size.split("x"))
    x = torch.randn(batch, features, requires_grad=True)
    before = (torch.randn(batch, state, requires_grad=True), torch.randn(batch, state, requires_grad=True))
    found = modules(features, state)
    agree(found, x, before)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for what, backward in (("forward", False), ("forward + backward", True)):
            label = f"{what}, {size}, {threads} thread{'s' * (threads > 1)}"
            calls = {name: step(module, x, before, backward) for name, module in found.items()}
            timings = interleaved(calls, rounds=rounds, before=update(found))
            result.timings.update({f"{name}, {label}": timing for name, timing in timings.items()})
            compare(result, timings, label, has_target=backward and size == MAIN)


def compare(result: Result, timings: dict[str, Timing], label: str, *, has_target: bool) -> None:
    """Compare each variant with eager Python, and the whole operator with each other variant."""
    pairs = [("eager Python", name) for name in timings if name != "eager Python"]
    pairs += [(name, WHOLE) for name in ("C++ on ATen", "torch.compile")]
    for slow, fast in pairs:
        claim = f"{slow.removesuffix(' Python')} / {fast}, {label}"
        result.ratios[claim] = ratio(timings[slow], timings[fast])
        target = ">= 2.5" if slow == "eager Python" else ">= 3"
        result.targets[claim] = target if has_target and fast == WHOLE else ""


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="batch x input features x state")
    options = parser.parse_args()
    result = Result("lltm", "LLTM, batch x input features x state")
    for size in options.sizes:
        measure(result, size, options.rounds)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
