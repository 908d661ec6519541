"""Emulated CUDA kernels against plain C++ loops: 4 Mi elements, with one worker, all, and checked; and compile times.

``python benchmarks/emulation.py [--rounds 11]``.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from opwright.bench import Result, Timing, interleaved, ratio
from opwright.bench.scripts import summary
from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.cuda.emulation.runtime import workers
from opwright.toolchain import Options, Unit, build, find_compiler

HERE = Path(__file__).parent
N = 1 << 22
KERNELS = ("axpy", "gelu", "softmax", "softmax_warp", "matmul", "block_sum")
ALONE = "emulated, one worker"
TARGETS = {"axpy": "<= 1.5", "softmax_warp": "<= 5", "matmul": "<= 5"}
CHECKED_TARGET = "<= 30"
KERNEL = "__global__ void k(int n, const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; %s }"
BODY = "if (i < n) y[i] = 2 * x[i] + 1;"
LAUNCH = 'extern "C" void go(int n, const float *x, float *y) { k<<<(n + 255) / 256, 256>>>(n, x, y); }'
LOOP = 'extern "C" void go(int n, const float *x, float *y) { for (int i = 0; i < n; ++i) { %s } }'
STANDARD = "".join(f"#include <{name}>\n" for name in ("algorithm", "cmath", "cstdio", "string", "vector"))


def libraries() -> dict[str, ctypes.CDLL]:
    """Return the libraries of the kernels and of the loops."""
    kernels, loops = HERE / "peer_sources/emulation.cu", HERE / "peer_sources/emulation_loops.cpp"
    text = CudaText("emulation", kernels.read_text("utf-8"), kernels)
    emulated = Emulate().build(text, Options())
    checked = Emulate(check=True).build(text, Options())
    plain = build(Unit("emulation_loops", loops.read_text("utf-8"), loops, embeds=True), Options()).path
    paths = {"emulated": emulated, "plain C++": plain, "checked": checked}
    return {way: ctypes.CDLL(str(path)) for way, path in paths.items()}


class Kernel:
    """One kernel in all its variants, on the same input.

    Attributes:
        outs: the output of each variant.
    """

    def __init__(self, name: str, found: dict[str, ctypes.CDLL]) -> None:
        """`found`: the libraries by variant."""
        self.name, self._found = name, found
        self._x = torch.rand(N, generator=torch.Generator().manual_seed(0)) - 0.5
        self._copied = torch.zeros(N)
        self.outs = {way: torch.zeros(N) for way in found}

    def way(self, way: str, count: int = 0, name: str = "") -> Callable[[], object]:
        """Return a call of that variant with `count` workers (0: all)."""
        function = getattr(self._found[way], name or self.name)
        arguments = (ctypes.c_void_p(each.data_ptr()) for each in (self._x, self.outs[way]))
        given = (*arguments, ctypes.c_int(N))

        def once() -> None:
            with workers(count):
                function(*given)

        return once

    def copy(self) -> object:
        """Copy as many bytes as the kernel reads and writes."""
        return self._copied.copy_(self._x)

    def agree(self, way: str) -> None:
        """Raise if the outputs of `way` and of the loops differ."""
        torch.testing.assert_close(self.outs[way], self.outs["plain C++"], rtol=1e-4, atol=1e-4)


def compare(result: Result, kernel: Kernel, rounds: int) -> None:
    """Check that both variants agree, and time them."""
    ways = {
        "plain C++": kernel.way("plain C++", 1),
        ALONE: kernel.way("emulated", 1),
        "emulated": kernel.way("emulated"),
    }
    for once in ways.values():
        once()
    kernel.agree("emulated")
    timings = interleaved(ways, rounds=rounds, seconds=0.05, warmup=1)
    result.timings.update({f"{way}, {kernel.name}": timing for way, timing in timings.items()})
    for way in (ALONE, "emulated"):
        result.ratios[f"{way} / plain C++, {kernel.name}"] = ratio(timings[way], timings["plain C++"])
    if kernel.name in TARGETS:
        result.targets[f"{ALONE} / plain C++, {kernel.name}"] = TARGETS[kernel.name]


def checking(result: Result, kernel: Kernel, rounds: int) -> None:
    """Time the kernels with every access checked, which takes one worker."""
    ways = {"checked": kernel.way("checked", 1), "plain C++": kernel.way("plain C++", 1)}
    timings = interleaved(ways, rounds=rounds, seconds=0.05, warmup=1)
    kernel.agree("checked")
    result.timings[f"checked, {kernel.name}"] = timings["checked"]
    name = f"checked / plain C++, {kernel.name}"
    result.ratios[name] = ratio(timings["checked"], timings["plain C++"])
    result.targets[name] = CHECKED_TARGET


def bound_by_memory(result: Result, kernel: Kernel, rounds: int) -> None:
    """Compare block_sum with its loads alone: in a GPU's order, by thread, consecutive loads are 64 KiB apart."""
    ways = {
        "plain C++, as threads load": kernel.way("plain C++", 1, f"{kernel.name}_as_threads_load"),
        ALONE: kernel.way("emulated", 1),
        "copy, 16 MiB": kernel.copy,
    }
    timings = interleaved(ways, rounds=rounds, seconds=0.05, warmup=1)
    kernel.agree("emulated")
    loads, copied = timings["plain C++, as threads load"], timings["copy, 16 MiB"]
    result.timings.update({f"plain C++, as threads load, {kernel.name}": loads, "copy, 16 MiB": copied})
    result.ratios[f"{ALONE} / plain C++ as threads load, {kernel.name}"] = ratio(timings[ALONE], loads)
    rate, copy_rate = (times * N * 4 / 1e9 / timing.median for times, timing in ((1, loads), (2, copied)))
    result.notes.append(
        f"{kernel.name} is bound by memory: its threads' loads, one thread's after the other's, bring {rate:.1f} GB/s "
        f"in a plain C++ loop, too; a copy reads and writes {copy_rate:.1f} GB/s"
    )


def compiling(result: Result, rounds: int) -> None:
    """Compile a small kernel, and a plain loop of the same body with standard headers by a bare ``c++ -O2``."""
    Emulate().options(Options())  # the runtime is built once, and isn't timed
    compiler = find_compiler("c++")
    samples: dict[str, list[float]] = {"emulated kernel": [], "c++ -O2": []}
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.cpp"
        for turn in range(rounds):
            plain.write_text(STANDARD + LOOP % BODY)
            command = (compiler.path, "-O2", "-shared", "-fPIC", str(plain), "-o", str(Path(folder) / "plain.so"))
            samples["c++ -O2"].append(seconds(lambda: subprocess.run(command, check=True)))  # noqa: B023
            text = CudaText("small", f"// {turn} {time.time()}\n{KERNEL % BODY}\n{LAUNCH}\n", Path(folder) / "small.cu")
            samples["emulated kernel"].append(seconds(lambda: Emulate().build(text, Options())))  # noqa: B023
    timings: dict[str, Timing] = {f"compile, {name}": summary(took) for name, took in samples.items()}
    result.timings.update(timings)
    name = "compile, emulated kernel / c++ -O2"
    result.ratios[name] = ratio(*(timings[f"compile, {n}"] for n in samples))
    result.targets[name] = "<= 5"


def seconds(call: Callable[[], object]) -> float:
    """Return the duration of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    result = Result("emulation", "CUDA kernels under emulation against plain C++ loops, 4 Mi elements in float32")
    found = libraries()
    kernels = {name: Kernel(name, found) for name in KERNELS}
    for kernel in kernels.values():
        compare(result, kernel, options.rounds)
    bound_by_memory(result, kernels["block_sum"], options.rounds)
    for kernel in kernels.values():
        checking(result, kernel, max(2, options.rounds // 2))
    compiling(result, options.rounds)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
