"""examples/caffe_layer is a template: one copies it, renames it, and types make."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "examples/caffe_layer"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A layer of another name, by the steps that the README names."""
    folder = tmp_path / "my_layer"
    folder.mkdir()
    for path in TEMPLATE.iterdir():
        if path.is_file():
            text = path.read_text().replace("roi_pool", "my_layer")
            (folder / path.name.replace("roi_pool", "my_layer")).write_text(text)
    return folder


def make(folder: Path, *words: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """`path`: where commands are searched."""
    environment = {**os.environ, "TORCH_CUDA_ARCH_LIST": "8.0", "COLUMNS": "200"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    environment["PATH"] = environment["PATH"] if path is None else path
    given = [*words, f"OPWRIGHT={sys.executable} -m opwright", f"PYTHON={sys.executable}"]
    command = [shutil.which("make") or "make", *given]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("there", [True, False])
def test_nvcc_is_taken_where_it_is_there(there: bool, copied: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    if there:
        (tools / "nvcc").symlink_to("sh")
    done = make(copied, "-n", path=str(tools))
    assert f"build my_layer.cu --backend {'nvcc' if there else 'emulate'}\n" in done.stdout, done.stderr


@pytest.mark.slow
def test_make_builds_what_load_then_finds(copied: Path) -> None:
    done = make(copied, "BACKEND=emulate")
    assert done.returncode == 0, done.stderr
    libraries = dict(re.findall(r"T=(f32|f64) .*(my_layer-\w+\.so)", done.stdout))
    assert libraries.keys() == {"f32", "f64"}
    code = (
        "import torch; from my_layer import RoiPool\n"
        "print(RoiPool(1, 1)(torch.ones(1, 1, 2, 2), torch.zeros(1, 5)).item())\n"
        "print([line.split('/')[-1].strip() for line in open('/proc/self/maps') if '/my_layer-' in line][0])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=copied, capture_output=True, text=True, check=False)
    assert found.stdout == f"1.0\n{libraries['f32']}\n", found.stderr


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc")
@pytest.mark.exhaustive
def test_make_with_nvcc(copied: Path) -> None:
    done = make(copied, "BACKEND=nvcc")
    assert done.returncode == 0, done.stderr
    assert "--backend nvcc" in done.stdout
    assert done.stdout.count("my_layer.cu") >= 3  # the command, and a row for each element type


@pytest.mark.exhaustive
def test_make_test_and_clean(copied: Path) -> None:
    done = make(copied, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert make(copied, "clean").returncode == 0
    assert not (copied / "__pycache__").exists()


def test_an_error_of_the_compiler_ends_make_at_the_authors_line(copied: Path) -> None:
    path = copied / "my_layer.cu"
    text = path.read_text()
    line = text[: text.index("top_data[index] =")].count("\n") + 1
    path.write_text(text.replace("top_data[index] =", "top_date[index] ="))
    done = make(copied, "BACKEND=emulate")
    assert done.returncode != 0
    assert f"my_layer.cu:{line}:" in done.stderr
    assert "top_date" in done.stderr
