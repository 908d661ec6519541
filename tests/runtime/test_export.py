"""Exported programs: saved, and run by another process that has loaded the operators, or hasn't."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import Operators
from tests.interpreter import run_python

SOURCE = Path(__file__).parent / "kernels" / "bundle_ops.cpp"


class Model(torch.nn.Module):
    """Residuals and a gradient; an operator without one; optional and scalar arguments."""

    def __init__(self, ops: Operators) -> None:
        super().__init__()
        self.ops = ops
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 4))

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> Any:
        return self.ops.blend(self.ops.swish(x, 0.5), self.weight) * self.ops.count(index) + self.ops.blend(x, None)


def reference(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return 3 * (x * (0.5 * x).sigmoid()) @ weight + x.sum(1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = Model(opwright.load(SOURCE))
    rows = torch.export.Dim("rows", min=2, max=50)
    inputs = torch.ones(3, 4), torch.arange(3)
    program = torch.export.export(model, inputs, dynamic_shapes=({0: rows}, None))
    path = tmp_path_factory.mktemp("export") / "model.pt2"
    torch.export.save(program, path)
    return path


def run(path: Path, prepare: str) -> subprocess.CompletedProcess[str]:
    code = f"""
import sys, torch
{prepare}
module = torch.export.load(sys.argv[1]).module()
x = torch.linspace(-1, 1, 28).reshape(7, 4).requires_grad_()
y = module(x, torch.arange(3))
y.sum().backward()
print(y.tolist(), x.grad.tolist(), module.weight.grad.tolist(), sep=";")
"""
    return run_python(code, path)


def assert_prints_reference(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    x = torch.linspace(-1, 1, 28).reshape(7, 4).requires_grad_()
    weight = torch.linspace(1, 2, 4).requires_grad_()
    expected = reference(x, weight)
    expected.sum().backward()
    for text, tensor in zip(done.stdout.split(";"), (expected, x.grad, weight.grad), strict=True):
        assert tensor is not None
        torch.testing.assert_close(
            torch.tensor([float(f) for f in text.strip("[]\n ").replace("[", "").replace("]", "").split(",")]),
            tensor.detach().flatten(),
        )


@pytest.mark.slow
def test_in_another_process(saved: Path) -> None:
    assert_prints_reference(run(saved, f"import opwright; opwright.load({str(SOURCE)!r})"))


@pytest.mark.slow
def test_with_a_bundle_instead_of_opwright(saved: Path, tmp_path: Path) -> None:
    library = opwright.bundle(opwright.load(SOURCE), tmp_path / "bundle_ops.so")
    assert_prints_reference(run(saved, f"sys.modules['opwright'] = None; torch.ops.load_library({str(library)!r})"))


_UNRESOLVED = "failed to resolve torch.ops.bundle_ops.{name}.sig_"


@pytest.mark.slow
def test_without_the_operators_pytorch_names_the_missing_one(saved: Path) -> None:
    done = run(saved, "")
    assert done.returncode == 1
    assert _UNRESOLVED.format(name="swish") in done.stderr


@pytest.mark.slow
def test_another_signature_is_another_operator(saved: Path, tmp_path: Path) -> None:
    """Not run with the old one's shapes: the name that the program holds is no longer there."""
    source = tmp_path / "bundle_ops.cpp"
    source.write_text(SOURCE.read_text().replace("blend(x: T[M, N], w: T[N]?)", "blend(x: T[M, N], w: T[N])"))
    source.write_text(source.read_text().replace("x: T[M, N], w: T[N]?)", "x: T[M, N], w: T[N])"))
    done = run(saved, f"import opwright; opwright.load({str(source)!r})")
    assert done.returncode == 1
    assert _UNRESOLVED.format(name="blend") in done.stderr
    assert _UNRESOLVED.format(name="swish") not in done.stderr


def test_the_module_of_the_program_is_the_model(saved: Path) -> None:
    ops = opwright.load(SOURCE)
    module = torch.export.load(saved).module()
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(module(x, torch.arange(3)), reference(x, torch.linspace(1, 2, 4)))
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.ones(60, 4), torch.arange(3))  # beyond the dynamic size's bound
    torch.testing.assert_close(Model(ops)(x, torch.arange(3)), module(x, torch.arange(3)))
