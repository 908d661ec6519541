"""Makes mutants of the examples and checks them: ``python -m tests.mutants.run`` goes on where it was left.

``--only my_op`` takes some of the sources, ``--count 5`` that many mutants of each, ``--all`` all that there are. What
became of each is added to the file of results at once. ``--oracle`` takes all mutants of handwritten backwards, and
compares them with the derived gradients alone; its results are in oracle.jsonl.
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

from .changes import Mutant, mutants, shuffled_mutants
from .examples import EVERY, Example
from .judge import judge_mutant

HERE = Path(__file__).parent
RESULTS = HERE / "results.jsonl"
ORACLE = HERE / "oracle.jsonl"
SEED = 0
COUNT = 12
UNCHANGED = "(unchanged)"
_BACKWARD = re.compile(r"^(?!.*backward_backward$)(.*_)?backward$")
"""Names of functions that are a first backward: the oracle says nothing of a backward's own."""
_PLACE = re.compile(r"/\S*/opwright-mutant-\w+/")
"""Where the copy of the example was: of no interest later."""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="sources whose path has this in it")
    parser.add_argument("--count", type=int, default=COUNT, help="mutants of each source that compile")
    parser.add_argument("--all", action="store_true", help="all mutants that there are")
    parser.add_argument("--oracle", action="store_true", help="backwards of C++ sources against derived gradients")
    parser.add_argument("--results", type=Path, help="default: results.jsonl beside this file, or oracle.jsonl")
    given = parser.parse_args()
    all_checks()  # imported once, here; each mutant's process is a copy
    count = sys.maxsize if given.all or given.oracle else given.count
    results = given.results or (ORACLE if given.oracle else RESULTS)
    for example in EVERY:
        if given.only in example.source and not (given.oracle and not backwards(example)):
            run_example(example, count, results, oracle=given.oracle)


def run_example(example: Example, count: int, results: Path, *, oracle: bool = False) -> None:
    """Judge `count` mutants of it, those judged before included; `oracle`: of its backwards, by that alone."""
    known = {row["mutant"]: row for row in read(results) if row["source"] == example.source}
    text = example.path.read_text()
    if UNCHANGED not in known:
        known[UNCHANGED] = _judge(example, UNCHANGED, "", text, None, results, oracle=oracle)
    if known[UNCHANGED]["verdict"] != "survived":
        _say(f"{example.source}: the unchanged source is {known[UNCHANGED]['verdict']}: {known[UNCHANGED]['by']}")
        return
    done = 0
    for mutant in backwards(example) if oracle else every(example):
        if done == count:
            break
        row = known.get(str(mutant)) or _judge(
            example, str(mutant), mutant.function, mutant.text, known[UNCHANGED]["seconds"], results, oracle=oracle
        )
        done += row["verdict"] != "not compiling"


def every(example: Example) -> list[Mutant]:
    """Its mutants in the order in which they are taken."""
    return list(shuffled_mutants(mutants(example.path.read_text(), example.language), SEED))


def backwards(example: Example) -> list[Mutant]:
    """Those of the handwritten backwards of a C++ source, which a derived gradient can be the oracle of."""
    if example.path.suffix not in (".cpp", ".h"):
        return []
    return [each for each in every(example) if _BACKWARD.search(each.function)]


def read(results: Path) -> list[dict[str, Any]]:
    """What has been judged."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def _judge(
    example: Example, name: str, function: str, text: str, baseline: float | None, results: Path, *, oracle: bool
) -> dict[str, Any]:
    row = {
        "source": example.source,
        "mutant": name,
        **dataclasses.asdict(judge_mutant(example, text, baseline, function, oracle=oracle)),
    }
    row["seconds"] = round(row["seconds"], 1)
    row = {key: _PLACE.sub("", value) if isinstance(value, str) else value for key, value in row.items()}
    with results.open("a") as file:
        file.write(json.dumps(row) + "\n")
    _say(f"{row['seconds']:6.1f} s  {row['verdict']:13}  {example.source}: {name}  [{row['by']}]")
    return row


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
