"""Try each feature with each operator: ``python -m tools.feature_matrix [--only TEXT] [--json FILE]``.

Every kind of operator is tried in a process of its own, which is started anew where it ends or takes too long. Prints a
line for each feature, and why one isn't there; `tools/write_figures.py` writes the table from the JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import torch

from . import eager, graphs  # noqa: F401 - they register the features
from .features import FEATURES, WrongResultError, tensors
from .operators import OPERATORS

SECONDS = 300


def tried(kind: str, names: list[str]) -> None:
    """Try features in this process; print a line of JSON for each."""
    warnings.simplefilter("ignore")
    operator = OPERATORS[kind]()
    operator.call(*tensors())  # what can't be compiled says so here
    print(flush=True)
    for name in names:
        torch._dynamo.reset()
        try:
            FEATURES[name](operator)
            result = ["yes", ""]
        except WrongResultError as error:
            result = ["wrong", str(error)]
        except Exception as error:  # noqa: BLE001 - it is told
            result = ["no", f"{type(error).__name__}: {error}"]
        print(json.dumps([name, *result]), flush=True)


def results_of(kind: str, names: list[str]) -> dict[str, list[str]]:
    """Return for each feature "yes", "no", "wrong" or "crash", and why."""
    results: dict[str, list[str]] = {}
    while missing := [name for name in names if name not in results]:
        command = [sys.executable, "-m", "tools.feature_matrix", "--child", kind, *missing]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
        try:
            output, errors = child.communicate(timeout=SECONDS * 2)
            ended = f"status {child.returncode}: {errors.strip()[-300:]}"
        except subprocess.TimeoutExpired:
            child.kill()
            output, errors = child.communicate()
            ended = "it took too long"
        for line in output.splitlines():
            if line.startswith("["):
                name, *result = json.loads(line)
                results[name] = result
        left = [name for name in missing if name not in results]
        if left and not output:
            raise SystemExit(f"{kind}: {errors}")
        if left:
            results[left[0]] = ["crash", ended]
    return {name: results[name] for name in names}


def _merged(before: dict[str, str], results: dict[str, list[str]]) -> dict[str, str]:
    """Return a kind's results with those of features that weren't tried now, in the order of the features."""
    both = before | {name: value for name, (value, _) in results.items()}
    return {name: both[name] for name in FEATURES if name in both}


def main() -> int:
    """Run the command; return 1 if something is silently wrong or crashes with an operator of Opwright's."""
    parser = argparse.ArgumentParser(prog="python -m tools.feature_matrix", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="features whose name contains it")
    parser.add_argument("--kind", action="append", choices=OPERATORS, help="a kind of operator")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there; those of others stay")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        tried(given.child[0], given.child[1:])
        return 0
    names = [name for name in FEATURES if given.only in name]
    kinds = given.kind or list(OPERATORS)
    results = {kind: results_of(kind, names) for kind in kinds}
    for name in names:
        print(f"{name}: " + ", ".join(f"{kind} {results[kind][name][0]}" for kind in kinds))
        for kind in kinds:
            if results[kind][name][1]:
                print(f"    {kind}: {results[kind][name][1].splitlines()[0][:200]}")
    if given.json:
        before = json.loads(given.json.read_text())["results"] if given.json.exists() else {}
        document: dict[str, Any] = {
            "torch": torch.__version__,
            "python": platform.python_version(),
            "results": {
                **before,
                **{kind: _merged(before.get(kind, {}), results[kind]) for kind in kinds},
            },
        }
        given.json.write_text(json.dumps(document, indent=1) + "\n")
    ours = [value for kind in kinds if kind.startswith("Opwright") for value, _ in results[kind].values()]
    return int(bool({"wrong", "crash"} & set(ours)))


if __name__ == "__main__":
    sys.exit(main())
