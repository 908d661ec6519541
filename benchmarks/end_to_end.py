"""Time of a new user's steps, from pip to a wheel that another environment calls: ``tools/end_to_end.py``.

Downloads PyTorch twice, unless pip finds it nearby. ``python benchmarks/end_to_end.py [--rounds 2]``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from opwright.bench import Result
from opwright.bench.scripts import summary

HERE = Path(__file__).parent
TARGET = "<= 180"
WHAT = "pip, opwright new, make test, python -m build, installed elsewhere, called: seconds"


def once() -> tuple[float, str]:
    """Return the seconds of all steps, and the output with each step's time."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(HERE.parent / "tools" / "end_to_end.py")], check=True, capture_output=True, text=True
    )
    return time.perf_counter() - began, done.stdout


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="how often all of it is done, twice at least")
    every = [once() for _ in range(max(2, parser.parse_args().rounds))]
    timing = summary([seconds for seconds, _ in every])
    notes = [" ".join(line.split()) for line in every[-1][1].splitlines()]
    about = "From Opwright's wheel to a wheel of one's own, called, with pip alone"
    result = Result("end_to_end", about, {WHAT: timing}, {WHAT: timing.median}, {WHAT: TARGET}, notes)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
