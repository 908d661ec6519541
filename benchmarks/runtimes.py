"""What a call costs with the native runtime and with the one in Python, in alternating processes.

``python benchmarks/runtimes.py [--rounds 7]``
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from opwright.bench import Result, write_result
from opwright.bench.timing import summary

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
    """Seconds of each kind of call in a fresh process."""
    environment = {**os.environ, "OPWRIGHT_RUNTIME": runtime}
    done = subprocess.run([sys.executable, "-c", WORKER], env=environment, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="processes of each runtime")
    rounds = max(parser.parse_args().rounds, 2)
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
    result.show()
    print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
