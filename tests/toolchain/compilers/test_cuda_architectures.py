"""``TORCH_CUDA_ARCH_LIST``, and what is taken for the GPUs of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain.compilers.cuda_architectures import architecture_flags

KNOWN = ("75", "80", "86", "89", "90", "100", "120")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("", ["arch=compute_75,code=[sm_75,compute_75]"]),  # no GPU: the oldest, to be translated
        ("8.0", ["arch=compute_80,code=sm_80"]),
        (
            "8.0;9.0+PTX",
            ["arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90"],
        ),
        ("9.0a 10.0", ["arch=compute_90a,code=sm_90a", "arch=compute_100,code=sm_100"]),
        ("Ampere", ["arch=compute_80,code=sm_80", "arch=compute_86,code=sm_86", "arch=compute_86,code=compute_86"]),
        ("8.0,8.0", ["arch=compute_80,code=sm_80"]),
    ],
)
def test_architectures(monkeypatch: pytest.MonkeyPatch, asked: str, expected: list[str]) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", asked)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert architecture_flags(KNOWN) == [f"-gencode={each}" for each in expected]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([(8, 0), (9, 0)], ["80,code=sm_80", "90,code=sm_90", "90,code=compute_90"]),
        ([(12, 1)], ["120,code=sm_120", "120,code=compute_120"]),  # newer than this nvcc
        ([(6, 1)], ["75,code=sm_75", "75,code=compute_75"]),
    ],
)
def test_the_gpus_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, gpus: list[tuple[int, int]], expected: list[str]
) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "native")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: len(gpus))
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda index: gpus[index])
    assert architecture_flags(KNOWN) == [f"-gencode=arch=compute_{each}" for each in expected]


def test_the_gpus_are_asked_for_where_nobody_has_imported_pytorch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(
        "class cuda:\n"
        "    is_available = staticmethod(lambda: True)\n"
        "    device_count = staticmethod(lambda: 1)\n"
        "    get_device_capability = staticmethod(lambda index: (9, 0))\n"
    )
    code = (
        "from opwright.toolchain.compilers.cuda_architectures import architecture_flags as f; "
        "print(*f(['75', '90', '120']))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TORCH_CUDA_ARCH_LIST"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == ("-gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90\n")


@pytest.mark.parametrize("asked", ["3.5", "sm_80", "8", "Kepler2", "80"])
def test_an_architecture_that_is_none(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", asked)
    with pytest.raises(
        ToolchainError, match=f"'{asked}' is no architecture(?s:.*)expected of: 7.5 8.0 .*12.0\n  likely"
    ):
        architecture_flags(KNOWN)


def test_cuda_12_knows_more_than_its_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert architecture_flags(("50", "60", "70", "75", "80")) == ["-gencode=arch=compute_75,code=[sm_75,compute_75]"]


def test_a_forked_child_may_not_ask_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_index: int) -> tuple[int, int]:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "native")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    monkeypatch.setattr("torch.cuda.get_device_capability", refuse)
    assert architecture_flags(KNOWN) == ["-gencode=arch=compute_75,code=[sm_75,compute_75]"]
