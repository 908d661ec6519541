"""Kernels from a wheel beside those that are compiled for this machine, variant by variant; and how long a wheel takes.

``python benchmarks/wheel_variants.py [--rounds 11]``. One thread, as many elements as stay in the cache: what is
compared is the machine code. What this processor doesn't run is left out. ``libmvec`` is the
best variant with ``libmvec = true``.
"""

from __future__ import annotations

import argparse
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
from opwright.bench import Result, Timing, interleaved, ratio, write_result
from opwright.bench.timing import summary
from opwright.packaging import building, writing
from opwright.packaging.config import Library
from opwright.toolchain.variants import CAPABILITY, VARIANTS, best

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
SOURCES = ("activations/activations.cpp", "lltm/lltm_derived.cpp", "my_op/my_op.cpp", "softmax/softmax.cpp")
SIZE = 1 << 14
BEST_TARGET, BUILD_TARGET = "<= 1.2", "<= 10"
BUILD = (
    "from pathlib import Path; from opwright.packaging import building, config, writing;"
    "library = config.Library('small.ops', ('my_op.cpp',));"
    "writing.write(library, building.compiled(library, Path.cwd()), Path('small'))"
)

Operators = opwright.Operators | ModuleType


def packages(folder: Path) -> dict[str, ModuleType]:
    """A package for each variant that this processor runs: the same libraries, another one chosen."""
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
    library = Library(f"{name}.ops", SOURCES, **options)  # type: ignore[arg-type] # one flag
    writing.write(library, building.compiled(library, EXAMPLES), folder / name / "ops")
    return importlib.import_module(f"{name}.ops")


def calls(ops: Operators) -> dict[str, Callable[[], object]]:
    """What is timed of each: a mix of arithmetic, functions, and reductions."""
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
    """Timings, ratios, and the best variant's targets."""
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
    """Compiling a wheel's package of one small operator, with an empty cache: interpreter, compilers, files."""
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
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11, help="samples of each candidate")
    rounds = max(parser.parse_args().rounds, 2)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        timings, ratios, targets = measure(rounds, Path(folder))
        built = build_times(min(rounds, 5), Path(folder))
    what = "a wheel of one small operator, s"
    timings[what], ratios[what], targets[what] = built, built.median, BUILD_TARGET
    about = f"Kernels of a wheel beside a JIT build, {SIZE} elements of float32, one thread"
    result = Result("wheel_variants", about, timings, ratios, targets)
    result.show()
    print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
