"""Wheels and bundles carry derived gradients: their backwards run where there is no compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright.packaging import library_builder, package_writer
from opwright.packaging.config import Library
from opwright.signature import DType

SOURCE = """#include <opwright.h>
OPWRIGHT("norm(x: T[N], w: T[N]) -> (y: T[N]) batched derived")
template <class T>
void norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i] * x[i];
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = w[i] * x[i] * rsqrt(sum);
}
OPWRIGHT("shaken_(x: T[N]!, s: T[], rng: generator(2)) -> (n: T[]) derived")
template <class T>
void shaken_(Tensor<T, 1> x, Tensor<const T, 0> s, Tensor<T, 0> n, Generator rng) {
  n() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) x[i] *= s() * T(rng[i].uniform<double>()), n() += x[i] * x[i];
}
"""
USE = """
import json, sys, torch
x, w = (torch.linspace(-1, 2, n, dtype=torch.float64).requires_grad_() for n in (38, 2))
gradients = torch.autograd.grad(ops.norm(x.unflatten(0, (19, 2)), w).pow(3).sum(), (x, w))
torch.manual_seed(3)
values, s = torch.linspace(1, 2, 5, dtype=torch.float64), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
n = ops.shaken_(values, s)
slope = torch.autograd.grad(n, s)[0]
print(json.dumps([[g.tolist() for g in gradients], n.item(), slope.item()]))
"""


def assert_right(said: str) -> None:
    """Compare what `USE` printed with PyTorch's own gradients; n is quadratic in s."""
    gradients, n, slope = json.loads(said)
    x, w = (torch.linspace(-1, 2, k, dtype=torch.float64).requires_grad_() for k in (38, 2))
    rows = x.unflatten(0, (19, 2))
    expected = torch.autograd.grad((w * rows / rows.norm(dim=-1, keepdim=True)).pow(3).sum(), (x, w))
    for one, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(torch.tensor(one, dtype=torch.float64), other)
    assert slope == pytest.approx(2 * n / 1.5)


def said(code: str, *words: str, **variables: str) -> str:
    """Run Python where no compiler is found, and return what it prints."""
    environment: dict[str, Any] = {**os.environ, "PATH": "", "CC": "", "CXX": "", **variables}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
def test_a_package(tmp_path: Path) -> None:
    (tmp_path / "derived.cpp").write_text(SOURCE)
    library = Library("ship_taped.ops", ("derived.cpp",), variants=(), dtypes=(DType.F64,))
    folder = tmp_path / "site/ship_taped/ops"
    package_writer.write(library, library_builder.compiled(library, tmp_path), folder)
    places = os.pathsep.join([str(tmp_path / "site"), str(Path(opwright.__file__).parents[1])])
    assert_right(
        said(
            f"import ship_taped.ops as ops{USE}",
            PYTHONPATH=places,
            OPWRIGHT_RUNTIME="python",  # the native one would be compiled
            TORCH_EXTENSIONS_DIR=str(tmp_path / "cache"),
        )
    )
    assert not [*tmp_path.glob("cache/**/*.so")]


@pytest.mark.exhaustive
@pytest.mark.native
def test_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "bundle_taped.cpp").write_text(SOURCE)
    ops = opwright.load(tmp_path / "bundle_taped.cpp", dtypes=(torch.float64,))
    path = opwright.bundle(ops, tmp_path / "bundle_taped.so")
    load = "import sys, torch; torch.ops.load_library(sys.argv[1]); ops = torch.ops.bundle_taped"
    assert_right(said(f"{load}{USE}", str(path), PYTHONPATH=""))
