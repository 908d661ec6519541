"""opwright run: a process as Python itself would have started it, and its children."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.cli.run import program

SOURCE = str(Path(opwright.__file__).parent.parent)
SHOW = (
    "import json, sys; print(json.dumps([sys.argv, sys.path[0], __name__, __file__, sys.modules['__main__'].__file__]))"
)


def run(
    *words: str, folder: Path, python: tuple[str, ...] = (), status: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([SOURCE, environment.pop("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, *(python or ("-m", "opwright", "run")), *words],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("words", [["show.py", "-m", "x", "--help"], ["sub/../sub/deep.py"], ["link.py", ""]])
def test_a_script_sees_what_python_gives_it(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("show.py", "sub/deep.py"):
        (tmp_path / name).write_text(SHOW)
    (tmp_path / "link.py").symlink_to("sub/deep.py")
    plain = run(*words, folder=tmp_path, python=("-B",))
    assert run(*words, folder=tmp_path).stdout == plain.stdout


def test_a_module_and_code(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__main__.py").write_text(SHOW)
    plain = run("-m", "package", "a", "-h", folder=tmp_path, python=("-B",))
    assert run("-m", "package", "a", "-h", folder=tmp_path).stdout == plain.stdout
    assert run("package", "a", folder=tmp_path).stdout == run("package", "a", folder=tmp_path, python=("-B",)).stdout
    code = "import sys, opwright.legacy as l; print(sys.argv, l.status().installed, 'torch' in sys.modules)"
    assert run("-c", code, "x", folder=tmp_path).stdout == "['-c', 'x'] True False\n"


def test_a_script_that_python_cannot_parse_any_more(tmp_path: Path) -> None:
    """async was a name until Python 3.7."""
    (tmp_path / "helper.py").write_text("def f(async=False):\n    return async\n")
    (tmp_path / "old.py").write_text(f"from helper import f\n{SHOW}\nprint(f(async=3), __name__)\n")
    shown, old = run("old.py", "a", folder=tmp_path).stdout.splitlines()
    (tmp_path / "old.py").write_text(SHOW)
    assert f"{shown}\n" == run("old.py", "a", folder=tmp_path, python=("-B",)).stdout
    assert old == "3 __main__"
    (tmp_path / "wrong.py").write_text("x = = 1\n")
    assert run("wrong.py", folder=tmp_path, status=1).stderr == (
        run("wrong.py", folder=tmp_path, python=("-B",), status=1).stderr
    )


def test_exit_codes_and_signals_are_passed(tmp_path: Path) -> None:
    (tmp_path / "leave.py").write_text("import sys; sys.exit(int(sys.argv[1]))")
    (tmp_path / "fail.py").write_text("raise ValueError('on purpose')")
    (tmp_path / "die.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    run("leave.py", "7", folder=tmp_path, status=7)
    failed = run("fail.py", folder=tmp_path, status=1)
    assert failed.stderr.splitlines()[0] == "Traceback (most recent call last):"
    assert len(failed.stderr.splitlines()) == 4  # nothing of Opwright's in it
    run("die.py", folder=tmp_path, status=-15)
    assert "can't open file" in run("nowhere.py", folder=tmp_path, status=2).stderr


def test_children_inherit_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.theirs = True\n")
    show = "import sys, opwright.legacy as l; print(l.status().installed, sys.theirs, sys.executable)"
    (tmp_path / "parent.py").write_text(
        "import os, subprocess, sys\n"
        f"code = {show!r}\n"
        "subprocess.run([sys.executable, '-c', code])\n"
        "os.system(f'python -c \"{code}\"')\n"
        "subprocess.run([sys.executable, '-m', 'opwright', 'run', '-c', code])\n"
    )
    found = run("parent.py", folder=tmp_path, PYTHONPATH=str(tmp_path)).stdout.splitlines()
    assert found == [f"True True {sys.executable}"] * 3


@pytest.mark.slow
def test_scripts_for_the_shell_and_programs(tmp_path: Path) -> None:
    (tmp_path / "make.sh").write_text('#!/usr/bin/env bash\necho "$1"; python -c "import torch.utils.ffi; print(1)"\n')
    (tmp_path / "plain.sh").write_text("echo plain $OPWRIGHT_LEGACY\n")
    (tmp_path / "Makefile").write_text("all:\n\t@echo made $$OPWRIGHT_LEGACY\n")
    assert run("make.sh", "two words", folder=tmp_path).stdout == "two words\n1\n"
    (tmp_path / "make.sh").chmod(0o755)
    assert run("./make.sh", "again", folder=tmp_path).stdout == "again\n1\n"
    assert run("plain.sh", folder=tmp_path).stdout == "plain 1\n"
    (tmp_path / "plain.sh").chmod(0o755)  # which the kernel doesn't run, and every shell does
    assert run("./plain.sh", folder=tmp_path).stdout == "plain 1\n"
    if shutil.which("make"):  # which names folders where it is itself run by make, as these tests may be
        assert run("make", "--no-print-directory", folder=tmp_path).stdout == "made 1\n"


@pytest.mark.parametrize("compiler", ["cc", "gcc", "g++", "c++", "clang", "clang++"])
def test_compilers_that_scripts_call_find_the_headers(tmp_path: Path, compiler: str) -> None:
    """With include folders of a PyTorch that had these headers, and folders of the user's own."""
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mine.h").write_text("int own(void);\n")
    text = '#include <TH/TH.h>\n#include "THC/THC.h"\n#include <THCGeneral.h>\n#include <mine.h>\n'
    (tmp_path / "old.c").write_text(f"{text}long size(THFloatTensor *x) {{ return x->size[0]; }}\n")
    words = f"{compiler} -c old.c -o old.o -Igone/torch/lib/include -Igone/torch/lib/include/TH".split()
    code = f"import subprocess; subprocess.run({words!r}, check=True)"
    mine = str(tmp_path / "mine")
    run("-c", code, folder=tmp_path, C_INCLUDE_PATH=mine, CPLUS_INCLUDE_PATH=mine)
    assert (tmp_path / "old.o").exists()


def test_what_is_python_and_what_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, text in (
        ("script.py", "#!/bin/sh\n"),
        ("script", "#!/usr/bin/env python2\nprint 1\n"),
        ("nothing", ""),
        ("shell", "#!/bin/bash -e\n"),
    ):
        (tmp_path / name).write_text(text)
    python = sys.executable
    for words, expected in (
        (("script.py", "-x"), [python, "script.py", "-x"]),
        (("script",), [python, "script"]),
        (("nothing",), [python, "nothing"]),
        (("folder",), [python, "folder"]),
        (("-m", "pytest"), [python, "-m", "pytest"]),
        (("-",), [python, "-"]),
        (("no-such-program", "a"), [python, "no-such-program", "a"]),
        (("shell", "a"), ["/bin/bash", "-e", "./shell", "a"]),
        (("sh", "-c", "true"), ["sh", "-c", "true"]),
    ):
        assert program(words) == expected


def test_pip_does_not_isolate_builds(tmp_path: Path) -> None:
    """What is built imports torch while it is built."""
    show = "import os; print(os.environ.get('PIP_NO_BUILD_ISOLATION'))"
    assert run("-c", show, folder=tmp_path).stdout == "0\n"
    assert run("-c", show, folder=tmp_path, PIP_NO_BUILD_ISOLATION="1").stdout == "1\n"


def test_help(tmp_path: Path) -> None:
    assert "opwright run setup.py install" in run("--help", folder=tmp_path).stdout
    assert "Missing argument" in run(folder=tmp_path, status=2).stderr
