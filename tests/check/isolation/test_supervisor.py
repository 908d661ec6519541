"""What ends, stops or floods the process that calls is told, and the other checks go on in another one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import opwright
from opwright.check import Report, request
from opwright.check.isolation import supervisor
from opwright.check.listener import Interrupted
from opwright.cli.check import command
from opwright.errors import SourceError
from tests.interpreter import run_python

FUNCTIONS = """
import os, signal, sys, threading, time

def right(x):
    return 2 * x

def crashes_when_empty(x):
    if x.numel() == 0:
        print("empty!", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGSEGV)
    return 2 * x

def exits_when_empty(x):
    if x.numel() == 0:
        os._exit(7)
    return 2 * x

def waits_when_empty(x):
    while x.numel() == 0:
        pass
    return 2 * x

def waits_always(x):
    print("waits", file=sys.stderr)
    time.sleep(1000)
"""
SIGNATURE = "f(x: T[N]) -> (y: T[N]) where T in (f32, f64)"
Write = Callable[..., Path]


@pytest.fixture
def functions(tmp_path: Path) -> str:
    path = tmp_path / "functions_that_end.py"
    path.write_text(FUNCTIONS)
    return str(path)


def checked(functions: str, name: str, *only: str) -> Report:
    return opwright.check(f"{functions}:{name}", signature=SIGNATURE, level="quick", only=only)


def test_the_checks_after_a_crash_go_on(functions: str) -> None:
    report = checked(functions, "crashes_when_empty", "sizes", "inference mode")
    assert [(outcome.check, outcome.status) for outcome in report] == [
        ("sizes", "failed"),
        ("inference mode", "passed"),
    ]
    (finding,) = report.findings
    lines = finding.message.splitlines()
    assert finding.kind == "crashes"
    assert lines[0].startswith("a call ended its process by SIGSEGV: memory that isn't there, or not aligned")
    assert lines[1:] == ["  the call: x: float32 of shape (0,)", "  it said: empty!"]
    assert "functions_that_end.crashes_when_empty(x)" in finding.reproducer
    done = run_python(finding.reproducer)
    assert done.returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_an_int_that_is_0_is_told_its_domain(write: Write) -> None:
    text = """
OPWRIGHT("grouped(x: f32[N], groups: int) -> (y: f32[N])")
void grouped(Tensor<const float, 1> x, int64_t groups, Tensor<float, 1> y) {
  volatile int64_t each = 100 / groups;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i];
}
"""
    report = opwright.check(write(text, "grouped.cpp"), level="quick", only=("sizes", "layouts"))
    message = next(finding.message for finding in report.findings if finding.kind == "crashes")
    assert "SIGFPE" in message
    assert "groups: 0\n  likely fix: if groups can't be 0, the signature says so: groups: int in [1, inf)" in message


@pytest.mark.slow
def test_what_calls_exit(functions: str) -> None:
    (finding,) = checked(functions, "exits_when_empty", "sizes").findings
    assert finding.message.startswith("a call ended its process by exit(7)\n")


def test_what_never_returns(functions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(request.CALL_SECONDS, "quick", 2.0)
    report = checked(functions, "waits_when_empty", "sizes", "inference mode")
    (finding,) = report.findings
    assert finding.kind == "doesnt-return"
    assert finding.message.startswith("a call hasn't returned within ")
    assert "waits_when_empty(x)" in finding.reproducer
    assert report.outcomes[-1].status == "passed"


@pytest.mark.slow
def test_an_operator_that_always_crashes_isnt_called_for_ever(functions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = checked(functions, "crashes_when_empty", "sizes", "layouts", "determinism", "element types")
    assert sum(outcome.status == "failed" for outcome in report) == supervisor.MAX_DEATHS
    assert report.outcomes[-1].detail == "it isn't called any more: a call ended its process by SIGSEGV"


@pytest.mark.slow
def test_the_command_reports_in_every_form(functions: str, tmp_path: Path) -> None:
    told, junit = tmp_path / "report.json", tmp_path / "report.xml"
    words = [f"{functions}:crashes_when_empty", "--signature", SIGNATURE, "--quick", "--only", "sizes"]
    done = CliRunner().invoke(command, [*words, "--json", str(told), "--junit", str(junit)])
    assert done.exit_code == 1, done.output
    assert "f: sizes: crashes\n  a call ended its process by SIGSEGV" in done.stdout
    assert json.loads(told.read_text())["outcomes"][0]["findings"][0]["kind"] == "crashes"
    failure = ET.parse(junit).find("testcase/failure")  # noqa: S314 - our own
    assert failure is not None
    assert failure.get("message") == "crashes"


def test_a_file_that_ends_the_process_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "ends.py"
    path.write_text("import os\nos.abort()\n")
    (outcome,) = opwright.check(f"{path}:f", signature=SIGNATURE)
    assert (outcome.check, outcome.status) == ("load", "failed")
    assert outcome.findings[0].message.startswith("loading it ended its process by SIGABRT: abort() was called")


def test_errors_of_the_request_come_from_there(functions: str) -> None:
    with pytest.raises(SourceError, match="has no 'wrong'"):
        checked(functions, "wrong", "sizes")


def test_ctrl_c_keeps_what_was_found(functions: str) -> None:
    def progress(operator: str, check: str, done: int, total: int) -> None:
        if check == "inference mode":
            raise KeyboardInterrupt

    only = ("sizes", "inference mode")
    with pytest.raises(Interrupted) as stopped:
        opwright.check(f"{functions}:right", signature=SIGNATURE, level="quick", only=only, progress=progress)
    assert [(o.check, o.status) for o in stopped.value.report] == [("sizes", "passed")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("calls", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["imports", "calls"])
def test_no_worker_stays_behind(functions: str, number: signal.Signals, calls: bool) -> None:
    code = f"import opwright; opwright.check('{functions}:waits_always', signature='{SIGNATURE}')"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        ends = time.monotonic() + 120
        while not (workers := _descendants(process.pid)) and time.monotonic() < ends:
            time.sleep(0.01)
        if calls:
            assert "waits" in process.stderr.readline()
            workers = _descendants(process.pid)
        assert len(workers) == 1 + calls  # the server that imports PyTorch, and its fork
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert ("Interrupted" in said) is (number is signal.SIGINT)
    while any(map(_is_alive, workers)) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not any(map(_is_alive, workers))


def _descendants(process: int) -> list[int]:
    children = [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return [*children, *(each for child in children for each in _descendants(child))]


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
