"""The feature matrix: right, refused and wrong features are told apart, and nothing of ours got worse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "benchmarks/results/feature_matrix.json"

_PLANTED = """
import os, sys
import torch
sys.path.insert(0, sys.argv[1])
from tools.feature_matrix import __main__ as command
from tools.feature_matrix.features import FEATURES, WrongResultError
from tools.feature_matrix.operators import OPERATORS, Operator, reference

def wrong(operator):
    raise WrongResultError("2 instead of 1")

FEATURES.clear()
FEATURES.update(right=lambda operator: None, refused=lambda operator: operator.nothing, wrong=wrong)
OPERATORS["planted"] = lambda: Operator(reference, None, "")
command.tried("planted", ["right", "refused", "wrong"])
"""


@pytest.mark.slow
def test_right_refused_and_wrong() -> None:
    done = subprocess.run([sys.executable, "-c", _PLANTED, ROOT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert [row[:2] for row in rows] == [["right", "yes"], ["refused", "no"], ["wrong", "wrong"]]
    assert rows[2][2] == "2 instead of 1"
    assert "nothing" in rows[1][2]


@pytest.mark.exhaustive
def test_nothing_that_worked_fails(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    kinds = ("--kind", "Opwright, kernel", "--kind", "Opwright, pointwise")
    command = [sys.executable, "-m", "tools.feature_matrix", *kinds, "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results, before = (json.loads(file.read_text())["results"] for file in (path, COMMITTED))
    for kind, rows in results.items():
        assert {name: value for name, value in rows.items() if value != "yes" == before[kind].get(name)} == {}
