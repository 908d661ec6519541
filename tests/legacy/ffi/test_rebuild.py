"""Building again: after edits, kills, at once with others, and where nothing can be written."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import opwright
from tests.legacy.ffi.project import CC, SOURCE, Project


def test_nothing_is_compiled_twice(project: Project, capfd: pytest.CaptureFixture[str]) -> None:
    first = project.create(verbose=True).build()
    assert "compiling _ext.my" in capfd.readouterr().err
    before = os.stat(first)
    assert project.create(verbose=True).build() == first
    assert "nothing to compile" in capfd.readouterr().err
    assert os.stat(first).st_mtime_ns == before.st_mtime_ns
    assert os.stat(first).st_ino == before.st_ino


@pytest.mark.slow
def test_an_edited_header_or_object_compiles_again(project: Project) -> None:
    project.write("src/number.h", "#define NUMBER 1\n")
    project.write("src/my.h", "int counted(void);")
    project.write("src/my.c", '#include "number.h"\nint more(void);\nint counted(void) { return NUMBER + more(); }')

    def compile_object(number: int) -> None:
        code = project.write("src/more.c", f"int more(void) {{ return {number}; }}")
        subprocess.run([CC, "-c", "-fPIC", str(code), "-o", str(code.with_suffix(".o"))], check=True)

    def built() -> int:
        project.create(extra_objects=["src/more.o"]).build()
        with_so = [sys.executable, "-c", "import _my; print(_my.lib.counted())"]
        done = subprocess.run(with_so, cwd=project.folder / "_ext/my", capture_output=True, text=True, check=True)
        return int(done.stdout)

    compile_object(10)
    assert built() == 11
    project.write("src/number.h", "#define NUMBER 2\n")
    assert built() == 12
    compile_object(20)
    assert built() == 22
    project.write("src/number.h", "#define NUMBER 1\n")
    compile_object(10)
    assert built() == 11


_BUILD = """
import sys
sys.path.insert(0, {source!r})
from opwright.legacy import create_extension
ffi = create_extension("_ext.my", "src/my.h", ["src/my.c"], verbose=False, relative_to={file!r})
ffi.build()
"""


def start(project: Project) -> subprocess.Popen[str]:
    source = str(Path(opwright.__file__).parent.parent)
    code = _BUILD.format(source=source, file=str(project.folder / "build.py"))
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def test_four_processes_at_once(project: Project) -> None:
    project.write("src/my.c", f"{SOURCE}/* {os.urandom(8).hex()} */")
    running = [start(project) for _ in range(4)]
    for each in running:
        assert (each.communicate()[1], each.returncode) == ("", 0)
    assert sorted(path.name for path in (project.folder / "_ext/my").iterdir()) == ["__init__.py", "_my.so"]
    assert project.load().counted(torch.zeros(2)) == 2


@pytest.mark.slow
def test_killed_and_built_again(project: Project) -> None:
    slow = "".join(f"int f{i}(int x) {{ return x * {i} + f{i - 1}(x); }}\n" for i in range(1, 2000))
    project.write("src/my.c", f"{SOURCE}static int f0(int x) {{ return x; }}\n{slow}/* {os.urandom(8).hex()} */")
    victim = start(project)
    deadline = time.monotonic() + 60
    while not (project.folder / "_ext/my/__init__.py").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    assert not (project.folder / "_ext/my/_my.so").exists()
    project.create().build()
    assert project.load().counted(torch.zeros(2)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(project: Project) -> None:
    project.create()
    project.folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(opwright.ToolchainError, match=r"can't be written: Permission denied"):
        project.create("other.my")
    project.folder.chmod(stat.S_IRWXU)


def test_a_file_in_the_place_of_a_folder(project: Project) -> None:
    in_the_way = project.write("_ext", "no folder")
    with pytest.raises(
        opwright.ToolchainError, match=rf"create_extension\('_ext.my'\): {in_the_way}/__init__.py can't"
    ):
        project.create()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space", "dots.and.more", "ünïcödé-漢字", "quo'te", 'dou"ble', "dollar$HOME"])
def test_odd_folders(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path / name)
    project.create(extra_objects=["src/missing.o"], include_dirs=["src"]).build()
    assert project.load().counted(torch.zeros(2)) == 2
