"""A new project of each kind builds, passes its tests and linters, is timed and becomes a wheel, as it was written."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import opwright
from opwright.scaffold import KINDS, new

SOURCE = Path(opwright.__file__).parents[1]
METADATA = """\
Metadata-Version: 2.1
Name: opwright
Version: {version}
Provides-Extra: torch
Provides-Extra: check
Provides-Extra: cuda
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment's, which has what this one has, and this Opwright; nothing is installed into this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))
    here = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (site / "this.pth").write_text("".join(f"{path}\n" for path in [SOURCE, *here]))
    if not _installed():
        _write_metadata(site)
    return folder / "bin" / "python"


def _installed() -> bool:
    try:
        return bool(importlib.metadata.version("opwright"))
    except importlib.metadata.PackageNotFoundError:
        return False


def _write_metadata(site: Path) -> None:
    """What an installation leaves of this Opwright, where it is run from its folder: its name and its entry points."""
    folder = site / f"opwright-{opwright.__version__}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA.format(version=opwright.__version__))
    project = (SOURCE.parent / "pyproject.toml").read_text()
    points = re.findall(r'^\[project\.entry-points\."?([\w.]+)"?\]\n((?:\w+ = ".*"\n)+)', project, re.MULTILINE)
    assert points
    texts = [f"[{group}]\n{lines}".replace('"', "") for group, lines in points]
    (folder / "entry_points.txt").write_text("\n".join(texts))


def make(folder: Path, python: Path, *words: str) -> str:
    """What make prints; the test fails where it does."""
    environment = {**os.environ, "PIP_CONSTRAINT": str(SOURCE.parent / "constraints.txt"), "COLUMNS": "160"}
    environment["MYPY_CACHE_DIR"] = str(python.parents[2] / "mypy")  # what mypy knows of PyTorch serves all kinds
    environment.pop("PYTHONPATH", None)
    command = [shutil.which("make") or "make", *words, f"PYTHON={python}"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.native  # what is written doesn't depend on the runtime: once is enough
@pytest.mark.parametrize("kind", KINDS)
def test_as_it_was_written(kind: str, python: Path, tmp_path: Path) -> None:
    folder = tmp_path / f"my-{kind}"
    new(folder, kind)
    before = {path: path.read_text() for path in folder.rglob("*.*") if path.is_file()}
    assert f"my_{kind} is installed" in make(folder, python)  # all that is needed is set up by what is typed first
    assert "is installed" not in make(folder, python)
    lint = make(folder, python, "lint")
    assert "All checks passed!" in lint
    assert "Success: no issues found" in lint
    tested = make(folder, python, "test")
    assert re.search(r"\d+ passed", tested)
    assert not re.search(r"failed|error|warning", tested), tested
    timed = make(folder, python, "bench")
    assert re.search(r"my_\w+ .* [µm]s", timed)
    assert "PyTorch" in timed
    make(folder, python, "wheel")
    (wheel,) = (folder / "dist").glob("*.whl")
    assert wheel.name.startswith(f"my_{kind}-0.1.0-" + ("cp" if kind == "aten" else "py3-none-"))
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith(".so")]
    assert f"my_{kind}/py.typed" in names
    changed = {path.name for path, text in before.items() if path.read_text() != text}
    assert changed <= {"compile_commands.json"}


@pytest.mark.exhaustive
def test_an_edit_of_the_kernel_is_seen(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my-edited"
    new(folder, "pointwise")
    make(folder, python, "setup")
    source = folder / "csrc" / "my_edited.cpp"
    source.write_text(source.read_text().replace("return x * sigmoid(beta * x);", "return 2 * x * sigmoid(beta * x);"))
    code = "import torch, my_edited; print(my_edited.my_edited(torch.zeros(1) + 4, torch.zeros(1)).item())"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "4.0\n", done.stderr
    source.write_text(source.read_text().replace("sigmoid", "sigmoit"))
    command = [shutil.which("make") or "make", f"PYTHON={python}"]
    failed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert re.search(r"my_edited\.cpp:8:\d+: .*sigmoit", failed.stderr)


def test_what_make_says_without_python(tmp_path: Path) -> None:
    folder = tmp_path / "my-own-op"
    new(folder)
    command = [shutil.which("make") or "make", "PYTHON=python9"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "error: there is no python9\nInstall Python 3.10 or newer" in done.stderr


def test_what_make_says_where_pip_finds_no_opwright(tmp_path: Path) -> None:
    folder, python = tmp_path / "my-own-op", tmp_path / "python"
    new(folder)
    python.write_text('#!/bin/sh\n[ "$2" != pip ] || { echo "ERROR: No matching distribution" >&2; exit 1; }\n')
    python.chmod(0o755)
    command = ["sh", "tools/setup.sh", str(python)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "ERROR: No matching distribution\n"
        "error: pip can't install what the project needs; above stands why\n"
        "If it finds no Opwright, say in tools/opwright.txt where it is\n"
        "or name a Python that has it: make PYTHON=.../bin/python\n"
    )


def test_what_make_says_without_a_compiler(tmp_path: Path) -> None:
    folder, tools = tmp_path / "my-own-op", tmp_path / "bin"
    new(folder)
    tools.mkdir()
    for name in ("sh", "test", "echo"):
        (tools / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    environment = {"PATH": str(tools)}
    command = [shutil.which("make") or "make", "setup", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "error: there is no C++ compiler (looked for c++, g++, clang++)\nInstall one (Debian" in done.stderr
