"""Launches that don't end by themselves: Ctrl-C and OPWRIGHT_EMULATION_TIMEOUT end them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from opwright.cuda.emulation.runtime import workers
from tests.cuda.emulation.core.conftest import Program

Programs = Callable[[str], Program]
FIX = (
    "\n  likely fix: a thread waits for what never happens; blocks that wait for each other need a cooperative launch; "
    "emulate(check=True) says where\n"
)


@pytest.mark.parametrize("blocks", [1, 1000])
@pytest.mark.usefixtures("any_order")
def test_a_time_limit(program: Programs, monkeypatch: pytest.MonkeyPatch, blocks: int) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros((blocks, 64), np.int32)
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", "0.1")
    error = program("spins").error("wait_for", flag, out, blocks)
    assert error.startswith(
        f"the launch has taken longer than OPWRIGHT_EMULATION_TIMEOUT allows, 0.1 seconds{FIX}  in spin, "
    )
    assert not out.any()
    flag[0] = 3
    program("spins")("wait_for", flag, out, blocks)
    assert (out == 3).all()


def test_a_time_limit_within_the_runtime(program: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", "0.1")
    error = program("spins").error("lock_twice", np.zeros(1, np.int32))
    assert error.startswith("the launch has taken longer than ")
    assert "  in lock, launched at " in error


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "3s"])
def test_what_is_no_time_limit(program: Programs, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", text)
    error = program("spins").error("wait_for", np.ones(1, np.int32), np.zeros(64, np.int32), 1)
    assert error == (
        f"OPWRIGHT_EMULATION_TIMEOUT is '{text}', expected how many seconds a launch may take\n"
        "  likely fix: a number above 0, or unset it"
    )


@pytest.fixture
def control_c() -> Callable[[], threading.Timer]:
    def soon() -> threading.Timer:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        return timer

    return soon


def waiting(spins: Program, *arguments: object) -> None:
    """Python raises KeyboardInterrupt as soon as the launch is over."""
    error = spins.error("wait_for", *arguments)
    assert error.startswith(f"the launch was interrupted{FIX}")
    time.sleep(60)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 1000])
def test_control_c(program: Programs, control_c: Callable[[], threading.Timer], blocks: int) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros((blocks, 64), np.int32)
    program("spins")("wait_for", np.ones(1, np.int32), out, blocks)
    control_c()
    with workers(2), pytest.raises(KeyboardInterrupt):
        waiting(program("spins"), flag, out, blocks)
    program("spins")("wait_for", np.ones(1, np.int32), out, blocks)


def test_a_launch_that_ends_soon_is_not_interrupted(
    program: Programs, control_c: Callable[[], threading.Timer]
) -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: noted.append(number))
    try:
        flag, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
        control_c().join(0)
        release = threading.Timer(0.5, flag.__setitem__, (0, 7))
        release.start()
        program("spins")("wait_for", flag, out, 1)
        release.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
    assert (out == 7).all()
