"""As a user does it: a wheel of Opwright, pip in an isolated build, and the result in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from opwright.packaging.audit import audit
from tests.packaging.conftest import Project

ROOT = Path(__file__).parents[2]
USE = """\
import sys, torch, my_package.ops as ops
x = torch.randn(7, requires_grad=True)
y = ops.scale(x, 3.0)
y.sum().backward()
assert torch.equal(y.detach(), 3 * x.detach()) and torch.equal(x.grad, torch.full((7,), 3.0))
print("done", sys.version_info[:2])
"""
SETUP = """\
import sys
assert "torch" not in sys.modules
try:
    import torch
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("torch is there")
from setuptools import setup
setup()
"""

pytestmark = pytest.mark.exhaustive


def run(*words: str | Path, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | variables
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def opwright_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Opwright's own wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", ROOT, "-w", folder)
    return folder


@pytest.fixture
def environment(tmp_path: Path, opwright_wheel: Path) -> Iterator[Path]:
    """The Python of an environment with Opwright and, from this one, PyTorch and what it needs; without a compiler."""
    folder = tmp_path / "env"
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    spec = find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *opwright_wheel.glob("*.whl"))
    (site / "theirs.pth").write_text(f"{Path(spec.origin).parents[1]}\n")  # after its own
    yield python
    shutil.rmtree(folder)


def test_pip_builds_without_torch_and_the_wheel_serves(
    project: Project, opwright_wheel: Path, environment: Path, tmp_path: Path
) -> None:
    folder = project()
    (folder / "setup.py").write_text(SETUP)
    found = {"PIP_FIND_LINKS": f"{opwright_wheel} {os.environ.get('PIP_FIND_LINKS', '')}".strip()}
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", folder, "-w", tmp_path / "out", **found)
    (wheel,) = (tmp_path / "out").iterdir()
    assert "-py3-none-" in wheel.name
    assert audit(wheel).wrong == []
    assert wheel.stat().st_size < 100_000  # "tens of kilobytes" in docs/faq.md
    with zipfile.ZipFile(wheel) as file:
        assert "Requires-Dist: opwright" in file.read("my_package-1.0.dist-info/METADATA").decode()

    run(environment, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    bare = {"OPWRIGHT_RUNTIME": "python", "CC": "/none", "CXX": "/none"}
    assert run(environment, "-c", USE, **bare).startswith("done")


def test_an_editable_installation(project: Project, opwright_wheel: Path, environment: Path) -> None:
    folder = project()
    found = {"PIP_FIND_LINKS": f"{opwright_wheel} {os.environ.get('PIP_FIND_LINKS', '')}".strip()}
    run(environment, "-m", "pip", "install", "--quiet", "--no-deps", "-e", folder, **found)
    assert (folder / "src/my_package/ops/scale.cpu.so").is_file()
    assert run(environment, "-c", USE, OPWRIGHT_RUNTIME="python").startswith("done")
