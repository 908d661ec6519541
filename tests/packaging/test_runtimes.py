"""Wheels that carry native runtimes: built for the versions of PyTorch that are named, and taken where they fit."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from setuptools.errors import SetupError

import opwright
from opwright.packaging import config, runtimes
from opwright.packaging.audit import audit
from opwright.toolchain.binary.prebuilt import folder_name
from tests.packaging.conftest import LIBRARIES, Project, distribution, run

HERE = ".".join(torch.__version__.split(".")[:2])
SECOND = '"my_package.more.ops" = { sources = ["csrc/*.cpp"], include-dirs = ["include"], variants = false }'
USE = """\
import torch, my_package.more.ops, opwright.runtime
y = my_package.more.ops.scale(torch.ones(3), 3.0)
print(y.tolist(), opwright.runtime.name())
"""


def with_runtimes(folder: Path, value: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(
        file.read_text().replace("[tool.opwright.lib", f"[tool.opwright]\nruntimes = {value}\n\n[tool.opwright.lib")
    )
    return folder


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.filterwarnings("ignore::setuptools.warnings.SetuptoolsDeprecationWarning")  # of commands called so
def test_a_wheel_with_a_runtime_needs_no_compiler(project: Project, tmp_path: Path) -> None:
    folder = with_runtimes(project(f"{LIBRARIES.replace(' }', ', variants = false }')}\n{SECOND}"), f'["{HERE}"]')
    (folder / "src/my_package/more").mkdir()
    (folder / "src/my_package/more/__init__.py").touch()
    found = run("bdist_wheel")
    (wheel,) = (folder / "dist").glob("*.whl")
    assert "-manylinux_2_" in wheel.name
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if "runtimes" in name]
        file.extractall(tmp_path / "site")
    assert sorted(names) == [
        f"my_package/ops/runtimes/{folder_name(HERE)}/{name}" for name in ("runtime.json", "runtime.so")
    ]
    written = {path.partition("my_package/")[2] for path in found.get_command_obj("build_opwright").get_outputs()}
    assert {name.removeprefix("my_package/") for name in names} <= written
    said = [finding.text for _, finding in ((s, f) for s in audit(wheel).sections for f in s.findings)]
    assert said.count(f"carries those for PyTorch {HERE}: no compiler is needed with these") == 2
    assert audit(wheel).wrong == []
    variables = {**os.environ, "PATH": "", "TORCH_EXTENSIONS_DIR": str(tmp_path / "cache")}
    variables["PYTHONPATH"] = f"{tmp_path / 'site'}{os.pathsep}{Path(opwright.__file__).parents[1]}"
    done = subprocess.run([sys.executable, "-c", USE], env=variables, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[3.0, 3.0, 3.0] native\n", "")


def test_beside_the_sources_there_are_none(project: Project) -> None:
    folder = with_runtimes(project(LIBRARIES.replace(" }", ", variants = false }")), '["2.10"]')
    run("build_opwright", inplace=1)
    assert not (folder / "src/my_package/ops/runtimes").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('"2.13"', "tool.opwright.runtimes is '2.13', expected a list of texts"),
        ('["2.13.0"]', "tool.opwright.runtimes is '2.13.0', expected a minor version of PyTorch from 2.10 on"),
        ('["2.9"]', "tool.opwright.runtimes is '2.9', expected a minor version of PyTorch from 2.10 on"),
    ],
)
def test_what_is_no_version_is_said(project: Project, value: str, text: str) -> None:
    folder = with_runtimes(project(), value)
    with pytest.raises(opwright.PackagingError) as caught:
        config.runtimes(folder)
    assert text in str(caught.value)
    assert "\n  likely fix: tool.opwright.runtimes = [" in str(caught.value) or "likely fix: runtimes = [" in str(
        caught.value
    )
    with pytest.raises(SetupError):
        distribution()


def test_the_one_that_opwright_carries_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "opwright/runtime/native/prebuilt" / folder_name("2.77")
    own.mkdir(parents=True)
    (own / "runtime.so").write_text("it")
    monkeypatch.setattr(opwright, "__file__", str(tmp_path / "opwright/__init__.py"))
    runtimes.add("2.77", tmp_path / "out", tmp_path / "work", print)
    assert (tmp_path / "out" / own.name / "runtime.so").read_text() == "it"


@pytest.mark.slow
def test_a_version_that_cannot_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    said: list[str] = []
    with pytest.raises(opwright.PackagingError) as caught:
        runtimes.add("2.99", tmp_path / "out", tmp_path / "work", said.append)
    text = str(caught.value)
    assert text.startswith(
        "PyTorch 2.99, for which a runtime is wanted, can't be installed: ERROR: No matching distribution found for "
        "torch==2.99.*\n  likely fix: a Python for which there is a PyTorch 2.99, or "
        '[tool.opwright] runtimes without "2.99"\n'
    )
    assert said == [
        f"installing PyTorch 2.99 into {tmp_path / 'work/torch2.99'}, to build the runtime for it (mostly downloads)"
    ]


@pytest.mark.native
def test_what_the_compiler_says_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/none")
    with pytest.raises(opwright.PackagingError, match="CXX=/none: there is no program '/none'") as caught:
        runtimes.build(sys.executable, tmp_path, sys.path, "the runtime for PyTorch 2.13")
    assert str(caught.value).startswith("the runtime for PyTorch 2.13 can't be built: ")
    assert "\n  likely fix: a C++ compiler (g++ 11 or clang++ 15, or newer), and" in str(caught.value)
