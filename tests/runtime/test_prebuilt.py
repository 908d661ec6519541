"""Runtimes that a wheel of Opwright carries: taken only where they were built for what is here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from opwright.runtime.native import prebuilt
from opwright.runtime.native.runtime import Native, build_native

pytestmark = pytest.mark.native
ROOT = Path(__file__).parents[2]


@pytest.fixture
def carried(tmp_path: Path) -> Path:
    """A folder with the runtime for this PyTorch."""
    prebuilt.add(tmp_path, build_native().path)
    return tmp_path


def test_the_one_for_this_pytorch_is_found_and_can_be_loaded(carried: Path) -> None:
    found = prebuilt.find(carried)
    assert found is not None
    assert not Native(found).namespace_in_use(b"nobodys")
    assert Native(found).namespace_in_use(b"aten")


@pytest.mark.parametrize("fact", ["sources", "torch", "cxx11_abi", "python_errors", "platform"])
def test_one_for_something_else_is_left_alone(carried: Path, fact: str) -> None:
    (file,) = carried.glob("*/runtime.json")
    facts = json.loads(file.read_text())
    assert facts[fact] not in {"", None}
    file.write_text(json.dumps({**facts, fact: "another"}))
    assert prebuilt.find(carried) is None
    del facts[fact]
    file.write_text(json.dumps(facts))
    assert prebuilt.find(carried) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "null"])
def test_facts_that_cannot_be_read(carried: Path, text: str) -> None:
    (file,) = carried.glob("*/runtime.json")
    file.write_text(text)
    assert prebuilt.find(carried) is None


def test_a_damaged_one_is_left_alone(carried: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (library,) = carried.glob("*/runtime.so")
    whole = library.read_bytes()
    library.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert prebuilt.find(carried) is None
    library.write_bytes(whole)
    assert prebuilt.find(carried) == library
    monkeypatch.setenv("OPWRIGHT_SANITIZE", "address")  # then a sanitized one is wanted
    assert prebuilt.find(carried) is None
    assert prebuilt.find(carried / "nowhere") is None


@pytest.mark.exhaustive
def test_a_release_wheel_needs_no_compiler(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tool = [sys.executable, str(ROOT / "tools" / "build_wheels.py"), "--with", sys.executable, "--out", str(out)]
    subprocess.run(tool, check=True)
    plain, ours = sorted(out.glob("*.whl"), key=lambda path: path.stat().st_size)
    assert plain.name.endswith("-py3-none-any.whl")
    assert "-py3-none-manylinux_2_" in ours.name
    with zipfile.ZipFile(ours) as file:
        file.extractall(tmp_path / "site")
    program = "import opwright, opwright.runtime as r; print(r.name(), opwright.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "OPWRIGHT_RUNTIME": "native"}
    environment |= {"CC": "/none", "CXX": "/none", "TORCH_EXTENSIONS_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["native", str(tmp_path / "site/opwright/__init__.py")]
    assert done.stderr == ""
