"""Times a call with lists of tensors against PyTorch's foreach functions, and a loop in Python.

usage: python benchmarks/tensor_lists.py [--json FILE]

300 tensors of 1,000 floats, one thread: ``a*x + y`` into new tensors, and ``x *= by`` in place. Medians of rounds in
which the candidates take turns, so that other programs slow all of them alike; ratios are to ours, round by round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import opwright  # noqa: E402 - from this checkout

COUNT, SIZE, ROUNDS, CALLS = 300, 1000, 200, 5
SOURCE = """
#include <opwright.h>

OPWRIGHT("axpy(xs: list[T[each ...]], ys: list[T[each ...]], a: float) -> (zs: list[T[each ...]])")
template <class T>
void axpy(List<const T> xs, List<const T> ys, double a, List<T> zs) {
  for (int64_t i = 0; i < xs.size(); ++i) {
    const Tensor<const T> x = xs[i], y = ys[i];
    const Tensor<T> z = zs[i];
    for (int64_t j = 0; j < x.numel(); ++j) z[j] = T(a) * x[j] + y[j];
  }
}

OPWRIGHT("scale_(xs: list[T[each ...]]!, by: float)")
template <class T>
void scale_(List<T> xs, double by) {
  for (Tensor<T> x : xs)
    for (int64_t j = 0; j < x.numel(); ++j) x[j] = T(by) * x[j];
}

OPWRIGHT("axpy_one(x: T[...], y: T[...], a: float) -> (z: T[...])")
template <class T>
void axpy_one(Tensor<const T> x, Tensor<const T> y, double a, Tensor<T> z) {
  for (int64_t j = 0; j < x.numel(); ++j) z[j] = T(a) * x[j] + y[j];
}
"""


def times(candidates: Mapping[str, Callable[[], object]]) -> dict[str, dict[str, float]]:
    """Return the median time of each candidate in microseconds, and its ratio to the first one's."""
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        for name, call in candidates.items():
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            taken[name].append((time.perf_counter() - begin) / CALLS * 1e6)
    first = next(iter(taken.values()))
    return {
        name: {
            "microseconds": round(statistics.median(each), 1),
            "least": round(min(each), 1),
            "ratio": round(statistics.median(a / b for a, b in zip(each, first, strict=True)), 2),
        }
        for name, each in taken.items()
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tensor_lists_benchmark.cpp"
        source.write_text(SOURCE)
        ops = opwright.load(source)
        xs, ys = ([torch.randn(SIZE) for _ in range(COUNT)] for _ in range(2))
        torch.testing.assert_close(ops.axpy(xs, ys, 2.0), torch._foreach_add(ys, xs, alpha=2.0))  # noqa: SLF001
        results = {
            "axpy": times(
                {
                    "one call": lambda: ops.axpy(xs, ys, 2.0),
                    "torch._foreach_add": lambda: torch._foreach_add(ys, xs, alpha=2.0),  # noqa: SLF001
                    "a loop over torch.add": lambda: [torch.add(y, x, alpha=2.0) for x, y in zip(xs, ys, strict=True)],
                    "a loop over an operator": lambda: [ops.axpy_one(x, y, 2.0) for x, y in zip(xs, ys, strict=True)],
                }
            ),
            "in place": times(
                {
                    "one call": lambda: ops.scale_(xs, 1.0),
                    "torch._foreach_mul_": lambda: torch._foreach_mul_(xs, 1.0),
                    "a loop over mul_": lambda: [x.mul_(1.0) for x in xs],
                }
            ),
        }
    for what, candidates in results.items():
        for name, each in candidates.items():
            took, least = f"{each['microseconds']:9.1f} us", f"{each['least']:9.1f} us"
            print(f"{what:10} {name:26} {took}  least {least}  {each['ratio']:5.2f} x")
    if words.json:
        facts = {"tensors": COUNT, "elements": SIZE, "threads": 1, "runtime": opwright.runtime.name()}
        words.json.write_text(json.dumps({"torch": torch.__version__, **facts, "results": results}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
