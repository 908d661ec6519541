"""The fuzzers for a minute each with a seed that nobody has tried: what continuous integration runs (``make fuzz``).

The seed is printed; ``OPWRIGHT_FUZZ_SEED`` repeats it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.test_calls import RUNTIMES, SEED, assert_calls_are_right, run
from tests.fuzz.test_sanitized import sanitizing

pytestmark = pytest.mark.exhaustive
NEW = SEED or random.SystemRandom().randrange(1, 10**9)
MINUTE = ("--seconds", "60")
MANY = 10**6


@pytest.fixture(autouse=True)
def told() -> None:
    print(f"OPWRIGHT_FUZZ_SEED={NEW}")


@RUNTIMES
def test_calls(runtime: str, tmp_path: Path) -> None:
    assert_calls_are_right(MANY, tmp_path, {"OPWRIGHT_RUNTIME": runtime}, *MINUTE, seed=NEW)


def test_programs() -> None:
    done = run("programs", "--count", str(MANY), *MINUTE, seed=NEW)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_sanitized_calls(tmp_path: Path) -> None:
    assert_calls_are_right(MANY, tmp_path, sanitizing(), *MINUTE, seed=NEW)
