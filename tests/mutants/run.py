"""Makes mutants of the examples and checks them: ``python -m tests.mutants.run`` goes on where it was left.

``--only my_op`` takes some of the sources, ``--count 5`` that many mutants of each, ``--all`` all that there are. What
became of each is added to the file of results at once. ``--oracle`` takes mutants of handwritten backwards, and
compares them with derived gradients alone (oracle.py); its results are in oracle.jsonl.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

from opwright.check.checks import all_checks

from . import oracle
from .changes import Mutant, mutants, shuffled_mutants
from .examples import EVERY, Example
from .judge import judge_mutant
from .oracle import SEED, UNCHANGED

HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
ORACLE = HERE / "oracle.jsonl"
COUNT = 12
_PLACE = re.compile(r"/\S*/opwright-mutant-\w+/")
"""Where the copy of the example was: of no interest later."""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="sources whose path has this in it")
    parser.add_argument("--count", type=int, help="mutants of each source that compile; with --oracle: of each order")
    parser.add_argument("--all", action="store_true", help="all mutants that there are")
    parser.add_argument("--oracle", action="store_true", help="handwritten backwards against derived gradients")
    parser.add_argument("--jobs", type=int, default=1, help="with --oracle: how many at a time")
    parser.add_argument("--results", type=Path, help="default: results.jsonl beside this file, or oracle.jsonl")
    given = parser.parse_args()
    all_checks()  # imported once, here; each mutant's process is a copy
    results = given.results or (ORACLE if given.oracle else RESULTS)
    count = sys.maxsize if given.all else given.count or (oracle.SAMPLE if given.oracle else COUNT)
    if given.oracle:
        oracle.run(given.only, count, given.jobs, read(results), lambda row: _add(row, results))
        return
    for example in EVERY:
        if given.only in example.source:
            run_example(example, count, results)


def run_example(example: Example, count: int, results: Path) -> None:
    """Judge `count` mutants of it, those judged before included."""
    known = {row["mutant"]: row for row in read(results) if row["source"] == example.source}
    text = example.path.read_text()
    if UNCHANGED not in known:
        known[UNCHANGED] = _judge(example, UNCHANGED, "", text, None, results)
    if known[UNCHANGED]["verdict"] != "survived":
        _say(f"{example.source}: the unchanged source is {known[UNCHANGED]['verdict']}: {known[UNCHANGED]['by']}")
        return
    done = 0
    for mutant in every(example):
        if done == count:
            break
        row = known.get(str(mutant)) or _judge(
            example, str(mutant), mutant.function, mutant.text, known[UNCHANGED]["seconds"], results
        )
        done += row["verdict"] != "not compiling"


def every(example: Example) -> list[Mutant]:
    """Its mutants in the order in which they are taken."""
    return list(shuffled_mutants(mutants(example.path.read_text(), example.language), SEED))


def read(results: Path) -> list[dict[str, Any]]:
    """What has been judged."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def _judge(
    example: Example, name: str, function: str, text: str, baseline: float | None, results: Path
) -> dict[str, Any]:
    judged = judge_mutant(example, text, baseline, function)
    return _add({"source": example.source, "mutant": name, **dataclasses.asdict(judged)}, results)


def _add(row: dict[str, Any], results: Path) -> dict[str, Any]:
    """Add a row to the file of results."""
    row["seconds"] = round(row["seconds"], 1)
    row = {key: _PLACE.sub("", value) if isinstance(value, str) else value for key, value in row.items()}
    with results.open("a") as file:
        file.write(json.dumps(row) + "\n")
    _say(f"{row['seconds']:6.1f} s  {row['verdict']:13}  {row['source']}: {row['mutant']}  [{row['by']}]")
    return row


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
