"""Projects that pages describe can be built, and keep their linters and tests."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.packaging.config import EXAMPLE, described
from opwright.scaffold import new
from tests.packaging.conftest import run
from tests.scaffold.test_projects import make, python
from tests.test_docs import ROOT, blocks, write_files

__all__ = ["python"]  # a fixture


@pytest.mark.slow
def test_the_page_on_packages_describes_one_that_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs/packaging.md"
    write_files(page, tmp_path)
    tree, project, *_ = blocks(page, "text")
    assert project.startswith("# pyproject.toml\n")
    (tmp_path / "pyproject.toml").write_text(project)
    (tmp_path / "src/my_package").mkdir(parents=True)
    (tmp_path / "src/my_package/__init__.py").touch()
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert {line.strip() for line in tree.splitlines()[1:]} == there

    monkeypatch.chdir(tmp_path)
    run("build_opwright", inplace=1)
    # In a process of its own: other tests have a package of that name, and operators stay registered.
    call = "import torch, my_package.ops as ops; print(ops.scale(torch.ones(3)).tolist())"
    words = [sys.executable, "-c", call]
    done = subprocess.run(words, cwd=tmp_path / "src", capture_output=True, text=True, check=False)
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr


def test_the_line_that_names_a_library_is_the_same_everywhere() -> None:
    line = described(EXAMPLE, "pyproject.toml")  # as messages have it
    for page in ("docs/deployment.md", "docs/packaging.md"):
        assert f"[tool.opwright.libraries]\n{line}\n" in (ROOT / page).read_text(), page


@pytest.mark.exhaustive
@pytest.mark.native
def test_the_project_of_the_tutorial(python: Path, tmp_path: Path) -> None:
    page = ROOT / "docs/tutorial/8_packaging.md"
    new(tmp_path / "my-lltm", "pointwise")
    write_files(page, tmp_path)
    for line in "\n".join(blocks(page, "sh")).splitlines():
        if line.startswith("cp "):
            shutil.copy(*(tmp_path / word for word in shlex.split(line)[1:]))
    folder = tmp_path / "my-lltm"
    assert "lltm" in (folder / "tests/test_my_lltm.py").read_text()
    make(folder, python)
    lint = make(folder, python, "lint")
    assert "All checks passed!" in lint
    assert "Success: no issues found" in lint
    assert "6 passed" in make(folder, python, "test")
    assert "torch.compile" in make(folder, python, "bench")
