"""Variables that are no numbers, words that compilers refuse, and what nothing reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broken import VARIABLES, script
from tests.doctor.findings import Look, the, wrong

RUNTIME = ("OPWRIGHT_RUNTIME", "rust", "OPWRIGHT_RUNTIME=rust names no runtime, expected native or python", "unset")
LOG = (
    "OPWRIGHT_LOG",
    "loud",
    "OPWRIGHT_LOG='loud' names no level, expected debug, info, warning",
    "OPWRIGHT_LOG=debug",
)


@pytest.mark.parametrize(("name", "value", "text", "fix"), [*VARIABLES, RUNTIME, LOG])
def test_broken_variables(
    name: str, value: str, text: str, fix: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    found = the(look("environment"), name)
    assert (found.state, found.text) == ("wrong", text)
    assert fix in found.fix


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CXXFLAGS", "-bogus", "-bogus"),
        ("CFLAGS", "-O3 --no-such", "--no-such"),
        ("CPPFLAGS", "-include nowhere.h", "nowhere.h"),
        ("LDFLAGS", "-lno-such-library", "no-such-library"),
        ("CXXFLAGS", "-DX='a", "No closing quotation"),
    ],
)
def test_words_that_the_compiler_refuses(
    name: str, value: str, says: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    found = the(look("environment"), name)
    assert found.state == "wrong"
    assert found.text.startswith(f"{name}={value}")
    assert says in found.text.removeprefix(f"{name}={value}")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CXXFLAGS", "-O3 -march=native"), ("CFLAGS", "-std=c11"), ("LDFLAGS", "-Wl,-O1 -lm"), ("CPPFLAGS", "-DX='a b'")],
)
def test_words_that_it_takes(name: str, value: str, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert the(look("environment"), name).state == "ok"


def test_variables_that_are_fine_are_told_with_what_they_do(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("CPATH", "/nowhere/include")
    monkeypatch.setenv("OPWRIGHT_LOG", "Info")
    found = look("environment")
    assert not wrong(found)
    assert the(found, "MAX_JOBS").text == "3: 3 compilers at once"
    assert the(found, "OPWRIGHT_LOG").text == "Info: info is logged"
    assert the(found, "CUDA_VISIBLE_DEVICES").text == "0 (the GPUs that are seen)"
    assert the(found, "CPATH").state == "note"
    assert the(found, "TORCH_EXTENSIONS_DIR").text.endswith("(where the build cache is; judged in the section cache)")


def test_a_variable_that_nothing_reads(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_CACHESIZE", "2G")
    found = the(look("environment"), "OPWRIGHT_CACHESIZE")
    assert (found.state, "perhaps OPWRIGHT_CACHE_SIZE was meant" in found.text) == ("note", True)


def test_no_ninja_is_no_failure(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = the(look("ninja"), "ninja")
    assert (found.state, "not needed" in found.text) == ("note", True)


def test_a_ninja_that_does_not_work(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script(tmp_path / "ninja", "exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert the(look("ninja"), "ninja").text.startswith(f"{tmp_path}/ninja doesn't work: it said nothing (status 3)")
