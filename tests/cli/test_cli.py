from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright import cli
from opwright.cli import info
from tests.cli.command import PLAIN, opwright


@pytest.mark.parametrize("words", [["--help"], []])
def test_help_begins_with_what_is_needed_first(words: list[str]) -> None:
    done = opwright(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  opwright new my-op && cd my-op && make test " in done.stdout
    first, more = done.stdout.partition("\nBegin with:\n")[2].split("\nMore commands:\n")
    assert re.findall(r"^  (\w+)  ", first, re.MULTILINE) == ["new", "info", "check", "bench"]
    listed = re.findall(r"^  (\w+)  ", more, re.MULTILINE)
    assert listed == sorted(listed)
    assert {"build", "bundle", "cache", "demo", "doctor"} <= {*listed}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["chekc"], "there is no command 'chekc'; did you mean check"),
        (["zzz"], "there is no command 'zzz'; there are new, info, check, bench, "),
        (["build", "--bakend", "x", "a.cpp"], "No such option"),
        (["info"], "Missing argument 'FILES...'"),
        (["new", "a1", "--c", "--cuda"], "a project is of one kind, and got --c and --cuda"),
    ],
)
def test_what_cannot_be_understood_has_one_form_and_status_2(words: list[str], text: str, tmp_path: Path) -> None:
    done = opwright(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"opwright: error: {text}"), done.stderr
    assert done.stderr.splitlines()[-1].startswith("  likely fix: ")
    assert done.stderr.endswith(" --help\n")
    assert done.stdout == ""


def test_an_unknown_check_is_answered_before_anything_is_built(tmp_path: Path) -> None:
    done = opwright("check", "--only", "valuess", "nowhere.cpp", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("opwright: error: there is no check 'valuess'; did you mean values?\n")


def test_ctrl_c_is_status_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "collect", interrupted)
    monkeypatch.setattr(sys, "argv", ["opwright", "info", "a.cpp"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == "opwright: error: stopped"


@pytest.mark.parametrize(
    ("text", "error", "status"),
    [
        ("int x = ;\n" + PLAIN, "op.cpp:2:9: error:", 1),
        ('OPWRIGHT("f(x: f32[N) -> (y: f32[N])")\nvoid f() {}', "op.cpp:2: ", 2),
        ("", 'there is no OPWRIGHT("...") in it', 2),
    ],
)
def test_an_error_is_a_message_and_a_status(write: Callable[..., Path], text: str, error: str, status: int) -> None:
    done = opwright("build", write(text))
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("opwright: error: ")
    assert error in done.stderr
    assert "for : " not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["build", "info"])
def test_a_file_that_cannot_be_read_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder.cpp").mkdir()
    (tmp_path / "loop.cpp").symlink_to(tmp_path / "loop.cpp")
    (tmp_path / "gone.cpp").symlink_to(tmp_path / "deleted.cpp")
    (tmp_path / "binary.cpp").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "marked.cpp").write_bytes(b'\xff\x00OPWRIGHT("\xfe\x00\x80f(")\xc3\x00 void')
    (tmp_path / "library.so").write_bytes(b"\x7fELF\x00\xff")
    for name, error in (
        ("nowhere.cpp", "nowhere.cpp: can't be read: No such file or directory"),
        ("gone.cpp", "gone.cpp: can't be read: No such file or directory"),
        ("folder.cpp", "folder.cpp: can't be read: Is a directory"),
        (".", ".: "),
        ("loop.cpp", "loop.cpp: can't be read: Too many levels of symbolic links"),
        ("binary.cpp", 'binary.cpp: there is no OPWRIGHT("...") in it'),
        ("marked.cpp", "marked.cpp:1: "),
        ("library.so", "library.so: "),
    ):
        done = opwright(command, name, cwd=tmp_path, without_torch=True)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith(f"opwright: error: {error}"), done.stderr
        assert not done.stdout


ROOT = os.geteuid() == 0  # who may read everything, unless told otherwise


UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if ROOT else ()


@pytest.mark.skipif(ROOT and not shutil.which("setpriv"), reason="root may read everything")
@pytest.mark.parametrize("command", ["build", "info"])
def test_a_file_without_permission_is_named(command: str, write: Callable[..., Path]) -> None:
    path = write(PLAIN)
    path.chmod(0)
    done = opwright(command, path, prefix=UNPRIVILEGED)
    assert done.returncode == 2
    assert done.stderr == f"opwright: error: {path}: can't be read: Permission denied\n"


def test_the_examples_of_run_stand_on_lines_of_their_own() -> None:
    said = opwright("run", "--help").stdout
    assert "\n  opwright run build.py\n  opwright run setup.py install\n" in said
    assert "torch.utils.cpp_extension" in said
