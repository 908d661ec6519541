"""Kernels for GPUs, called on a device that pretends to be one: in a process of its own (tests/runtime/pretend)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "pretend"


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def test_on_a_pretended_device(runtime: str) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0", str(HERE)]
    environment = {**os.environ, "OPWRIGHT_TEST_PRETENDED": "1", "OPWRIGHT_RUNTIME": runtime}
    environment.pop("PYTEST_XDIST_WORKER", None)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "sync"),
    [
        ("native", "1"),
        pytest.param("python", "0", marks=pytest.mark.exhaustive),
        pytest.param("native", "0", marks=pytest.mark.exhaustive),
        pytest.param("python", "1", marks=pytest.mark.exhaustive),
    ],
)
def test_errors_at_the_launch(runtime: str, sync: str) -> None:
    """What the device finds wrong later is reported by the call itself where that was asked for."""
    words = [sys.executable, str(HERE / "synchronous.py")]
    environment = {**os.environ, "OPWRIGHT_CUDA_SYNC": sync, "OPWRIGHT_RUNTIME": runtime}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = "twice(): pretended: an illegal memory access was encountered" if sync == "1" else "nothing"
    assert done.stdout.splitlines() == [f"waited {sync}", said, "captured: waited 0"]
