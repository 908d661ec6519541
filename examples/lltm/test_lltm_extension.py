from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lltm import lltm_python
from lltm_extension import built, lltm_extension
from test_lltm import arguments, values_and_gradients

from opwright.cpp_extension import CUDA_HOME, load

HERE = Path(__file__).parent
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
NEEDS_NVCC = pytest.mark.skipif(CUDA_HOME is None, reason="no CUDA toolkit")


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_PRECOMPILE", "wait")


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sizes", [(5, 3, 7), (16, 32, 128), (1, 1, 1), (2, 0, 3), (0, 3, 4)])
def test_values_and_gradients(sizes: tuple[int, int, int], device: str) -> None:
    inputs = arguments(sizes)
    there = [tensor.detach().to(device).requires_grad_() for tensor in inputs]
    for ours, exact in zip(
        values_and_gradients(lltm_extension, there), values_and_gradients(lltm_python, inputs), strict=True
    ):
        torch.testing.assert_close(ours.cpu(), exact)


@pytest.mark.slow
def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(lltm_extension, arguments((3, 2, 2)))


def test_wrong_arguments_are_named() -> None:
    x, weights, bias, h, cell = (tensor.detach() for tensor in arguments((4, 3, 5)))
    saved = built("cpu").forward(x, weights, bias, h, cell)[2:]
    with pytest.raises(RuntimeError, match=r"grad_h has shape \[4, 5\], grad_cell \[3, 5\]"):
        built("cpu").backward(h, cell[1:], *saved, weights)
    with pytest.raises(TypeError, match=r"incompatible function arguments"):
        built("cpu").forward(x)


@NEEDS_NVCC
@pytest.mark.exhaustive
def test_the_cuda_form_compiles_and_asks_for_a_gpu() -> None:
    made = load("lltm_cuda", [HERE / "lltm_cuda.cpp", HERE / "lltm_cuda_kernel.cu"])
    with pytest.raises(RuntimeError, match="x must be a CUDA tensor, got one on cpu"):
        made.forward(*(tensor.detach() for tensor in arguments((4, 3, 5))))  # type: ignore[union-attr]


@pytest.mark.exhaustive
def test_ahead_of_time(tmp_path: Path) -> None:
    for file in ("setup.py", "lltm_aten.cpp", "lltm_extension.py"):
        shutil.copy(HERE / file, tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "CUDA_HOME": ""}
    words = [sys.executable, "setup.py", "build_ext", "--inplace"]
    text = (tmp_path / "setup.py").read_text().replace("if CUDA_HOME is not None", "if False")
    (tmp_path / "setup.py").write_text(text)
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    code = (
        "import lltm_aten, torch; t = torch.ones(2, 2);"  # before PyTorch
        "print(len(lltm_aten.forward(t, torch.ones(6, 4), torch.ones(6), t, t)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "7\n"
