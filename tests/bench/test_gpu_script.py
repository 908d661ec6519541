"""benchmarks/gpu.py where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
RESULT = SCRIPT.parent / "results" / "gpu.json"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *words]
    wide = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, env=wide)


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_it_says_that_there_is_no_gpu() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "there is no GPU here that PyTorch can use; --emulate tries the script itself, at small sizes\n"
    )


@pytest.mark.exhaustive
def test_all_of_it_runs_emulated_and_writes_nothing() -> None:
    before = RESULT.stat().st_mtime_ns if RESULT.exists() else 0
    done = run("--emulate", "--no-peers", "--rounds", "2")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "no figures of a GPU" in done.stdout.splitlines()[0]
    timed = [line.split("│")[1].strip() for line in done.stdout.splitlines() if line.count("│") > 3]
    for label in (
        "edit to call, emulate",
        *(f"launch, {what}, opwright" for what in ("no gradient", "forward + backward")),
        "launch, no gradient, torch.add",
        *(f"LLTM, forward, 4x8x16, opwright, {form}" for form in ("pointers", "accessors", "pointwise derived")),
        "LLTM, forward + backward, 4x8x16, opwright, pointers",
        "LLTM, forward, 4x8x16, eager Python",
        *(f"pointwise, {size}, {name}" for size in ("1 KiB", "64 KiB") for name in ("opwright", "copy")),
    ):  # fmt: skip
        assert label in timed, done.stdout
    assert (RESULT.stat().st_mtime_ns if RESULT.exists() else 0) == before
