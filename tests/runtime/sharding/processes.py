"""Several processes of one module, as torchrun starts them, and what each of them has to have printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch.distributed as dist

ROOT = Path(__file__).parents[3]


def assert_right(module: str, count: int, store: Path, parts: Sequence[str], *, timeout: float = 300) -> None:
    """Run ``python -m module RANK COUNT STORE`` `count` times, at once; each has to print that every part is right."""
    command = [sys.executable, "-W", "ignore", "-m", module]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(count), str(store)],
            cwd=ROOT,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        for process in processes:
            out, err = process.communicate(timeout=timeout)
            assert process.returncode == 0, err[-3000:]
            assert out.split("\n")[:-1] == [f"{part}: right" for part in parts]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(parts: Sequence[Callable[[], object]]) -> None:
    """Join the other processes, call the parts, say that each is right, and leave."""
    rank, count, store = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)
    for part in parts:
        part()
        sys.stdout.write(f"{part.__name__}: right\n")
        sys.stdout.flush()
    dist.destroy_process_group()
