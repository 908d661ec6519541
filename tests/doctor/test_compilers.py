"""Compilers that are missing, old, broken or slow: each is named, with its cause and what to do."""

from __future__ import annotations

import errno
import shutil
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.broken import CRASHING, FAILING, HANGING, LAUNCHER, OLD, script
from tests.doctor.findings import Look, the, wrong


def test_a_machine_as_it_should_be(look: Look) -> None:
    found = look("compilers")
    assert not wrong(found)
    assert the(found, "C++ compiler").text.split()[0] in {"c++", "g++", "clang++"}
    assert the(found, "C++ compiles and links").state == the(found, "Python.h").state == "ok"


def test_no_compiler(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = look("compilers")
    assert (
        the(found, "C++ compiler").text
        == "no C++ compiler: none of c++, g++, clang++ is on the PATH, and CXX is not set"
    )
    assert "apt install g++" in the(found, "C++ compiler").fix
    assert "apt install gcc" in the(found, "C compiler").fix


def test_cxx_points_nowhere(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    found = the(look("compilers"), "C++ compiler")
    assert (found.state, found.text) == ("wrong", "CXX=/nowhere/g++: there is no program '/nowhere/g++'")
    assert found.fix.startswith("correct CXX or unset it")


@pytest.mark.parametrize("name", ["CC", "CXX"])
def test_a_silent_compiler(name: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(name, str(script(tmp_path / "quiet", "exit 3")))
    found = the(look("compilers"), "C compiler" if name == "CC" else "C++ compiler")
    assert found.state == "wrong"
    assert found.text.endswith("failed or is neither gcc nor clang; it said nothing (status 3)")
    assert f"set {name} to gcc or clang" in found.fix


def test_an_old_compiler(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", OLD)))
    found = the(look("compilers"), "C++ compiler")
    assert (found.state, found.text) == ("wrong", f"{tmp_path}/g++ is gcc 4.8.5, expected gcc 11 or newer")
    assert found.fix == "install a newer one and point CXX at it"


def test_a_compiler_that_fails(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", FAILING)))
    found = the(look("compilers"), "C++ compiles and links")
    assert found.state == "wrong"
    assert "g++: fatal error: cannot execute cc1plus (status 1)" in found.text
    assert "set CXX to another" in found.fix


def test_a_compiler_that_crashes(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", CRASHING)))
    assert "it said nothing (signal 11)" in the(look("compilers"), "C++ compiles and links").text


def test_no_linker(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", f"{shutil.which('c++')} -Wl,--no-such-option")
    assert the(look("compilers"), "C++ compiles and links").state == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize("when", HANGING)
def test_a_hanging_compiler(when: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("opwright.doctor.compilers._SECONDS", 1.5)
    monkeypatch.setenv("CXX", str(script(tmp_path / "g++", HANGING[when])))
    started = time.monotonic()
    found = wrong(look("compilers"))
    assert time.monotonic() - started < 20
    says = "didn't say what it is within 1.5 seconds" if when == "asked" else "didn't answer within 1.5 seconds"
    assert says in found[0].text
    assert found[0].topic == ("C++ compiler" if when == "asked" else "C++ compiles and links")


def test_no_python_header(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    found = the(look("compilers"), "Python.h")
    assert found.state == "wrong"
    assert found.text.startswith(f"it is missing in {tmp_path}: extensions that include torch/extension.h")
    assert f"apt install python{sys.version_info[0]}.{sys.version_info[1]}-dev" in found.fix


def test_no_place_for_temporary_files(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    found = the(look("compilers"), "temporary files")
    assert "No space left on device" in found.text
    assert "TMPDIR" in found.fix


def test_a_launcher_that_does_not_work(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPWRIGHT_LAUNCHER", str(script(tmp_path / "ccache", LAUNCHER)))
    found = the(look("compilers"), "C++ launcher")
    assert found.state == "wrong"
    assert "ccache: error: no disk" in found.text
