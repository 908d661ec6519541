from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = [sys.executable, "-m", "opwright", "run"]
PIP = ["-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "--root-user-action=ignore"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy this folder, because a build writes files next to the sources."""
    ignored = shutil.ignore_patterns("_ext", "build", "*.egg-info", "*.o", "__pycache__")
    return Path(shutil.copytree(HERE, tmp_path / "add", ignore=ignored))


def run(words: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [*PYTHON, *words], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_script_form(project: Path) -> None:
    run(["build.py"], project)
    assert sorted(path.name for path in (project / "_ext/my_lib").glob("*.*")) == ["__init__.py", "_my_lib.so"]
    first, second, error, *_ = run(["test.py"], project).splitlines()
    assert (first, second) == ("MyAddModule is right", "MyStaticAddModule is right")
    assert error.startswith("my_lib_sum_rows: expected a matrix, got 1 dimension(s) at ")


@pytest.mark.slow
def test_the_package_form(project: Path, tmp_path: Path) -> None:
    run([*PIP, "--target", str(tmp_path / "site"), "."], project)
    code = """if True:
        import adding, torch
        x = torch.arange(6.0).view(2, 3).requires_grad_()
        adding.MyAddModule()(x, x.detach()).sum().backward()
        print(adding.my_lib.MY_LIB_VERSION, x.grad.tolist(), adding.add(x, x).tolist())
        try:
            adding.add(x, x[0])
        except ValueError as error:
            print(error)
    """
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    assert run(["-c", code], elsewhere, PYTHONPATH=path).splitlines() == [
        "2 [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]] [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]",
        "add: the sizes of its inputs differ",
    ]


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on the PATH")
def test_the_cuda_half_compiles(project: Path) -> None:
    code = "import torch; torch.cuda.is_available = lambda: True; import build; build.ffi.build()"
    run(["-c", code], project)
    assert (project / "src/my_lib_cuda_kernel.cu.o").exists()
    names = run(["-c", "from _ext import my_lib; print(*my_lib.__all__)"], project)
    assert "my_lib_add_forward_cuda" in names.split()
