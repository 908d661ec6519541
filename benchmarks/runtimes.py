"""Call overhead of the native runtime and of the one in Python, in alternating processes.

``python benchmarks/runtimes.py [--rounds 7]``
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary

HERE = Path(__file__).parent
SOURCE = HERE.parent / "examples" / "my_op" / "my_op.cpp"
WORKER = f"""
import torch, opwright
from opwright.bench import interleaved
ops = opwright.load({str(SOURCE)!r})
x, y = torch.randn(4), torch.randn(4)
w = torch.randn(4, requires_grad=True)
timed = interleaved({{
    "call": lambda: ops.my_op(x, y),
    "forward + backward": lambda: torch.autograd.grad(ops.my_op(w, y), w, torch.ones(4)),
}}, rounds=5)
print(*(timing.median for timing in timed.values()))
"""


def run(runtime: str) -> list[float]:
    """Return the seconds of each kind of call in a fresh process."""
    environment = {**os.environ, "OPWRIGHT_RUNTIME": runtime}
    done = subprocess.run([sys.executable, "-c", WORKER], env=environment, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 7, "processes of each runtime")
    samples: dict[str, list[float]] = {}
    for _ in range(rounds):
        for runtime in ("native", "python"):
            for kind, seconds in zip(("call", "forward + backward"), run(runtime), strict=True):
                samples.setdefault(f"{runtime}, {kind}", []).append(seconds)
    timings = {name: summary(values) for name, values in samples.items()}
    longer = {
        f"{kind}: python - native, µs": (timings[f"python, {kind}"].median - timings[f"native, {kind}"].median) * 1e6
        for kind in ("call", "forward + backward")
    }
    result = Result("runtimes", "my_op on 4 elements, by runtime", timings, ratios=longer)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
