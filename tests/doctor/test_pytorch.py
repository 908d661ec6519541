"""PyTorch that is missing, broken or old: a folder on the path of a fresh process, in front of the real one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from opwright.doctor import pytorch
from opwright.doctor.pytorch import TorchFacts, torch_facts
from tests.doctor.findings import TORCH, Look, only, the


def fake_torch(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(folder))


def test_torch_is_missing(look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_torch(tmp_path, "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')", monkeypatch)
    found = the(look("torch"), "version")
    assert (found.state, found.text.split(" for ")[0]) == ("wrong", "PyTorch is not installed")
    assert found.fix.startswith("pip install opwright[torch]")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "raise ImportError('libtorch_cpu.so: cannot open shared object file')",
            "ImportError: libtorch_cpu.so: cannot",
        ),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it said nothing (signal 11)"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import time; time.sleep(60)", "it didn't answer within 2 seconds"),
    ],
)
def test_a_torch_that_cannot_be_imported(
    text: str, says: str, look: Look, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("opwright.doctor.pytorch.SECONDS", 2.0)
    fake_torch(tmp_path, text, monkeypatch)
    found = the(look("torch"), "import")
    assert found.state == "wrong"
    assert f"PyTorch can't be imported: {says}" in found.text
    assert "pip install --force-reinstall torch" in found.fix


def test_torch_is_too_old() -> None:
    found = only(pytorch.examine_pytorch(TORCH._replace(version="2.9.1+cu128")), "version")
    assert (found.state, found.text) == (
        "wrong",
        "PyTorch 2.9.1+cu128 in /somewhere/torch is too old, expected 2.10 or newer",
    )
    assert found.fix == 'pip install "torch>=2.10"'
    assert only(pytorch.examine_pytorch(TORCH._replace(version="2.10.0a0+git1")), "version").state == "ok"


def test_torch_without_headers(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    found = only(pytorch.examine_pytorch(TORCH._replace(file=str(tmp_path / "__init__.py"))), "files")
    assert found.state == "wrong"
    assert found.text.startswith(f"PyTorch's headers and C10 headers are missing below {tmp_path}")


def test_an_old_abi_is_noted() -> None:
    found = only(pytorch.examine_pytorch(TORCH._replace(cxx11_abi=False)), "C++ ABI")
    assert (found.state, "-D_GLIBCXX_USE_CXX11_ABI=0" in found.fix) == ("note", True)


@pytest.mark.slow
def test_the_real_torch() -> None:
    import torch

    facts = torch_facts()
    assert (facts.problem, facts.version, facts.file) == ("", torch.__version__, torch.__file__)
    assert facts.compiler
    assert not [finding for finding in pytorch.examine_pytorch(facts) if finding.state == "wrong"]


@pytest.mark.parametrize(
    ("facts", "asked", "state", "text"),
    [
        (TORCH, "", "note", "isn't built yet"),
        (TORCH._replace(runtime="/cache/runtime.so"), "", "ok", "/cache/runtime.so"),
        (TORCH._replace(runtime_problem="no C++ compiler"), "", "wrong", "the one in Python is used: no C++ compiler"),
        (TORCH._replace(runtime_problem="bad\n  likely fix: x"), "native", "wrong", "the native one can't be had: bad"),
        (TORCH, "python", "ok", "in Python is asked for"),
        (TorchFacts(missing=True), "", "note", "not looked for"),
    ],
)
def test_the_runtime(facts: TorchFacts, asked: str, state: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_RUNTIME", asked)
    found, *_ = pytorch.examine_runtime(facts)
    assert (found.state, text in found.text) == (state, True), found


@pytest.mark.parametrize(("indirect", "state"), [("", "ok"), ("this Python has no GIL", "note")])
def test_the_way_of_calls(indirect: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPWRIGHT_RUNTIME", raising=False)
    *_, calls = pytorch.examine_runtime(TORCH._replace(runtime="/cache/runtime.so", indirect=indirect))
    assert (calls.topic, calls.state, indirect in calls.text) == ("calls", state, True)
