"""From Opwright's wheel to a wheel of one's own, called: the script that goes the whole way does go it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "end_to_end.py"


@pytest.mark.exhaustive
@pytest.mark.native  # a new environment chooses its runtime by itself: once is enough
def test_the_script(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--keep", tmp_path / "work"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line.split(" s  ")[1] for line in done.stdout.splitlines() if " s  " in line]
    assert [step for step in steps if step in ("make test", "python -m build", "called")] == [
        "make test",
        "python -m build",
        "called",
    ]
    assert "lltm2-0.1.0-py3-none-" in done.stdout
