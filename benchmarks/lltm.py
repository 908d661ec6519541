"""LLTM at 16 x 32 x 128: eager Python, C++ on ATen calls, torch.compile, and Opwright's two forms; one and two threads.

The weights change in place before every call, as in training, so nothing may be packed once and kept; that change is
not timed. ``python benchmarks/lltm.py [--rounds 31]``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.utils.cpp_extension

from opwright.bench import Result, interleaved, ratio, write_result

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples/lltm"))
from lltm import LLTM, CellLLTM, State, WholeLLTM, lltm_python  # noqa: E402 - found on the path above

BATCH, FEATURES, STATE = 16, 32, 128


def modules() -> dict[str, LLTM]:
    """The same layer in five ways, with the same parameters."""
    peer = torch.utils.cpp_extension.load("lltm_peer", [str(HERE / "peers/lltm_peer.cpp")], extra_cflags=["-O3"])
    aten, compiled = LLTM(FEATURES, STATE), LLTM(FEATURES, STATE)
    aten.step = peer.lltm
    compiled.step = torch.compile(lltm_python)
    first = LLTM(FEATURES, STATE)
    found = {
        "eager Python": first,
        "C++ on ATen": aten,
        "torch.compile": compiled,
        "opwright, fused cell": CellLLTM(FEATURES, STATE),
        "opwright, whole operator": WholeLLTM(FEATURES, STATE),
    }
    for module in found.values():
        module.load_state_dict(first.state_dict())
    return found


def step(module: LLTM, x: torch.Tensor, state: State, backward: bool) -> Callable[[], object]:
    """One training step's use of the layer."""
    tensors = [x, *state, *module.parameters()]

    def call() -> None:
        new_h, new_cell = module(x, state)
        if backward:
            for tensor in tensors:
                tensor.grad = None
            torch.autograd.backward((new_h, new_cell), (torch.ones_like(new_h), torch.ones_like(new_cell)))

    return call


def update(found: dict[str, LLTM]) -> Callable[[], None]:
    """What an optimiser does between two calls: weights change in place."""

    def change() -> None:
        with torch.no_grad():
            for module in found.values():
                module.weights[0].add_(1e-9)

    return change


def agree(found: dict[str, LLTM], x: torch.Tensor, state: State) -> None:
    """Every variant computes the same, forward and backward, before it is timed."""
    results = {}
    for name, module in found.items():
        step(module, x, state, backward=True)()
        results[name] = [*module(x, state), x.grad, state[0].grad, state[1].grad, module.weights.grad, module.bias.grad]
    for result in results.values():
        torch.testing.assert_close(result, results["eager Python"])


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    x = torch.randn(BATCH, FEATURES, requires_grad=True)
    state = (torch.randn(BATCH, STATE, requires_grad=True), torch.randn(BATCH, STATE, requires_grad=True))
    found = modules()
    agree(found, x, state)
    result = Result("lltm", f"LLTM, batch {BATCH}, input {FEATURES}, state {STATE}")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for what, backward in (("forward", False), ("forward + backward", True)):
            label = f"{what}, {threads} thread{'s' * (threads > 1)}"
            calls = {name: step(module, x, state, backward) for name, module in found.items()}
            timings = interleaved(calls, rounds=rounds, before=update(found))
            result.timings.update({f"{name}, {label}": timing for name, timing in timings.items()})
            for name in list(timings)[1:]:
                claim = f"eager / {name}, {label}"
                result.ratios[claim] = ratio(timings["eager Python"], timings[name])
                result.targets[claim] = ">= 1.5" if backward and name == "opwright, whole operator" else ""
    result.show()
    print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
