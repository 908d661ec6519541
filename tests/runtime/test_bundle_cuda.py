"""Bundles with CUDA kernels: loaded where there is no GPU, and called on a device that pretends to be one."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.cuda.nvrtc import Nvrtc
from opwright.runtime.load.loading import load_sources
from opwright.toolchain import Options
from tests.cuda.kernels_for_front import CPU, CUDA
from tests.runtime.pretend.conftest import HERE, Relabelled

Write = Callable[..., Path]
module = importlib.import_module("opwright.runtime.bundle.write")

_PRETENDING = """
extern "C" void opw_set_accelerator(int32_t);
namespace {
const bool pretending = (opw_set_accelerator(20), true);  // before the operators are registered
}
#include "bundle/bundle_entry.h"
"""


def said(words: list[object], **environment: str) -> Any:
    inherited = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=inherited
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.exhaustive
@pytest.mark.native
def test_calls_on_a_pretended_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [Relabelled(HERE / name, Options()) for name in ("kernels.cpp", "kernels.cu")]
    ops = load_sources(sources, "pretended_bundle", ())
    plain = module.bundle_text
    monkeypatch.setattr(
        module, "bundle_text", lambda *given: plain(*given).replace('#include "bundle/bundle_entry.h"', _PRETENDING)
    )
    path = opwright.bundle(ops, tmp_path / "b.so", dtypes=[torch.float32])
    on_cpu, there, gradient, stream, left_out, opened = said([HERE / "bundled.py", path], OPWRIGHT_RUNTIME="native")
    assert on_cpu == [0, 2, 4]
    assert there == ["pretended:1", [0, 2, 4]]
    assert gradient == ["pretended:1", [2, 2, 2]]
    assert stream == 1007
    assert left_out.splitlines() == [
        "twice(): b.so has no kernel for Double on CUDA",
        "  it has:       T=f32",
        "  likely fix:   opwright.bundle(..., dtypes=[...]) with that one",
    ]
    assert opened == [0, 1]  # when it was loaded, and after the first call on the device


_LOADED = """
import json, sys
sys.modules["opwright"] = None
import torch
torch.ops.load_library(sys.argv[1])
ops = torch.ops.bundled_round
x = torch.tensor([0.2, 0.5])
kernels = [torch._C._dispatch_has_kernel_for_dispatch_key(f"bundled_round::round.{name}", key)
           for name in ops.round.overloads() for key in ("CPU", "CUDA")]
print(json.dumps([ops.round(x).tolist(), kernels]))
"""


@pytest.mark.slow
def test_a_bundle_with_cuda_kernels_is_loaded_without_a_gpu(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if problem := Nvrtc().missing():
        pytest.skip(problem)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "7.5;9.0+PTX")
    ops = opwright.load(write(CPU, "bundled_round.cpp"), write(CUDA, "bundled_round.cu"), backend="nvrtc")
    path = opwright.bundle(ops, tmp_path / "round.so")
    assert said(["-c", _LOADED, path]) == [[0, 1], [True, True]]
    held = path.read_bytes()
    assert b".target sm_90" in held
    assert held.count(b"\x7fELF") >= 4  # the bundle, the library within, and two cubins of that
