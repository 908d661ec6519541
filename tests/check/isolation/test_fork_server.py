"""Workers are forks of one server, and each is as new as the first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.check.isolation import fork_server
from opwright.check.isolation.fork_server import ForkServer, keep_server, take_server

# Each worker writes what it finds as it loads this file, and leaves everything changed.
FUNCTIONS = """
import gc, json, os, signal, sys, threading, torch

found = {
    "worker": os.getpid(),
    "server": os.getppid(),
    "changed": [hasattr(torch, "changed"), "CHANGED" in os.environ, torch.get_default_dtype() != torch.float32],
    "threads": threading.active_count(),
    "test": os.environ.get("PYTEST_CURRENT_TEST"),
    "variable": os.environ.get("OPWRIGHT_SOMETHING"),
    "folder": os.getcwd(),
}
with open(__file__ + ".json", "w") as file:
    json.dump(found, file)
torch.changed = os.environ["CHANGED"] = "yes"
torch.set_default_dtype(torch.float64)
os.environ["PYTEST_CURRENT_TEST"] = "another"
threading.Thread(target=threading.Event().wait, daemon=True).start()

def right(x):
    return 2 * x

def crashes(x):
    os.kill(os.getpid(), signal.SIGSEGV)
"""
SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32)"


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Check a function; return what the last worker found."""
    path = tmp_path / "functions.py"
    path.write_text(FUNCTIONS)

    def run(name: str = "right") -> dict[str, Any]:
        report = opwright.check(f"{path}:{name}", signature=SIGNATURE, level="quick", only=("inference mode",))
        assert report.ok is (name == "right")
        found: dict[str, Any] = json.loads(Path(f"{path}.json").read_text())
        return found

    return run


@pytest.fixture
def server() -> Iterator[ForkServer]:
    """The server of this thread, kept again when the test is over."""
    with open(os.devnull, "wb") as null:
        taken = take_server(null.fileno())
    yield taken
    keep_server(taken)


def is_running(process: int) -> bool:
    """Return whether a process runs; one that has ended may still be waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_each_worker_is_new(check: Callable[..., dict[str, Any]]) -> None:
    first, second = check(), check()
    assert first["server"] == second["server"]
    assert first["worker"] != second["worker"]
    for found in (first, second):
        assert found["changed"] == [False, False, False]
        assert found["threads"] == 1
        assert "test_each_worker_is_new" in found["test"]


def test_the_worker_after_a_crash_is_new(check: Callable[..., dict[str, Any]]) -> None:
    before, crashed, after = check(), check("crashes"), check()
    assert len({found["server"] for found in (before, crashed, after)}) == 1
    assert len({found["worker"] for found in (before, crashed, after)}) == 3
    assert after["changed"] == [False, False, False]


def test_a_process_that_cant_be_shared(server: ForkServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert server.can_be_used()
    with monkeypatch.context() as changed:
        changed.setenv("OMP_NUM_THREADS", "3")
        assert not server.can_be_used()
    with monkeypatch.context() as changed:
        changed.chdir(tmp_path)
        assert not server.can_be_used()
    with monkeypatch.context() as changed:
        changed.setattr(sys, "path", [*sys.path, str(tmp_path)])
        assert not server.can_be_used()
    assert server.can_be_used()


def test_a_fork_of_its_owner_neither_uses_nor_ends_it(server: ForkServer) -> None:
    if not (child := os.fork()):
        status = 1 + server.can_be_used()
        server.close()
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert server.can_be_used()


def test_another_thread_has_none(server: ForkServer) -> None:
    keep_server(server)
    kept: list[object] = []
    thread = threading.Thread(target=lambda: kept.append(getattr(fork_server._kept, "server", None)))
    thread.start()
    thread.join()
    assert kept == [None]
    assert fork_server._kept.server is server


@pytest.mark.slow
def test_another_environment_and_folder(
    check: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = check()
    monkeypatch.setenv("OPWRIGHT_SOMETHING", "new")
    monkeypatch.chdir(tmp_path)
    second = check()
    assert (second["variable"], second["folder"]) == ("new", str(tmp_path))
    assert second["server"] != first["server"]
    assert not is_running(first["server"])


@pytest.mark.slow
def test_a_server_that_nobody_asks_ends(
    check: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fork_server, "IDLE_SECONDS", 0.0)
    monkeypatch.setenv("OPWRIGHT_SOMETHING", "new")  # so that it is another server
    first = check()
    wait_until(lambda: not is_running(first["server"]))
    monkeypatch.setattr(ForkServer, "can_be_used", lambda self: True)  # as if it ended just after it was asked
    monkeypatch.setattr(fork_server, "IDLE_SECONDS", 300.0)
    second = check()
    assert second["server"] != first["server"]


@pytest.mark.slow
def test_it_ends_with_its_thread_and_its_process(tmp_path: Path) -> None:
    path = tmp_path / "functions.py"
    path.write_text(FUNCTIONS)
    code = f"""
import json, opwright, pathlib, threading

def check():
    opwright.check("{path}:right", signature="{SIGNATURE}", level="quick", only=("inference mode",))
    print(json.loads(pathlib.Path("{path}.json").read_text())["server"], flush=True)

thread = threading.Thread(target=check)
thread.start()
thread.join()
check()
input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first, second = int(process.stdout.readline()), int(process.stdout.readline())
        wait_until(lambda: not is_running(first))
        assert is_running(second)
        process.kill()
    wait_until(lambda: not is_running(second))
