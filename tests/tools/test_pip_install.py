"""What is shown while pip works: steps that move, and all of its output only where it fails."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "pip_install.py"


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Collecting torch==2.13.0\n", "finding torch==2.13.0"),
        ("Processing /wheels/torch-2.13.0-cp311.whl (from x)\n", "finding torch-2.13.0-cp311.whl"),
        ("  Downloading torch-2.13.0-cp311.whl (190.0 MB)\n", "downloading torch-2.13.0-cp311.whl (190.0 MB)"),
        ("  Using cached numpy-2.4.6.whl (16 MB)\n", "taking numpy-2.4.6.whl (16 MB) from the cache"),
        ("Installing collected packages: mpmath, numpy, torch\n", "unpacking what was found, torch last"),
        ("Requirement already satisfied: pip\n", ""),
    ],
)
def test_steps(line: str, step: str) -> None:
    assert runpy.run_path(str(TOOL))["step_of"](line) == step


@pytest.mark.slow
def test_pips_own_words_are_shown_where_it_fails(tmp_path: Path) -> None:
    words = ["--no-index", "--target", str(tmp_path / "site"), "no-such-package-of-anybody"]
    done = subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No matching distribution found for no-such-package-of-anybody" in done.stderr
    assert "pip: done" not in done.stdout
    done = subprocess.run([sys.executable, TOOL, "pip"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("pip: done\n")
