"""Compile times of pointwise operators: LLTM's cell against a bare compiler, and libraries of many operators.

Everything is compiled anew each time. ``python benchmarks/compile_pointwise.py [--rounds 7]``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary
from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.toolchain import Options, build, build_many, find_compiler

HERE = Path(__file__).parent
CELL = HERE.parent / "examples" / "lltm" / "lltm_derived.cpp"
BARE = r"""
#include <cmath>
#include <cstdint>
static inline float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
static inline float elu(float x) { return x > 0 ? x : std::expm1(x); }
extern "C" void cell(int64_t n, const float *i, const float *o, const float *c, const float *old, float *h,
                     float *cell) {
  for (int64_t k = 0; k < n; ++k) {
    cell[k] = old[k] + elu(c[k]) * sigmoid(i[k]);
    h[k] = std::tanh(cell[k]) * sigmoid(o[k]);
  }
}
extern "C" void cell_backward(int64_t n, const float *grad_h, const float *grad_cell, const float *i, const float *o,
                              const float *c, const float *old, float *di, float *d_o, float *dc, float *d_old) {
  for (int64_t k = 0; k < n; ++k) {
    const float a = sigmoid(i[k]), b = sigmoid(o[k]), e = elu(c[k]), t = std::tanh(old[k] + e * a);
    const float d = grad_cell[k] + grad_h[k] * b * (1 - t * t);
    d_o[k] = grad_h[k] * t * b * (1 - b), di[k] = d * e * a * (1 - a);
    dc[k] = d * a * (c[k] > 0 ? 1.0f : e + 1.0f), d_old[k] = d;
  }
}
"""
BODIES = (
    *(
        "tanh(x) * y",
        "exp(-x * x) + y",
        "x > y ? sin(x) : cos(y)",
        "gelu(x) * sigmoid(y)",
        "log1p(x * x) / (1 + y * y)",
    ),
    *("max(x, y) - min(x, 0.5 * y)", "sqrt(1 + x * x) * atan(y)", "softplus(x) * erf(y)"),
)
COUNTS = (8, 16, 32, 64)
F32 = {"T": DType.F32}


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def many(count: int, folder: Path) -> KernelSource:
    """Return a source with `count` operators."""
    path = folder / f"many_{count}.cpp"
    marks = (
        f'OPWRIGHT("op{i}(x: T, y: T) -> (z: T)")\n'
        f"template <class T> T op{i}(T x, T y) {{ return {BODIES[i % 8]} + {i}; }}"
        for i in range(count)
    )
    path.write_text("#include <opwright.h>\n" + "\n".join(marks))
    return KernelSource(path, Options())


def cell() -> Callable[[], object]:
    """Build LLTM's cell, forward and the backward with all gradients: two libraries, as a first training step does."""
    source = KernelSource(CELL, Options())
    units = [source.unit(F32), source.derived_unit("lltm_derived_backward", F32, 0xF)]
    return lambda: [build(unit, rebuild=True) for unit in units]


def bare(folder: Path) -> Callable[[], object]:
    """Compile the same loops, written by hand."""
    path = folder / "bare.cpp"
    path.write_text(BARE)
    words = [
        *find_compiler().command,
        "-O3",
        "-march=native",
        "-shared",
        "-fPIC",
        str(path),
        "-o",
        str(folder / "bare.so"),
    ]
    return lambda: subprocess.run(words, check=True)


def all_types(source: KernelSource, jobs: int) -> Callable[[], object]:
    """Build a library for each of the four floating types, `jobs` at a time."""
    count = iter(range(1_000_000))

    def run() -> object:
        os.environ["MAX_JOBS"] = str(jobs)
        options = Options(identity=f"{jobs} {next(count)}")  # an identity that no cache contains
        return build_many([source.unit({"T": t}) for t in (DType.F32, DType.F64, DType.F16, DType.BF16)], options)

    return run


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Measure every variant in turn."""
    sources = {count: many(count, folder) for count in COUNTS}
    units = {count: source.unit(F32) for count, source in sources.items()}
    variants: dict[str, Callable[[], object]] = {
        "opwright, LLTM's cell": cell(),
        "bare c++ -O3, the same": bare(folder),
    }
    for count, unit in units.items():
        variants[f"a library of {count} operators"] = partial(build, unit, rebuild=True)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for jobs in dict.fromkeys((1, cores)):
        variants[f"16 operators for 4 types, {jobs} at a time"] = all_types(sources[16], jobs)
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + 1):
        for name, run in variants.items():
            samples[name].append(timed(run))
    return {name: values[1:] for name, values in samples.items()}


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 7)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCH_EXTENSIONS_DIR"] = folder
        samples = measure(rounds, Path(folder))
    timings = {name: summary(values) for name, values in samples.items()}
    median = {name: timing.median for name, timing in timings.items()}
    each = {count: median[f"a library of {count} operators"] / count for count in COUNTS}
    several = [name for name in median if name.startswith("16 operators")]
    result = Result(
        "compile_pointwise",
        "Compiling pointwise operators: LLTM's cell in float32, forward and backward; and many in one library",
        timings,
        ratios={
            "opwright / bare compiler": median["opwright, LLTM's cell"] / median["bare c++ -O3, the same"],
            **{f"ms for each of {count} operators": seconds * 1e3 for count, seconds in each.items()},
            "each of 64 / each of 16": each[64] / each[16],
            "4 types, one at a time / all cores": median[several[0]] / median[several[-1]],
        },
        targets={"opwright / bare compiler": "<= 4", "each of 64 / each of 16": "<= 1.2"},
    )
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
