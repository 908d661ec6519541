"""Time from an edited source to the first correct result: Opwright, load_inline and a bare compiler, in turns.

Every process gets a source that was never compiled before (another factor), forward and backward, and must return the
results for that factor. The clock starts after the imports. ``python benchmarks/edit_to_call.py [--rounds 3]``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from edit_sources import BARE, OPWRIGHT, WORKERS

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary

HERE = Path(__file__).parent


def run(worker: str, factor: int, folder: Path) -> float:
    """Return the seconds that one worker process reports."""
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have cached bytecode
    script = WORKERS[worker].replace("FACTOR", str(factor)).replace("SOURCE", repr(str(folder / "my_op.cpp")))
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=folder, check=False, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return float(done.stdout.split()[-1])


def edited(factor: int, folder: Path) -> float:
    """Edit the source, then time Opwright in a fresh process."""
    (folder / "my_op.cpp").write_text(OPWRIGHT.replace("FACTOR", str(factor)))
    return run("opwright", factor, folder)


def bare(factor: int, folder: Path) -> float:
    """Time the compiler alone on the same float bodies."""
    source = folder / "bare.cpp"
    source.write_text(BARE.replace("FACTOR", str(factor)))
    started = time.perf_counter()
    words = ["c++", "-O3", "-shared", "-fPIC", str(source), "-o", str(folder / "bare.so")]
    subprocess.run(words, check=True)
    return time.perf_counter() - started


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Measure every variant in turn; the fast ones several times per round."""
    samples: dict[str, list[float]] = {}

    def sample(name: str, call: Callable[[], float]) -> None:
        samples.setdefault(name, []).append(call())

    edited(1000, folder)  # builds the runtime, once for each PyTorch
    bare(1000, folder)
    factor = 3
    for _ in range(rounds):
        factor += 1
        sample("load_inline, edited", lambda factor=factor: run("load_inline", factor, folder))
        for _ in range(5):
            factor += 1
            sample("opwright, edited", lambda factor=factor: edited(factor, folder))
            sample("opwright, unchanged", lambda factor=factor: run("opwright", factor, folder))
            sample("bare compiler", lambda factor=factor: bare(factor, folder))
            sample("import opwright, after torch", lambda: run("import", 0, folder))
    return samples


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 3, "times load_inline is run; the others five times as often")
    with tempfile.TemporaryDirectory() as folder:
        samples = measure(rounds, Path(folder))
    timings = {name: summary(values) for name, values in samples.items()}
    median = {name: timing.median for name, timing in timings.items()}
    result = Result(
        "edit_to_call",
        "An edited my_op (forward and backward) to its first right result, after the imports",
        timings,
        ratios={
            "load_inline / opwright": median["load_inline, edited"] / median["opwright, edited"],
            "opwright / bare compiler": median["opwright, edited"] / median["bare compiler"],
            "unchanged source, ms beyond the imports": median["opwright, unchanged"] * 1e3,
            "import opwright, ms beyond torch": median["import opwright, after torch"] * 1e3,
        },
        targets={
            "load_inline / opwright": ">= 60",
            "opwright / bare compiler": "<= 3",
            "unchanged source, ms beyond the imports": "<= 15",
            "import opwright, ms beyond torch": "<= 60",
        },
    )
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
