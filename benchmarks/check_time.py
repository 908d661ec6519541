"""Time of ``opwright check`` for the example operators: with --quick and by default.

Every process gets a source that was never compiled before, so its time includes the imports, all compilations and, by
default, the sanitizers'. This time is divided among a file's operators; a check's own time counts for its operator.
``python benchmarks/check_time.py [--level quick] [NAME ...]``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opwright.bench import Result, write_result
from opwright.bench.scripts import Timing, summary

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
NAMES = ("my_op", "sigmoid", "round", "softmax", "gather", "dropout", "quantize", "nms", "lltm")
LIMITS = {"quick": 10, "normal": 60}


def check(name: str, level: str, folder: Path) -> tuple[float, float, list[tuple[float, str]]]:
    """Check a new copy of an example's source.

    Returns:
        The seconds of the slowest operator; the CPU seconds of an average operator; the checks with their seconds,
        slowest first.
    """
    place = Path(tempfile.mkdtemp(dir=folder))
    for source in (EXAMPLES / name).glob("*.[ch]*"):
        text = f"{source.read_text()}\n// {time.time_ns()}\n"
        (place / source.name).write_text(text)
    told = place / "report.json"
    words = [sys.executable, "-m", "opwright", "check", str(place / f"{name}.cpp"), f"--{level}", "--json", str(told)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # as users'
    before, started = _cpu(), time.perf_counter()
    if name in ("round", "quantize"):  # both have a round, whose gradient deliberately isn't its derivative
        words += ["--straight-through", "round.x"]
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    whole = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{name} isn't right:\n{done.stdout}{done.stderr}")
    outcomes = json.loads(told.read_text())["outcomes"]
    own: dict[str, float] = {}
    for outcome in outcomes:
        own[outcome["operator"]] = own.get(outcome["operator"], 0.0) + outcome["seconds"]
    rest = (whole - sum(own.values())) / len(own)
    slowest = sorted(((each["seconds"], f"{each['operator']}: {each['check']}") for each in outcomes), reverse=True)
    return max(own.values()) + rest, (_cpu() - before) / len(own), slowest


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, help=f"examples, of {', '.join(NAMES)}")
    parser.add_argument("--level", choices=LIMITS, action="append", help="quick, normal; both without it")
    parser.add_argument("--rounds", type=int, default=2, help="times each is checked")
    given = parser.parse_args()
    levels = given.level or list(LIMITS)
    timings: dict[str, Timing] = {}
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        for level in levels:
            for name in given.names:
                rounds = [check(name, level, Path(folder)) for _ in range(max(2, given.rounds))]
                timings[f"{level}: {name}"] = summary([seconds for seconds, _, _ in rounds])
                _, cpu, slowest = rounds[-1]
                listed = ", ".join(f"{what} {taken:.1f} s" for taken, what in slowest[:3])
                notes.append(f"{level}: {name}: {cpu:.1f} CPU seconds an operator; slowest {listed}")
    worst = {
        level: max(each.median for name, each in timings.items() if name.startswith(f"{level}: ")) for level in levels
    }
    result = Result(
        "check_time",
        "opwright check of an example's operators that nobody has compiled yet: seconds for the slowest",
        timings,
        ratios={f"--{level}: the slowest operator, seconds": worst[level] for level in levels},
        targets={f"--{level}: the slowest operator, seconds": f"<= {LIMITS[level]}" for level in levels},
        notes=notes,
    )
    result.show()
    if tuple(given.names) == NAMES:
        print(write_result(result, HERE / "results"))


if __name__ == "__main__":
    main()
