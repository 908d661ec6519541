"""CUDA kernels under emulation beside plain C++ loops: 4 Mi elements, one worker and all; and how long they compile.

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

from opwright.bench import Result, Timing, interleaved, ratio, write_result
from opwright.bench.timing import summary
from opwright.codegen.backends import CudaText
from opwright.cuda.emulation import Emulate
from opwright.cuda.emulation.control import workers
from opwright.toolchain import Options, Unit, build, find_compiler

HERE = Path(__file__).parent
N = 1 << 22
KERNELS = ("axpy", "gelu", "softmax", "softmax_warp", "matmul", "block_sum")
KERNEL = "__global__ void k(int n, const float *x, float *y) { int i = blockIdx.x * blockDim.x + threadIdx.x; %s }"
BODY = "if (i < n) y[i] = 2 * x[i] + 1;"
LAUNCH = 'extern "C" void go(int n, const float *x, float *y) { k<<<(n + 255) / 256, 256>>>(n, x, y); }'
LOOP = 'extern "C" void go(int n, const float *x, float *y) { for (int i = 0; i < n; ++i) { %s } }'
STANDARD = "".join(f"#include <{name}>\n" for name in ("algorithm", "cmath", "cstdio", "string", "vector"))


def libraries() -> dict[str, ctypes.CDLL]:
    """The kernels, and the loops."""
    kernels, loops = HERE / "peers/emulation.cu", HERE / "peers/emulation_loops.cpp"
    emulated = Emulate().build(CudaText("emulation", kernels.read_text("utf-8"), kernels), Options())
    plain = build(Unit("emulation_loops", loops.read_text("utf-8"), loops, embeds=True), Options()).path
    return {"emulated": ctypes.CDLL(str(emulated)), "plain C++": ctypes.CDLL(str(plain))}


def compare(result: Result, name: str, found: dict[str, ctypes.CDLL], rounds: int) -> None:
    """One kernel: that both ways agree, and how long they take."""
    x = torch.rand(N, generator=torch.Generator().manual_seed(0)) - 0.5
    outs = {way: torch.zeros(N) for way in found}

    def call(way: str, count: int) -> Callable[[], object]:
        function = getattr(found[way], name)
        arguments = (ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(outs[way].data_ptr()), ctypes.c_int(N))

        def once() -> None:
            with workers(count):
                function(*arguments)

        return once

    ways = {
        "plain C++": call("plain C++", 1),
        "emulated, one worker": call("emulated", 1),
        "emulated": call("emulated", 0),
    }
    for once in ways.values():
        once()
    torch.testing.assert_close(outs["emulated"], outs["plain C++"], rtol=1e-4, atol=1e-4)
    timings = interleaved(ways, rounds=rounds, seconds=0.05, warmup=1)
    result.timings.update({f"{way}, {name}": timing for way, timing in timings.items()})
    for way in ("emulated, one worker", "emulated"):
        result.ratios[f"{way} / plain C++, {name}"] = ratio(timings[way], timings["plain C++"])


def compiling(result: Result, rounds: int) -> None:
    """A small kernel, and a plain loop of the same body with standard headers by a bare ``c++ -O2``."""
    Emulate().options(Options())  # the runtime is built once, and is no part of it
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
    """How long one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    result = Result("emulation", "CUDA kernels under emulation against plain C++ loops, 4 Mi elements in float32")
    found = libraries()
    for name in KERNELS:
        compare(result, name, found, options.rounds)
    compiling(result, options.rounds)
    result.show()
    print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
