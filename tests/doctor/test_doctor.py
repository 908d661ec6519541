"""The report as a whole, and the command."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import opwright
from opwright import doctor
from opwright.cli import cli
from opwright.doctor import SECTIONS, Report, Section, examine, subprocesses
from opwright.doctor.environment import OURS
from opwright.doctor.findings import Finding

FINE = Report((Section("system", (Finding("Python", "ok", "3.11"), Finding("x", "note", "y", "z"))),))
BROKEN = Report((*FINE.sections, Section("cache", (Finding("folder", "wrong", "it is gone", "make it"),))))


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "opwright", "doctor", *arguments],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.slow
def test_the_whole_of_this_machine_as_json() -> None:
    started = time.monotonic()
    done = run("--json")
    seconds = time.monotonic() - started
    report = json.loads(done.stdout)
    assert (done.returncode, report["ok"]) == (0, True), done.stdout + done.stderr
    assert list(report) == ["format", "opwright", "ok", "sections"]
    assert (report["format"], report["opwright"]) == (1, opwright.__version__)
    assert [section["name"] for section in report["sections"]] == list(SECTIONS)
    for section in report["sections"]:
        assert section.keys() == {"name", "findings"}
        for finding in section["findings"]:
            assert finding.keys() == {"topic", "state", "text", "fix"}
            assert finding["state"] in {"ok", "note", "wrong"}
            assert finding["topic"]
            assert finding["text"]
    assert seconds < 30  # 3 on a quiet machine; most of it is PyTorch's import


def test_status_one_and_lines_without_a_terminal() -> None:
    done = run("environment", MAX_JOBS="none")
    assert done.returncode == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert "WRONG  environment: MAX_JOBS: MAX_JOBS='none': expected a positive whole number" in lines
    assert "       -> MAX_JOBS=4" in lines
    assert lines[-1] == "1 thing is wrong: environment (MAX_JOBS)"


def test_everything_broken_at_once_is_a_report_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise RuntimeError('broken')")
    (tmp_path / "opwright").write_text("")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = run(
        "--json", PYTHONPATH=path, PATH=str(tmp_path), CXX="'", CC="/nowhere/gcc", TORCH_EXTENSIONS_DIR=str(tmp_path),
        CUDA_HOME="/nowhere", TORCH_CUDA_ARCH_LIST="x", MAX_JOBS="-1", OPWRIGHT_RUNTIME="x", OPWRIGHT_CACHE_SIZE="x",
        TMPDIR="/nowhere", HOME="/nowhere",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    found = {
        f"{section['name']}: {finding['topic']}"
        for section in json.loads(done.stdout)["sections"]
        for finding in section["findings"]
        if finding["state"] == "wrong"
    }
    assert found == {
        *("compilers: C compiler", "compilers: C++ compiler", "cache: folder", "torch: import", "cuda: toolkit"),
        *("architectures: TORCH_CUDA_ARCH_LIST", "environment: MAX_JOBS", "environment: OPWRIGHT_RUNTIME"),
        "environment: OPWRIGHT_CACHE_SIZE",
    }


def test_a_table_for_a_person(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from opwright.cli import console

    console._show_table(BROKEN, "all is well")
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines()] == [
        ["system"],
        ["ok", "Python", "3.11"],
        ["note", "x", "y"],
        ["->", "z"],
        ["cache"],
        ["WRONG", "folder", "it", "is", "gone"],
        ["->", "make", "it"],
        ["1", "thing", "is", "wrong:", "cache", "(folder)"],
    ]


def test_all_is_well() -> None:
    result = CliRunner().invoke(cli, ["doctor", "environment"], env={"MAX_JOBS": "2"})
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "all is well"
    assert FINE.to_json()["ok"]
    assert not BROKEN.to_json()["ok"]


def test_a_section_that_there_is_not() -> None:
    assert "is not one of 'system'" in CliRunner().invoke(cli, ["doctor", "weather"]).output


def test_an_examination_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(doctor, "_examinations", lambda: {"ninja": fail, "system": lambda: time.sleep(30)})
    monkeypatch.setattr(doctor, "_TIMEOUT", 0.2)
    first, second = examine(["ninja", "system"]).wrong
    assert first[1].text == "the examination doesn't end: no answer within 0.2 seconds"
    assert second[1].text == "the examination itself failed: ZeroDivisionError: mine"


def test_a_program_that_leaves_others_running_is_not_waited_for() -> None:
    started = time.monotonic()
    answer = subprocesses.ask(["sh", "-c", "sleep 30 & echo started"], seconds=1)
    assert time.monotonic() - started < 10
    assert answer.problem == "it didn't answer within 1 seconds"
    assert subprocesses.ask(["/nowhere/program"]).problem == "it can't be started: No such file or directory"


def test_what_is_asked_for_twice_is_found_out_once() -> None:
    numbers = itertools.count()
    once = subprocesses.once(lambda: next(numbers))
    assert (once(), once()) == (0, 0)


def test_every_variable_of_ours_is_known() -> None:
    """What the sources read from the environment is what is told of it."""
    root = Path(opwright.__file__).parent
    files = [*root.rglob("*.py"), *(Path(__file__).parents[2] / "tools").glob("*.py")]
    text = "".join(path.read_text() for path in files if path.parent.name != "doctor")
    read = set(re.findall(r"""(?:environ(?:\.get\(|\[)|^\w*VARIABLE\w* = )["'](OPWRIGHT_\w+)""", text, re.MULTILINE))
    code = "".join(path.read_text() for path in root.rglob("*.*") if path.suffix in (".cpp", ".h"))
    read |= set(re.findall(r'(?:getenv\(|variable\[?\]? = )"(OPWRIGHT_\w+)"', code))
    assert read <= OURS.keys()
    assert OURS.keys() - {"OPWRIGHT_LAUNCHER"} <= read
