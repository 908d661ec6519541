"""Which runtime a process gets, and what it is told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.codegen import KernelSource
from opwright.errors import CompileError, ToolchainError
from opwright.runtime.python.runtime import PythonRuntime
from opwright.runtime.register import kernels as selection
from opwright.signature import DType
from opwright.toolchain import Options

Write = Callable[..., Path]
Script = Callable[..., subprocess.CompletedProcess[str]]
KERNEL = """
OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y) {
  parallel_for(x.numel(), 1, [&](int64_t i) { y[i] = 2 * x[i]; });
}
OPWRIGHT("twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void twice_backward(Tensor<const T, 1> g, Tensor<T, 1> out) {
  for (int64_t i = 0; i < g.numel(); ++i) out[i] = 2 * g[i];
}
"""
# A kernel library that was built before is all there is.
SCRIPT = """
import torch, opwright, opwright.runtime
from opwright.codegen import KernelSource
KernelSource.library = lambda self, *_, **__: {library!r}
ops = opwright.load({source!r})
x = torch.arange(3.0, requires_grad=True)
ops.twice(x).sum().backward()
print(opwright.runtime.name(), x.grad.tolist())
"""


def refuse() -> None:
    raise CompileError("runtime.cpp:3:1: error: no such thing\nand more of that")


def test_what_the_variable_may_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWRIGHT_RUNTIME", "python")
    assert isinstance(selection.selected(), PythonRuntime)
    monkeypatch.setenv("OPWRIGHT_RUNTIME", "rust")
    with pytest.raises(ToolchainError) as caught:
        selection.selected()
    assert str(caught.value) == (
        "OPWRIGHT_RUNTIME=rust names no runtime, expected native or python\n"
        "  likely fix: unset it; then the native one is used, or the one in Python where there is no compiler"
    )


def test_native_is_taken_where_it_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    class Native:
        name = "native"

    monkeypatch.setattr(selection, "_native", Native)
    for value in ("native", ""):
        monkeypatch.setenv("OPWRIGHT_RUNTIME", value)
        assert isinstance(selection.selected(), Native)
    monkeypatch.delenv("OPWRIGHT_RUNTIME")
    assert isinstance(selection.selected(), Native)


def test_where_the_native_one_does_not_compile(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(selection, "_native", refuse)
    monkeypatch.delenv("OPWRIGHT_RUNTIME", raising=False)
    assert isinstance(selection.selected(), PythonRuntime)
    assert caplog.text.endswith(
        "using the runtime in Python, which is slower at each call, because the native one can't be built: "
        "runtime.cpp:3:1: error: no such thing; it is tried again at the next start, and OPWRIGHT_RUNTIME=python "
        "leaves this line out\n"
    )
    monkeypatch.setenv("OPWRIGHT_RUNTIME", "native")
    with pytest.raises(CompileError, match="no such thing"):
        selection.selected()


@pytest.fixture
def built(write: Write) -> str:
    """The script, and a library made while there was a compiler."""
    source = write(KERNEL, "twice.cpp")
    library = KernelSource(source, Options()).library({"T": DType.F32})
    return SCRIPT.format(source=str(source), library=library)


@pytest.mark.slow
def test_a_process_without_a_compiler(built: str, script: Script, tmp_path: Path) -> None:
    """And with nothing in its cache."""
    done = script(built, OPWRIGHT_RUNTIME=None, PATH="", CXX=None, CC=None, TORCH_EXTENSIONS_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "python [2.0, 2.0, 2.0]\n"), done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("opwright: using the runtime in Python, which is slower at each call, ")
    assert "no C++ compiler: none of c++, g++, clang++ is on the PATH, and CXX is not set" in done.stderr


@pytest.mark.slow
def test_nothing_is_said_where_it_was_asked_for(built: str, script: Script) -> None:
    done = script(built, PATH="", CXX=None, CC=None)
    assert (done.stdout, done.stderr) == ("python [2.0, 2.0, 2.0]\n", "")


@pytest.mark.slow
def test_native_is_not_replaced_where_it_was_asked_for(built: str, script: Script, tmp_path: Path) -> None:
    done = script(built, OPWRIGHT_RUNTIME="native", PATH="", CXX=None, CC=None, TORCH_EXTENSIONS_DIR=str(tmp_path))
    assert done.returncode != 0
    assert "ToolchainError: no C++ compiler" in done.stderr
