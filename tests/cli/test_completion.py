"""What shells are offered, by click's own protocol and by a real bash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from opwright.cli import _COMMANDS, COMPLETE, cli, completion

KERNELS = """#include <opwright.h>
OPWRIGHT("twice(x: T) -> (y: T)")
template <class T> T twice(T x) { return 2 * x; }
OPWRIGHT("third(x: f32[N]) -> (y: f32[N])")
void third(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0] / 3; }
OPWRIGHT("third_backward(grad_y: f32[N]) -> (grad_x: f32[N])")
void third_backward(Tensor<const float, 1> grad_y, Tensor<float, 1> grad_x) { grad_x[0] = grad_y[0] / 3; }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kernels.cpp"
    path.write_text(KERNELS)
    return path


def offered(*words: str) -> list[tuple[str, str]]:
    """The type and the value of each completion of the last word."""
    shell = ShellComplete(cli, {}, "opwright", COMPLETE)
    return [(item.type, item.value) for item in shell.get_completions(list(words[:-1]), words[-1])]


def plain(*words: str) -> list[str]:
    return [value for kind, value in offered(*words) if kind == "plain"]


def test_commands_and_options() -> None:
    assert plain("") == sorted(_COMMANDS)
    assert plain("c") == [name for name in sorted(_COMMANDS) if name.startswith("c")]
    assert plain("cache", "") == ["clean", "list", "path"]
    assert plain("build", "--ba") == ["--baseline", "--backend"]
    assert plain("build", "--backend", "n") == ["nvcc", "nvrtc"]
    assert "f32" in plain("build", "--dtype", "")
    assert plain("doctor", "to") == ["torch"]
    assert plain("completion", "") == ["bash", "zsh", "fish"]
    assert plain("--ver") == ["--version"]


def test_checks_and_their_groups() -> None:
    from opwright.check.checks import all_checks

    names = {name for check in all_checks().values() for name in (check.name, check.group)}
    assert {*plain("check", "--only", "")} == {*plain("check", "--skip", "")} == names
    assert "gradcheck" in plain("check", "--only", "gradc")


@pytest.mark.parametrize("command", ["check", "bench"])
def test_files_and_operators(command: str, source: Path) -> None:
    assert offered(command, "ker") == [("file", "ker")]
    assert plain(command, "kernels.cpp:") == ["kernels.cpp:twice", "kernels.cpp:third"]
    assert plain(command, f"{source}:th") == [f"{source}:third"]
    source.write_text("OPWRIGHT(")
    assert offered(command, "kernels.cpp:") == []
    assert offered(command, "nowhere.cpp:") == []
    assert offered(command, "module:f") == [("file", "module:f")]


def ask(shell: str, words: str, position: int | str) -> str:
    environment = {**os.environ, COMPLETE: f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    code = (
        "import sys\nfrom opwright.cli import main\ntry:\n    main()\nfinally:\n"
        "    print('torch' in sys.modules, 'numpy' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "False False\n")
    return done.stdout


def test_the_protocol_of_each_shell(source: Path) -> None:
    assert ask("bash", "opwright check kernels.cpp : tw", 4) == "plain,twice\n"  # it takes a colon for a word
    assert ask("zsh", "opwright check kernels.cpp:tw", 2) == "plain\nkernels.cpp\\:twice\ntwice(x: T) -> (y: T)\n"
    assert ask("fish", "opwright check kernels.cpp:tw", "kernels.cpp:tw").startswith("plain,kernels.cpp:twice\t")


def test_no_command_imports_pytorch_before_it_is_run() -> None:
    code = (
        "import sys\nfrom click.shell_completion import ShellComplete\nfrom opwright.cli import cli, _COMMANDS\n"
        "shell = ShellComplete(cli, {}, 'opwright', '')\nshell.get_completions([], '')\n"
        "assert not [m for m in sys.modules if m.startswith('opwright.cli.')], 'a list of commands imports none'\n"
        "for name in _COMMANDS:\n    shell.get_completions([name], '--')\n"
        "    assert 'torch' not in sys.modules, name"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bash_itself(source: Path, tmp_path: Path) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed")
    program = tmp_path / "bin" / "opwright"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m opwright "$@"\n')
    program.chmod(0o755)
    script = """
        eval "$(opwright completion bash)"
        COMP_WORDS=(opwright check kernels.cpp : t); COMP_CWORD=4
        _opwright_completion opwright; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(opwright ca); COMP_CWORD=1
        _opwright_completion opwright; echo "${COMPREPLY[@]}"
        complete -p opwright"""
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "twice third", "cache", "complete -o nosort -F _opwright_completion opwright"
    ], done.stderr  # fmt: skip


def test_words_that_bash_has_split(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, position, breaks, expected in (
        ("opwright check a.cpp : f --quick b.cpp :", 7, ":=", (["check", "a.cpp:f", "--quick"], "b.cpp:")),
        ("opwright check a.cpp ", 3, ":=", (["check", "a.cpp"], "")),
        ("opwright check a.cpp:f", 2, "=", (["check"], "a.cpp:f")),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(position))
        monkeypatch.setenv("COMP_WORDBREAKS", breaks)
        assert completion.Bash(cli, {}, "opwright", COMPLETE).get_completion_args() == expected


def test_the_script_is_for_the_shell_that_is_used() -> None:
    run = CliRunner().invoke
    assert run(cli, ["completion"], env={"SHELL": "/usr/bin/zsh"}).output.startswith("#compdef opwright\n")
    assert f"{COMPLETE}=fish_complete" in run(cli, ["completion", "fish"]).output
    wrong = run(cli, ["completion"], env={"SHELL": "/bin/tcsh"})
    assert wrong.exit_code == 2
    assert "SHELL is '/bin/tcsh'; say which one: bash, zsh, fish" in wrong.output
