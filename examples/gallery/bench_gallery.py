"""Times the gallery's operators beside PyTorch's, in turn: forward, and forward + backward where people train.

``python examples/gallery/bench_gallery.py [--rounds 21] [--threads 1]`` prints a table, and writes
benchmarks/results/gallery.json and the table and picture of docs/gallery.md. ``--only rms_norm`` measures one operator
and writes nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from cases import CASES, Arguments, Case, Draw
from gallery import load

from opwright.bench import Result, interleaved, ratio

ROOT = Path(__file__).parents[2]
Form = Callable[..., Any]


def steps(form: Form, case: Case, arguments: Arguments) -> dict[str, Callable[[], object]]:
    """Return what is timed of a form, by phase."""
    phases: dict[str, Callable[[], object]] = {"forward": lambda: form(*arguments)}
    if case.trained:
        given = list(arguments)
        for place in case.trained:
            given[place] = arguments[place].detach().clone().requires_grad_()
        trained, g = [given[place] for place in case.trained], torch.randn_like(form(*arguments))
        phases["forward + backward"] = lambda: torch.autograd.grad(form(*given), trained, g)
    return phases


def measure(case: Case, rounds: int, result: Result) -> None:
    """Time one operator, and add it to a result."""
    arguments = case.large(Draw(case.measured))
    ours = steps(getattr(load(case.source), case.operator), case, arguments)
    theirs = steps(case.eager or case.reference, case, arguments)
    for phase, step in ours.items():
        timings = interleaved({"PyTorch": theirs[phase], "Opwright": step}, rounds=rounds, seconds=0.02, warmup=1)
        result.timings |= {f"{case.operator}, {phase}: {name}": timing for name, timing in timings.items()}
        result.ratios[f"{case.operator}, {phase}"] = ratio(timings["PyTorch"], timings["Opwright"])
        print(f"{case.operator}, {phase}: {result.ratios[f'{case.operator}, {phase}']:.2f}", flush=True)
    result.notes.append(f"{case.operator}: {case.beside}")


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21, help="samples of each form, at least 2")
    parser.add_argument("--only", choices=[case.operator for case in CASES], help="measure this one, and write nothing")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of both (default: PyTorch's)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    threads = f"{options.threads} thread{'s' if options.threads > 1 else ''}"
    result = Result("gallery", f"The gallery's operators beside PyTorch's, {threads}; ratios: PyTorch / Opwright")
    for case in CASES:
        if options.only in {None, case.operator}:
            measure(case, max(options.rounds, 2), result)
    if options.only:
        result.show()
        return
    result.finish(ROOT / "benchmarks/results")
    subprocess.run([sys.executable, str(ROOT / "tools/write_figures.py")], check=True)


if __name__ == "__main__":
    main()
