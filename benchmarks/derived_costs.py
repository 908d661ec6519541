"""What derived gradients cost beside time: the peak memory of forward and backward, and what the word costs a load.

``python benchmarks/derived_costs.py [--rounds 9]``. Memory is the highest resident size of a process during a step,
less that before it, with one thread: gradients and results are part of it, arguments aren't. A load is CPU time of the
process and its compilers until a forward has been called, of sources that were never compiled before.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from derived import CASES, OF_ROWS, Function, step  # beside this file

import opwright
from opwright.bench import Result, ratio
from opwright.bench.scripts import Timing, parse_rounds, summary

HERE = Path(__file__).parent
SOFTMAX = """// {stamp}
#include <opwright.h>

OPWRIGHT("softmax(x: T[N]) -> (y: T[N]) where T in (f32) batched{word}")
template <class T>
void softmax(Tensor<const T, 1> x, Tensor<T, 1> y) {{
  T largest = x[0], sum = 0;
  for (int64_t i = 1; i < x.size(0); ++i) largest = max(largest, x[i]);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = exp(x[i] - largest), sum += y[i];
  for (int64_t i = 0; i < x.size(0); ++i) y[i] /= sum;
}}
"""
_MAPPED_FROM = -3
"""glibc's M_MMAP_THRESHOLD: memory of at least so many bytes is mapped, and returned when it is freed."""
WORDS = {"with the word": " derived", "without": ""}


def in_a_child(work: Callable[[], float]) -> float:
    """Return what a function returns in a copy of this process; raise RuntimeError if that fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writing, repr(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    _, ended = os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        text = file.read()
    if ended:
        raise RuntimeError(f"a process ended with status {ended}")
    return float(text)


def resident(what: str) -> int:
    """Return bytes of the process: ``VmRSS``, or the highest since it was reset, ``VmHWM``."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None, what
    return int(found[1]) * 1024


def peak(call: Callable[[], object], warm: Callable[[], object]) -> float:
    """Return by how many bytes the process grows at most during a call; `warm`: the same call of a few elements."""
    warm()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest size
    before = resident("VmRSS")
    call()
    return float(resident("VmHWM") - before)


def memory(ops: opwright.Operators, case: str) -> dict[str, float]:
    """Return the peak of each way to do one case."""
    name, composed, shapes = CASES[case]
    args = tuple(torch.rand(shape, requires_grad=True) for shape in shapes)
    seed = torch.rand_like(composed(*args))
    ways: dict[str, Function] = {"composed": composed, "derived": getattr(ops, name)}
    if hasattr(ops, f"{name}_by_hand"):
        ways["by hand"] = getattr(ops, f"{name}_by_hand")
    small = tuple(torch.rand([min(n, 8) for n in shape], requires_grad=True) for shape in shapes)
    few = torch.rand_like(composed(*small))
    found = {}
    for way, function in ways.items():
        whole, warm = step(function, args, seed), step(function, small, few)
        warm()  # compiled, and loaded
        found[way] = in_a_child(partial(peak, whole, warm))
    return found


def loaded(folder: Path, stamp: int, word: str) -> Callable[[], object]:
    """Return a load and a first call of a source that was never compiled."""
    path = folder / f"softmax_{stamp}_{len(word)}.cpp"
    path.write_text(SOFTMAX.format(stamp=stamp, word=word))
    return lambda: opwright.load(path).softmax(torch.rand(4, 8))


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, with those of the processes that it started."""
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    before = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, both))
    work()
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, both)) - before


def loads(rounds: int, folder: Path) -> dict[str, Timing]:
    """Return the CPU time of loads with the word and without, in turn."""
    samples: dict[str, list[float]] = {name: [] for name in WORDS}
    for stamp in range(rounds + 1):
        for name, word in WORDS.items():
            samples[name].append(seconds(loaded(folder, stamp, word)))
    return {f"load {name}": summary(values[1:]) for name, values in samples.items()}


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 9)
    torch.set_num_threads(1)
    ctypes.CDLL(None).mallopt(_MAPPED_FROM, 1 << 16)  # so that what is freed isn't used again unseen
    result = Result("derived_costs", "derived gradients: peak memory in float32, and loads with the word")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCH_EXTENSIONS_DIR"] = folder
        result.timings.update(loads(rounds, Path(folder)))
        result.ratios["load with the word / without"] = ratio(*result.timings.values())
        result.targets["load with the word / without"] = "<= 1.2"
        ops = opwright.load(HERE / "derived.cpp")
        for case in CASES:
            found = memory(ops, case)
            label = f"peak memory, derived / composed, {case}"
            result.ratios[label] = found["derived"] / found["composed"]
            if case.startswith(OF_ROWS):
                result.targets[label] = "<= 1"
            for way, size in found.items():
                result.ratios[f"MiB, {way}, {case}"] = size / 2**20
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
