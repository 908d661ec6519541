"""Calls at random, right, odd and wrong: each is answered rightly or refused with an error that names something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("OPWRIGHT_FUZZ_SEED", "0"))


def run(
    program: str, *words: str, environment: dict[str, str] | None = None, seed: int = SEED
) -> subprocess.CompletedProcess[str]:
    """Run one of this folder's programs, to the end or to a crash."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | (environment or {})
    command = [sys.executable, "-m", f"tests.fuzz.{program}", "--seed", str(seed), *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=7200)


def assert_calls_are_right(
    count: int, tmp_path: Path, environment: dict[str, str] | None = None, *words: str, seed: int = SEED
) -> None:
    """No call is wrong; where one ends the process, say which."""
    log = tmp_path / "log"
    done = run("calls", "--count", str(count), "--log", str(log), *words, environment=environment, seed=seed)
    print(done.stdout)
    if done.returncode and "of seed" not in done.stdout:
        last = log.read_text().strip() if log.exists() else "0"
        call = run("calls", "--describe", last, seed=seed).stdout
        pytest.fail(
            f"the process ended with {done.returncode} in call {last} of seed {seed}\n{call}\n{done.stderr[-6000:]}"
        )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


RUNTIMES = pytest.mark.parametrize("runtime", ["native", "python"])


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def test_some_calls(runtime: str, tmp_path: Path) -> None:
    assert_calls_are_right(40, tmp_path, {"OPWRIGHT_RUNTIME": runtime})  # most of the time is that of compilers


@pytest.mark.exhaustive
@RUNTIMES
def test_many_calls(runtime: str, tmp_path: Path) -> None:
    assert_calls_are_right(20_000, tmp_path, {"OPWRIGHT_RUNTIME": runtime})


@pytest.mark.exhaustive
def test_some_calls_both_ways() -> None:
    done = run("ways", "--count", "200")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.exhaustive
def test_many_calls_both_ways() -> None:
    done = run("ways", "--count", "20000")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.exhaustive
@pytest.mark.parametrize("runtime", ["native", "python"])
def test_some_calls_under_vmap(runtime: str) -> None:
    done = run("batches", "--count", "200", environment={"OPWRIGHT_RUNTIME": runtime})
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.exhaustive
def test_many_calls_under_vmap() -> None:
    done = run("batches", "--count", "5000")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.slow
def test_some_programs() -> None:
    done = run("programs", "--count", "15")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


@pytest.mark.exhaustive
def test_many_programs() -> None:
    done = run("programs", "--count", "600")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
