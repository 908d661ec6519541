"""The public names, and what importing them costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import opwright


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_names() -> None:
    assert opwright.__all__ == [
        *("ArgumentError", "CompileError", "KernelError", "Operators", "OpwrightError", "PackagingError"),
        *("Signature", "SignatureError", "SourceError", "ToolchainError", "UnsupportedError", "__version__"),
        *("bench", "bundle", "check", "differentiable", "emulate", "load", "load_inline", "parse", "unwatch"),
    ]
    assert dir(opwright) == opwright.__all__
    assert all(getattr(opwright, name) is not None for name in opwright.__all__)
    with pytest.raises(AttributeError, match="module 'opwright' has no attribute 'nothing'"):
        opwright.nothing  # noqa: B018


def test_exceptions_are_what_pytorch_and_python_expect() -> None:
    for name in opwright.__all__:
        if name.endswith("Error"):
            assert issubclass(getattr(opwright, name), opwright.OpwrightError)
    assert issubclass(opwright.OpwrightError, RuntimeError)
    assert issubclass(opwright.ArgumentError, ValueError)
    assert issubclass(opwright.SignatureError, ValueError)
    assert issubclass(opwright.UnsupportedError, NotImplementedError)
    assert issubclass(opwright.CompileError, opwright.ToolchainError)


def test_importing_imports_neither_torch_nor_the_compilers_side() -> None:
    loaded = run("import sys, opwright; print(*sys.modules)").split()
    assert "opwright" in loaded
    heavy = {"torch", "numpy", "tree_sitter", "click", "rich", "filelock", "ctypes", "subprocess"}
    assert not heavy & set(loaded)
    assert not {name for name in loaded if name.startswith("opwright.")} - {"opwright._version", "opwright.errors"}


@pytest.mark.slow
def test_the_runtime_is_there_without_being_imported() -> None:
    code = "import opwright; print(opwright.runtime.name())"
    assert run(code) == os.environ.get("OPWRIGHT_RUNTIME", "native")


@pytest.mark.slow
def test_no_front_end_is_loaded_before_it_is_asked_for() -> None:
    """Neither by ``import opwright`` nor by making an operator of a kernel."""
    code = (
        "import sys, opwright; opwright.load({!r})\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('cffi', '_cffi_backend', 'setuptools')"
        " or m.startswith(('opwright.legacy', 'opwright.aten', 'opwright.doctor', 'opwright.migrate'))))"
    )
    kernel = Path(__file__).parent / "runtime" / "kernels" / "call_ops.cpp"
    assert run(code.format(str(kernel))) == "['opwright.aten', 'opwright.aten.front_end']"  # what load asks: is it one?


_WITHOUT_TORCH = """
import sys
from pathlib import Path
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Missing())
import opwright
"""


def test_signatures_need_no_torch() -> None:
    code = _WITHOUT_TORCH + "print(opwright.parse('f(x:T[N])->(y:T[2*N])'), opwright.SourceError.__name__)"
    assert run(code) == "f(x: T[N]) -> (y: T[2*N]) SourceError"


def test_loading_without_torch_says_what_to_install() -> None:
    code = _WITHOUT_TORCH + "\ntry:\n    opwright.load('x.cpp')\nexcept ModuleNotFoundError as e:\n    print(e.name, e)"
    assert run(code) == (
        "torch Opwright needs PyTorch 2.10 or newer to load operators, and none is installed. "
        "Install it with `pip install opwright[torch]`, or choose a build on pytorch.org."
    )


def test_a_broken_torch_is_not_taken_for_a_missing_one() -> None:
    code = _WITHOUT_TORCH.replace(
        'ModuleNotFoundError("No module named \'torch\'", name="torch")', 'ImportError("libc10.so")'
    )
    code += "\ntry:\n    opwright.load('x.cpp')\nexcept ImportError as e:\n    print(type(e).__name__, e)"
    assert run(code) == "ImportError libc10.so"
