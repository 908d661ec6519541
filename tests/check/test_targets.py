"""What is checked doesn't depend on what the process has loaded, nor the other way round."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.check import Report
from opwright.check.targets import find_operators, resolve_name
from opwright.errors import SourceError

CPU = """
OPWRIGHT("times(x: f32[N]) -> (y: f32[N])")
void times(Tensor<const float, 1> x, Tensor<float, 1> y) {{
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = {factor} * x[i];
}}
"""
CUDA = """
OPWRIGHT("add(x: f32[N]) -> (y: f32[N]) launch over N, threads 64")
__global__ void add(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < x.size(0)) y[i] = 1 + x[i];
}
"""
Write = Callable[..., Path]


def checked(path: Path, factor: int) -> Report:
    return opwright.check(path, lambda x: factor * x, only=("agreement",), level="quick")


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("first", ["check", "load"])
def test_a_file_that_is_loaded_together_with_another(first: str, write: Write) -> None:
    cpp, cu = write(CPU.format(factor=2), f"{first}_pair.cpp"), write(CUDA, f"{first}_pair.cu")
    if first == "load":
        opwright.load(cpp, cu)
    report = checked(cpp, 2)
    assert report.ok, report
    assert {outcome.operator for outcome in report} == {"times"}
    emulated = opwright.check(cu, lambda x: 1 + x, device="emulated", only=("agreement", "CUDA kernels"), level="quick")
    assert [outcome.status for outcome in emulated] == ["passed", "passed"], emulated
    assert sorted(opwright.load(cpp, cu)) == ["add", "times"]


@pytest.mark.slow
def test_files_of_the_same_name(write: Write, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one, two = write(CPU.format(factor=2), "same_name.cpp"), write(CPU.format(factor=3), "other/same_name.cpp")
    assert checked(one, 2).ok
    assert checked(two, 3).ok
    assert checked(one, 3).kinds == {"wrong-value"}


def test_a_file_that_has_changed_since(write: Write) -> None:
    path = write(CPU.format(factor=2), "changed_since.cpp")
    assert checked(path, 2).ok
    write(CPU.format(factor=3), "changed_since.cpp")
    assert checked(path, 3).ok


@pytest.mark.slow
def test_a_python_file_that_is_called_as_a_module_is(write: Write) -> None:
    before = random
    path = write("def halved(x):\n    return x / 2\n", "random.py")
    signature = "halved(x: T[N]) -> (y: T[N]) where T in (f32)"
    assert opwright.check(f"{path}:halved", lambda x: x / 2, signature=signature, only=("agreement",)).ok
    assert sys.modules["random"] is before


def test_functions_without_a_mark(write: Write) -> None:
    path = write("void halved(const float *x, float *y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] / 2; }", "h.c")
    signature = "halved(x: f32[n]) -> (y: f32[n])"
    for target in (path, f"{path}:halved"):
        assert opwright.check(target, lambda x: x / 2, signature=signature, only=("agreement",), level="quick").ok
    report = opwright.check(path, lambda x: x / 3, signature=signature, only=("agreement",), level="quick")
    assert f"opwright.load({str(path)!r}, ops={signature!r})" in report.findings[0].reproducer
    with pytest.raises(SourceError) as caught:
        opwright.check(path)
    assert str(caught.value).endswith(
        '\n  or signatures given from outside: signature="f(x: f32[N]) -> (y: f32[N])" (--signature "f(x: f32[N]) -> '
        '(y: f32[N])")'
    )


def test_an_extension_with_pytorchs_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its functions have no signatures: where they go is said."""
    path = tmp_path / "an_extension.cpp"
    path.write_text("#include <torch/extension.h>\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n")
    monkeypatch.setattr("opwright.aten.jit.load", lambda *_, **__: pytest)  # any module: building it takes seconds
    with pytest.raises(SourceError, match=r"functions have no signatures\n  likely fix: build it, and check what it"):
        opwright.check(path)


def test_a_files_reference_is_the_operators_of_its_name(write: Write) -> None:
    """The others have none; who it is meant for is asked where its name doesn't say."""
    path = write(CPU.format(factor=2) + CPU.format(factor=3).replace("times", "thrice"), "several.cpp")
    reference = write("def times(x):\n    return 2 * x\n", "references.py")
    for given in (f"{reference}:times", resolve_name(f"{reference}:times")):
        assert [operator.reference is None for operator in find_operators(path, reference=given)] == [False, True]
    assert find_operators(f"{path}:thrice", reference=torch.neg)[0].reference is torch.neg
    says = r"has 2 operators, times, thrice; the reference 'neg' has the name of none of them\n  likely fix: check one"
    with pytest.raises(SourceError, match=says):
        find_operators(path, reference=torch.neg)


def test_a_function_of_a_file_is_called_by_its_apply(tmp_path: Path) -> None:
    path = tmp_path / "has_a_function.py"
    path.write_text("import torch\nclass Twice(torch.autograd.Function):\n    pass\n")
    (operator,) = find_operators(f"{path}:Twice", signature="f(x: f32[N]) -> (y: f32[N])")
    assert operator.expression == "has_a_function.Twice.apply"


def test_the_name_of_alternatives_means_all_of_them(write: Write) -> None:
    double = CPU.replace("f32", "f64").replace("float", "double")
    path = write(CPU.format(factor=2) + double.format(factor=3), "targets_alternatives.cpp")
    both = find_operators(f"{path}:times")
    assert [operator.name for operator in both] == ["times.f32", "times.f64"]
    assert [operator.name for operator in find_operators(f"{path}:times.f64")] == ["times.f64"]
    ops = opwright.load(path)
    assert [operator.expression for operator in find_operators(ops.times)] == ["ops.times.f32", "ops.times.f64"]
    assert [operator.name for operator in find_operators(ops.times.f32)] == ["times.f32"]
    assert [operator.name for operator in find_operators(torch.ops.targets_alternatives.times)] == [
        "times.f32",
        "times.f64",
    ]

    def times(x: torch.Tensor) -> torch.Tensor:
        return x * (2 if x.dtype == torch.float32 else 3)

    assert all(operator.reference for operator in find_operators(path, reference=times))
