"""DTensor: sharding strategies that follow from the signature, with two processes over gloo."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import opwright

ROOT = Path(__file__).parents[2]
PARTS = ["along_independent_axes", "pointwise_and_batched", "without_a_word", "refused"]


def test_two_processes(tmp_path: Path) -> None:
    for name in ("mapped", "shard"):  # built once, not by both
        opwright.load(ROOT / "tests" / "runtime" / "kernels" / f"{name}_ops.cpp")
    command = [sys.executable, "-W", "ignore", "-m", "tests.runtime.sharded"]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store")],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        for process in processes:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err[-3000:]
            assert out.split("\n")[:-1] == [f"{part}: right" for part in PARTS]
    finally:
        for process in processes:
            process.kill()
