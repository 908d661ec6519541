"""Finding a compiler, and the words that CC and CXX may hold."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Built, find_compiler
from opwright.toolchain.compilers.compiler import which

Script = Callable[[Path, str], Path]
Compile = Callable[..., Built]


def fake(answer: str) -> str:
    """A script that answers ``-v`` as a compiler would."""
    return f'printf "{answer}\\nTarget: x86_64-linux-gnu\\n" >&2'


def test_it_knows_what_it_found(any_compiler: str) -> None:
    found = find_compiler()
    expected = "clang" if "clang" in any_compiler else "gcc"
    assert found.kind == expected
    assert found.path == any_compiler
    assert found.version >= ((15,) if expected == "clang" else (11,))
    assert re.fullmatch(r"[\w.]+-[\w-]+", found.target)
    assert any(os.path.exists(os.path.join(folder, "cmath")) for folder in found.system_dirs)
    assert any(os.path.exists(os.path.join(folder, "stddef.h")) for folder in found.system_dirs)
    assert os.path.realpath(any_compiler) in found.identity
    assert str(os.stat(any_compiler).st_size) in found.identity
    assert f"{expected} version" in found.identity


def test_without_cxx_the_path_is_searched(
    tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch, make_script: Script
) -> None:
    assert Path(find_compiler().path).name in ("c++", "g++", "clang++")
    monkeypatch.setenv("PATH", str(tmp_path))
    make_script(tmp_path / "g++", f'exec "{gxx}" "$@"')
    assert find_compiler().path == str(tmp_path / "g++")
    make_script(tmp_path / "c++", fake("gcc version 9.4.0 (too old)"))
    assert find_compiler().path == str(tmp_path / "g++")


def test_it_is_asked_once(tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch, make_script: Script) -> None:
    notes = tmp_path / "asked"
    wrapper = make_script(tmp_path / "g++", f'echo . >>"{notes}"\nexec "{gxx}" "$@"')
    monkeypatch.setenv("CXX", str(wrapper))
    assert find_compiler() == find_compiler()
    assert notes.read_text() == ".\n"
    make_script(wrapper, f'echo . >>"{notes}"\nexec "{gxx}" "$@" # updated')
    find_compiler()
    assert notes.read_text() == ".\n.\n"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"kind": 1}', "null"])
def test_a_damaged_answer_in_the_cache_is_asked_again(gxx: str, cache: Path, damage: str) -> None:
    first = find_compiler()
    (kept,) = (cache / "compilers").iterdir()
    kept.write_text(damage)
    assert find_compiler() == first


@pytest.mark.parametrize("language", ["c", "c++"])
def test_no_compiler_at_all_names_the_package(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError) as error:
        find_compiler("c" if language == "c" else "c++")
    text = str(error.value)
    assert text.startswith(f"no {'C' if language == 'c' else 'C++'} compiler: none of c")
    assert ("apt install gcc" if language == "c" else "apt install g++") in text
    assert ("dnf install gcc (" if language == "c" else "dnf install gcc-c++") in text
    assert "macOS" not in text  # there is no Opwright for it


def test_one_that_is_named_but_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++ -O1")
    with pytest.raises(ToolchainError, match=r"CXX=/nowhere/g\+\+ -O1: there is no program '/nowhere/g\+\+'"):
        find_compiler()


def test_an_open_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "g++ '-DX")
    with pytest.raises(ToolchainError, match="can't be split into words: No closing quotation"):
        find_compiler()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("gcc version 10.2.1 20210110", "is gcc 10.2.1, expected gcc 11 or newer"),
        ("Debian clang version 14.0.6", "is clang 14.0.6, expected clang 15 or newer"),
        ("icc version 2021.1", "neither gcc nor clang"),
        ("", "neither gcc nor clang"),
    ],
)
def test_what_is_too_old_or_strange_is_refused(
    answer: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script
) -> None:
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", fake(answer))))
    with pytest.raises(ToolchainError, match=re.escape(message)):
        find_compiler()
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=re.escape(message)):
        find_compiler()


def test_one_that_can_not_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "g++"
    broken.write_bytes(b"\x7fELF this is no program")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    with pytest.raises(ToolchainError, match="can't be run"):
        find_compiler()


@pytest.mark.slow
def test_one_that_hangs_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script) -> None:
    pid = tmp_path / "pid"
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", f"sleep 30 & echo $! > {pid}\nwait")))
    with pytest.raises(ToolchainError, match=r"it didn't say what it is within 1 seconds\n  likely fix: set CXX"):
        find_compiler(seconds=1)
    for _ in range(100):  # what it had started is gone, too
        if not Path(f"/proc/{pid.read_text().strip()}").exists():
            break
        time.sleep(0.02)
    else:
        pytest.fail("it is still there")


def test_arguments_in_cxx_are_always_given(gxx: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                           compile_source: Compile, answering: Callable[..., Path],
                                           answer: Callable[[Built], int]) -> None:  # fmt: skip
    monkeypatch.setenv("CXX", f"{gxx} '-DVALUE=4 + 1' -pipe")
    found = find_compiler()
    assert found.arguments == ("-DVALUE=4 + 1", "-pipe")
    assert found.command == (gxx, "-DVALUE=4 + 1", "-pipe")
    source = answering("VALUE")
    assert answer(compile_source(source)) == 5
    monkeypatch.setenv("CXX", f"{gxx} -DVALUE=6")
    assert answer(compile_source(source)) == 6


def test_a_path_with_spaces_needs_no_quotes_in_cxx(
    gxx: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make_script: Script
) -> None:
    (tmp_path / "my tools").mkdir()
    wrapper = make_script(tmp_path / "my tools" / "g++", f'exec "{gxx}" "$@"')
    monkeypatch.setenv("CXX", str(wrapper))
    assert find_compiler().path == str(wrapper)


@pytest.fixture
def launcher(tmp_path: Path, make_script: Script) -> tuple[Path, Callable[[], list[str]]]:
    """A stand-in for ccache that notes what it is asked for."""
    notes = tmp_path / "launched"
    path = make_script(tmp_path / "ccache", f'echo "$*" >>"{notes}"\nexec "$@"')
    return path, lambda: notes.read_text().splitlines() if notes.exists() else []


@pytest.mark.parametrize("how", ["CXX", "OPWRIGHT_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"])
def test_a_launcher_compiles_but_does_not_link(
    how: str, launcher: tuple[Path, Callable[[], list[str]]], gxx: str, monkeypatch: pytest.MonkeyPatch,
    compile_source: Compile, answering: Callable[..., Path], answer: Callable[[Built], int],
) -> None:  # fmt: skip
    path, launched = launcher
    monkeypatch.setenv("CXX", gxx)
    monkeypatch.setenv(how, f"{path} {gxx}" if how == "CXX" else str(path))
    found = find_compiler()
    assert found.command == (str(path), gxx)
    assert found.link_command == (gxx,)
    assert launched() == []  # the compiler is asked without it
    assert answer(compile_source(answering("3"))) == 3
    assert len(launched()) == 1
    assert " -c " in launched()[0]
    assert "-shared" not in launched()[0]


def test_a_launcher_may_have_words_of_its_own(
    launcher: tuple[Path, Callable[[], list[str]]], gxx: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = launcher
    monkeypatch.setenv("CXX", f"{path} CCACHE_X=1 {gxx} -m64")
    found = find_compiler()
    assert (found.launcher, found.path, found.arguments) == ((str(path), "CCACHE_X=1"), gxx, ("-m64",))


def test_a_missing_launcher(gxx: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_LAUNCHER", "no-such-ccache")
    with pytest.raises(ToolchainError, match="OPWRIGHT_LAUNCHER asks for 'no-such-ccache', which is not on the PATH"):
        find_compiler()


def test_behind_a_masquerading_ccache_the_real_compiler_counts(
    launcher: tuple[Path, Callable[[], list[str]]], tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch,
    make_script: Script,
) -> None:  # fmt: skip
    masks, real = tmp_path / "masks", tmp_path / "real"
    masks.mkdir()
    real.mkdir()
    wrapper = make_script(real / "g++", f'exec "{gxx}" "$@"')
    make_script(launcher[0], f'exec "{wrapper}" "$@"')
    (masks / "g++").symlink_to(launcher[0])
    monkeypatch.setenv("PATH", f"{masks}{os.pathsep}{real}{os.pathsep}/usr/bin:/bin")
    monkeypatch.setenv("CXX", "g++")
    before = find_compiler()
    assert before.path == str(masks / "g++")
    assert str(wrapper) in before.identity
    make_script(wrapper, f'exec "{gxx}" "$@" # updated')
    assert find_compiler().identity != before.identity


def test_no_shell_reads_the_variables(tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch,
                                      compile_source: Compile, answering: Callable[..., Path]) -> None:  # fmt: skip
    trap = tmp_path / "trap"
    monkeypatch.setenv("CXX", f"{gxx} $(touch {trap}) ; touch {trap}")
    with pytest.raises((CompileError, ToolchainError)):
        compile_source(answering("1"))
    assert not trap.exists()


def test_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_script: Script) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{tmp_path / 'missing'}")
    assert which("tool") is None
    (tmp_path / "tool").write_text("not executable")
    assert which("tool") is None
    make_script(tmp_path / "tool", "")
    assert which("tool") == str(tmp_path / "tool")
    assert which(str(tmp_path / "tool")) == str(tmp_path / "tool")
    assert which(str(tmp_path)) is None
