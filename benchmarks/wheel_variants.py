"""Kernels from a wheel against kernels compiled for this machine, by variant; and the time to build a wheel.

``python benchmarks/wheel_variants.py [--rounds 11]``. One thread, and tensors that fit in the cache, so that the
machine code is compared. Variants that this processor can't run are left out. ``libmvec`` is the best variant with
``libmvec = true``.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import torch

import opwright
from opwright.bench import Result, Timing, interleaved, ratio
from opwright.bench.scripts import parse_rounds, summary
from opwright.packaging import library_builder, package_writer
from opwright.packaging.config import Library
from opwright.toolchain.compilers.cpu import CAPABILITY, VARIANTS, best

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
SOURCES = ("activations/activations.cpp", "lltm/lltm_derived.cpp", "my_op/my_op.cpp", "softmax/softmax.cpp")
SIZE = 1 << 14
BEST_TARGET, BUILD_TARGET = "<= 1.2", "<= 10"
BUILD = (
    "from pathlib import Path; from opwright.packaging import config, library_builder, package_writer;"
    "library = config.Library('small.ops', ('my_op.cpp',));"
    "package_writer.write(library, library_builder.compiled(library, Path.cwd()), Path('small'))"
)

Operators = opwright.Operators | ModuleType


def packages(folder: Path) -> dict[str, ModuleType]:
    """Make a package for each variant that this processor runs: the same libraries, another variant selected."""
    sys.path.insert(0, str(folder))
    found = {}
    for variant in VARIANTS:
        os.environ[CAPABILITY] = variant
        if best(VARIANTS) != variant:
            continue
        found[variant] = _package(folder, f"for_{variant}")
    del os.environ[CAPABILITY]
    return {**found, "libmvec": _package(folder, "with_libmvec", libmvec=True)}


def _package(folder: Path, name: str, **options: bool) -> ModuleType:
    library = Library(f"{name}.ops", SOURCES, **options)  # type: ignore[arg-type] # a single flag
    package_writer.write(library, library_builder.compiled(library, EXAMPLES), folder / name / "ops")
    return importlib.import_module(f"{name}.ops")


def calls(ops: Operators) -> dict[str, Callable[[], object]]:
    """Return the timed calls: a mix of arithmetic, functions, and reductions."""
    torch.manual_seed(0)
    x, y, z, w = (torch.randn(SIZE) for _ in range(4))
    rows = torch.randn(SIZE // 128, 128)
    return {
        "my_op": lambda: ops.my_op(x, y),
        "hard_swish": lambda: ops.hard_swish(x),
        "gelu": lambda: ops.gelu(x),
        "mish": lambda: ops.mish(x),
        "lltm cell": lambda: ops.lltm_derived(x, y, z, w),
        "softmax": lambda: ops.softmax(rows),
    }


def measure(rounds: int, folder: Path) -> tuple[dict[str, Timing], dict[str, float], dict[str, str]]:
    """Return timings, ratios, and the best variant's targets."""
    jit = opwright.load(*(EXAMPLES / source for source in SOURCES), namespace="jit_of_this_machine")
    forms: Mapping[str, Operators] = {"JIT": jit, **packages(folder)}
    every = {name: calls(ops) for name, ops in forms.items()}
    timings: dict[str, Timing] = {}
    ratios: dict[str, float] = {}
    targets: dict[str, str] = {}
    last = list(forms)[-1]
    for name in every["JIT"]:
        timed = interleaved({form: each[name] for form, each in every.items()}, rounds=rounds, seconds=0.02)
        timings |= {f"{name}, {form}": timing for form, timing in timed.items()}
        for form in list(forms)[1:]:
            ratios[f"{name}: wheel's {form} / JIT"] = ratio(timed[form], timed["JIT"])
        targets[f"{name}: wheel's {last} / JIT"] = BEST_TARGET
    return timings, ratios, targets


def build_times(rounds: int, folder: Path) -> Timing:
    """Time the build of a wheel's package of one small operator with an empty cache: interpreter, compilers, files."""
    seconds = []
    for index in range(rounds):
        work = folder / f"build{index}"
        work.mkdir()
        (work / "my_op.cpp").write_text((EXAMPLES / "my_op" / "my_op.cpp").read_text())
        started = time.perf_counter()
        environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(work / "cache")}
        subprocess.run([sys.executable, "-c", BUILD], cwd=work, check=True, env=environment)
        seconds.append(time.perf_counter() - started)
    return summary(seconds)


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 11, "samples of each candidate")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        timings, ratios, targets = measure(rounds, Path(folder))
        built = build_times(min(rounds, 5), Path(folder))
    what = "a wheel of one small operator, s"
    timings[what], ratios[what], targets[what] = built, built.median, BUILD_TARGET
    about = f"Kernels of a wheel beside a JIT build, {SIZE} elements of float32, one thread"
    result = Result("wheel_variants", about, timings, ratios, targets)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
