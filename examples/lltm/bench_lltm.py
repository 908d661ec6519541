"""The four forms of LLTM at batch 16, input 32, state 128, with one thread and with two.

The forms take turns, and the weights change in place after each round, as in training, so that no preparation of the
weights can be reused. The table has the median round of each.
"""

from __future__ import annotations

import statistics
from collections import defaultdict

import torch
from lltm import LLTM, CellLLTM, DerivedLLTM, WholeLLTM
from torch.utils.benchmark import Timer

BATCH, FEATURES, STATE = 16, 32, 128
ROUNDS, CALLS = 60, 20
KINDS = (LLTM, CellLLTM, DerivedLLTM, WholeLLTM)

ROUND = """
h, cell = model(x, state)
torch.autograd.grad((h, cell), parameters, (g, g))
with torch.no_grad():
    torch._foreach_mul_(parameters, 1.0)
"""


def timer(model: LLTM, threads: int) -> Timer:
    """Return a timer of rounds: forward, backward and an in-place update of the parameters."""
    state = (torch.randn(BATCH, STATE), torch.randn(BATCH, STATE))
    names = {
        "torch": torch,
        "model": model,
        "x": torch.randn(BATCH, FEATURES),
        "state": state,
        "g": torch.ones(BATCH, STATE),
        "parameters": list(model.parameters()),
    }
    return Timer(ROUND, globals=names, num_threads=threads)


def compare(threads: int) -> dict[str, float]:
    """Return the median time of a round in microseconds, by form."""
    timers = {kind.__name__: timer(kind(FEATURES, STATE), threads) for kind in KINDS}
    times = defaultdict(list)
    for _ in range(ROUNDS):
        for name, each in timers.items():
            times[name].append(each.timeit(CALLS).median * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    print(f"{'threads':>7}  {'form':<11} {'us':>7}  against LLTM in Python")
    for threads in (1, 2):
        medians = compare(threads)
        for name, median in medians.items():
            print(f"{threads:>7}  {name:<11} {median:7.1f}  {medians['LLTM'] / median:.2f} times as fast")
