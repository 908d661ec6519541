"""Rebuild time of an edited pybind11 extension (LLTM in ATen C++): our slim form of pybind11 and pybind11 itself.

Both variants have precompiled headers, so the difference is the cost of pybind11's templates in each build. Every
process gets a source that was never compiled before; the variants take turns. CPU seconds are those of the process and
of the compilers that it waited for, since these depend least on other load. A first build isn't measured: without a
precompiled header, the slim form isn't used at all.
``python benchmarks/pybind11_slim.py [--rounds 5]``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from opwright.bench import Result, write_result
from opwright.bench.scripts import summary

HERE = Path(__file__).parent
SOURCE = (HERE.parent / "examples" / "lltm" / "lltm_aten.cpp").read_text()
LEVELS = ("slim", "light")
WORKER = """
import resource, sys, torch
from opwright.aten import headers
from opwright.cpp_extension import load
level, path, factor = sys.argv[1], sys.argv[2], float(sys.argv[3])
needed = headers.needed
headers.needed = lambda text: headers.highest(needed(text), level)

def used():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

started = used()
module = load("lltm", [path])
seconds = used() - started
t = torch.ones(2, 2, dtype=torch.float64)
h = module.forward(t, torch.zeros(6, 4, dtype=torch.float64), torch.ones(6, dtype=torch.float64), t, t)[0]
gate = 1 / (1 + torch.exp(torch.tensor(-1.0, dtype=torch.float64)))
assert torch.allclose(h, torch.tanh(1 + gate) * gate * factor), h
print(seconds)
"""


def build(level: str, number: int, folder: Path) -> float:
    """Return the CPU seconds of a build with a new edit."""
    source = folder / level / "lltm.cpp"
    source.parent.mkdir(exist_ok=True)
    text = SOURCE.replace("{squashed * output_gate,", f"{{squashed * output_gate * {number}.0,")
    assert text != SOURCE
    source.write_text(text)
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "cache"), "OPWRIGHT_PRECOMPILE": "wait"}
    command = [sys.executable, "-c", WORKER, level, str(source), str(number)]
    done = subprocess.run(command, env=environment, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout)


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Build every variant in turn."""
    samples: dict[str, list[float]] = {}
    number = 2
    for level in LEVELS:
        build(level, number, folder)  # precompiles the headers
    for _ in range(rounds):
        number += 1
        for level in LEVELS:
            samples.setdefault(f"{level}, edited", []).append(build(level, number, folder))
    return samples


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        samples = measure(max(rounds, 2), Path(folder))
    timings = {name: summary(values) for name, values in samples.items()}
    median = {name: timing.median for name, timing in timings.items()}
    result = Result(
        "pybind11_slim",
        "CPU seconds to build an edited LLTM (ATen C++, PYBIND11_MODULE), by the headers it is compiled with",
        timings,
        ratios={"slim / light, edited": median["slim, edited"] / median["light, edited"]},
        targets={"slim / light, edited": "<= 0.75"},
    )
    result.show()
    print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
