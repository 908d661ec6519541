"""The table of what vmap and DTensor do with the examples: what it says is what they do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "benchmarks/results/parallel.json"


@pytest.mark.exhaustive
@pytest.mark.native
def test_the_table_is_what_happens(tmp_path: Path) -> None:
    path = tmp_path / "parallel.json"
    command = [sys.executable, "tools/parallel_table.py", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found, committed = (json.loads(file.read_text())["rows"] for file in (path, COMMITTED))
    assert {(row["file"], row["operator"]): row for row in found} == {
        (row["file"], row["operator"]): row for row in committed
    }


def test_every_annotated_example_has_a_row() -> None:
    files = [path for path in (ROOT / "examples").rglob("*.c*") if path.suffix in (".c", ".cpp", ".cu")]
    annotated = {str(path.relative_to(ROOT)) for path in files if "OPWRIGHT(" in path.read_text()}
    assert {row["file"] for row in json.loads(COMMITTED.read_text())["rows"]} == annotated
