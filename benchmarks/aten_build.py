"""Time from an edit of LLTM's ATen source to its first correct result: Opwright and PyTorch's loader, in turns.

Every process gets a source that was never compiled before. The clock starts after ``import torch``. PyTorch's
precompiled header (``load_inline(use_pch=True)`` leaves one in site-packages) must not exist; ours does, except for the
first build, which starts with an empty cache. CPU seconds are those of the compilers that the process waited for.
``python benchmarks/aten_build.py [--rounds 3]``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from opwright.bench import Result
from opwright.bench.scripts import parse_rounds, summary

HERE = Path(__file__).parent
SOURCE = (HERE.parent / "examples" / "lltm" / "lltm_aten.cpp").read_text()
WORKER = """
import resource, sys, time, torch
name, path, factor = sys.argv[1], sys.argv[2], float(sys.argv[3])
started = time.perf_counter()
if name == "opwright":
    from opwright.cpp_extension import load
else:
    from torch.utils.cpp_extension import load
module = load("lltm", [path])
t = torch.ones(2, 2, dtype=torch.float64)
h = module.forward(t, torch.zeros(6, 4, dtype=torch.float64), torch.ones(6, dtype=torch.float64), t, t)[0]
seconds = time.perf_counter() - started
gate = 1 / (1 + torch.exp(torch.tensor(-1.0, dtype=torch.float64)))
assert torch.allclose(h, torch.tanh(1 + gate) * gate * factor), h
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(seconds, used.ru_utime + used.ru_stime)
"""


def run(name: str, number: int, folder: Path) -> tuple[float, float]:
    """Return the wall-clock seconds of one process for a new edit, and the compilers' CPU seconds."""
    source = folder / name / "lltm.cpp"
    source.parent.mkdir(exist_ok=True)
    text = SOURCE.replace("{squashed * output_gate,", f"{{squashed * output_gate * {number}.0,")
    assert text != SOURCE
    source.write_text(text)
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / name / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have cached bytecode
    words = [sys.executable, "-c", WORKER, name, str(source), str(number)]
    done = subprocess.run(words, env=environment, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds, cpu = map(float, done.stdout.split())
    return seconds, cpu


def settle(folder: Path) -> None:
    """Wait until the headers that are precompiled during a first build are ready."""
    for _ in range(6000):
        if list((folder / "opwright" / "cache").glob("opwright/pch/*/prefix.h.gch")):
            return
        time.sleep(0.1)
    raise RuntimeError("the headers were never compiled ahead")


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Measure every variant in turn."""
    samples: dict[str, list[float]] = {}

    def sample(label: str, name: str, number: int, where: Path) -> None:
        seconds, cpu = run(name, number, where)
        samples.setdefault(label, []).append(seconds)
        samples.setdefault(f"{label}, CPU of the compilers", []).append(cpu)

    number = 3
    for index in range(rounds):
        first = folder / f"first-{index}"
        first.mkdir()
        sample("opwright, the first time", "opwright", number, first)
        settle(first)
        sample("torch, edited", "torch", number + 1, folder)
        for _ in range(3):
            number += 2
            sample("opwright, edited", "opwright", number, first)
        sample("opwright, unchanged", "opwright", number, first)
    samples.pop("opwright, unchanged, CPU of the compilers")
    return samples


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 3, "times PyTorch's loader is run")
    theirs = Path(torch.__file__).parent / "include" / "torch" / "extension.h.gch"
    if theirs.exists():
        raise SystemExit(f"{theirs} is there: remove it, so that both start from the same")
    with tempfile.TemporaryDirectory() as folder:
        samples = measure(rounds, Path(folder))
    timings = {name: summary(values) for name, values in samples.items()}
    median = {name: timing.median for name, timing in timings.items()}
    cpu = "{}, CPU of the compilers".format
    result = Result(
        "aten_build",
        "An edited LLTM (ATen C++) to its first right result, after import torch",
        timings,
        ratios={
            "torch / opwright, edited": median["torch, edited"] / median["opwright, edited"],
            "the same in CPU seconds": median[cpu("torch, edited")] / median[cpu("opwright, edited")],
            "opwright, the first time / torch": median["opwright, the first time"] / median["torch, edited"],
        },
        targets={
            "torch / opwright, edited": ">= 4",
            "the same in CPU seconds": ">= 4",
            "opwright, the first time / torch": "<= 1",
        },
    )
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
