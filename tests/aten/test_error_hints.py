"""The usual failures: each says what it means and what to do, the user's line first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright import CompileError, ToolchainError
from opwright.aten import error_hints
from opwright.aten.pytorch import find_torch
from opwright.cpp_extension import load

MODULE = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }'

NO_MEMBER = "a.cpp:3:20: error: 'class at::DeprecatedTypeProperties' has no member named '{}'"


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("a.h:3:10: error: Python.h: No such file or directory", "apt install python3-dev"),
        ("a.cpp:1:10: error: 'Python.h' file not found", "apt install python3-dev"),
        ("a.cpp:2:10: error: cuda_runtime.h: No such file or directory", "CUDA's: pass with_cuda=True"),
        ('k.cu:2: error: cannot open source file "thing/a.h"', r"no folder with thing/a.h is searched"),
        ("a.cpp:1:1: error: c10/cuda/impl/cuda_cmake_macros.h: No such file or directory", "built without CUDA"),
        ("a.cpp:1:1: error: THCUNN/common.h: No such file or directory", "`opwright migrate` says what to write"),
        ("x.h:1:1: error: #error -- unsupported GNU version! gcc versions later than 12", r"set CXX to an older one"),
        (NO_MEMBER.format("tensor"), r"empty\(sizes, x.options\(\)\); sizes are \{0\} for"),
        (NO_MEMBER.format("ones"), r"torch::ones\(sizes, x.options\(\)\)"),
        (NO_MEMBER.format("copy"), r"y.to\(x.options\(\)\) for x.type\(\).copy\(y\)"),
        (NO_MEMBER.format("toBackend"), r"has no toBackend any more: look among those of x, "),
        ("a.cpp:1:1: error: no member named 'zeros' in 'at::DeprecatedTypeProperties'", r"torch::zeros\(sizes"),
        ('k.cu:2: error: class "at::DeprecatedTypeProperties" has no member "zeros"', r"torch::zeros\(sizes"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_35'", r"doesn't compile for compute_35: set"),
        ("x.h:4:2: error: #error C++20 or later compatible compiler is required", r"take -std=\.\.\. out"),
        ("c++: error: unrecognized command-line option '-std=c++20'", "PyTorch's headers need C"),
        ("/usr/bin/ld: multiple definition of `f'", "name that file in sources"),
        ("a: error: the linker finds no library c10_cuda", "PyTorch is built without CUDA"),
        ("a: error: the linker finds no library cudart", "install the whole toolkit, or set CUDA_HOME"),
        ("a: error: the linker finds no library blas, m", r'folder: extra_ldflags=\["-L..."\]'),
    ],
)  # fmt: skip
def test_causes_of_a_compiler_s_refusal(said: str, fix: str) -> None:
    made = str(error_hints.compile_error(CompileError(f"{said}\nfull log: /x\ncommand: c++"), find_torch()))
    assert made.startswith(f"{said}\n  likely fix: ")

    assert re.search(fix, made)
    assert made.endswith("\nfull log: /x\ncommand: c++")


def test_a_fix_that_is_there_stays_the_only_one() -> None:
    error = CompileError("a.cpp:1:1: error: b.h: No such file or directory\n  likely fix: rest")
    assert error_hints.compile_error(error, find_torch()) is error
    plain = CompileError("a.cpp:1:1: error: expected ';'")
    assert error_hints.compile_error(plain, find_torch()) is plain


def test_a_macro_that_a_header_of_others_has_the_name_of(tmp_path: Path) -> None:
    header = tmp_path / "include" / "c10" / "a.h"
    header.parent.mkdir(parents=True)
    header.write_text("template <class A> void f(A);\n")
    error = CompileError(f"{header}:1:17: error: expected identifier\nfull log: /x")
    made = str(error_hints.compile_error(error, find_torch(), ["OTHER", "A"]))
    assert "likely fix: -DA replaces A in headers that aren't yours, too: give" in made
    assert error_hints.compile_error(error, find_torch(), ["OTHER"]) is error
    own = CompileError(f"{tmp_path}/a.cpp:1:17: error: expected identifier")
    assert error_hints.compile_error(own, find_torch(), ["A"]) is own


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("/a.so: undefined symbol: cblas_sgemm", r"it is C's: if it is in a library"),
        ("/a.so: undefined symbol: _Z5twicei", r"define it with exactly these types"),
        ("/a.so: undefined symbol: _ZN2at4_ops4nope4callERKNS_6TensorE", r"built for another PyTorch"),
        ("/a.so: undefined symbol: _ZN3c105ErrorC1ENS_14SourceLocationESs", r"different C\+\+ library interfaces"),
        ("/a.so: undefined symbol: _ZN3c104cuda20getCurrentCUDAStreamEa", r"PyTorch is built without CUDA"),
        ("libc10.so: cannot open shared object file: No such file or directory", r"likely fix: import torch first"),
        ("libcudart.so.13: cannot open shared object file", r"LD_LIBRARY_PATH=\$CUDA_HOME/lib64"),
    ],
)
def test_causes_of_a_loader_s_refusal(said: str, fix: str) -> None:

    torch = find_torch()._replace(cuda=None)
    made = error_hints.import_problem("a", said, lambda: "", torch)
    assert made is not None
    assert re.search(fix, made)
    assert made.endswith(f"loader:     {said}")
    assert error_hints.import_problem("a", "something else", lambda: "", torch) is None


@pytest.mark.exhaustive
def test_a_module_under_another_name(source: Callable[..., Path]) -> None:
    path = source("int f() { return 1; }" + MODULE.replace("TORCH_EXTENSION_NAME", "other"))
    with pytest.raises(ImportError, match=r"defines the module other, expected mine\n  likely fix: .*name='other'"):
        load("mine", [path])


@pytest.mark.slow
def test_no_module_at_all(source: Callable[..., Path]) -> None:
    with pytest.raises(
        ImportError, match=r"no Python module mine\n  likely fix: add PYBIND11_MODULE(.|\n)*is_python_module=F"
    ):
        load("mine", [source("int f() { return 1; }")])


@pytest.mark.slow
def test_a_function_that_nobody_defines(source: Callable[..., Path]) -> None:
    with pytest.raises(
        ImportError, match=r"mine uses f\(int\), which nothing defines\n  likely fix: define it(.|\n)*sources="
    ):
        load("mine", [source("int f(int);" + MODULE)])


@pytest.mark.slow
def test_the_users_line_comes_first(source: Callable[..., Path]) -> None:
    path = source('torch::Tensor f(torch::Tensor x) {\n  return x.no_such();\n}\n#include "missing.h"\n')
    with pytest.raises(CompileError) as raised:
        load("mine", [path])
    assert str(raised.value).startswith(f"{path}:")
    assert "no folder with missing.h is searched" in str(raised.value) or "no_such" in str(raised.value)


def test_no_compiler(source: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler: none of c\+\+, g\+\+, clang\+\+ is on the PATH"):
        load("mine", [source(MODULE)])


def test_no_python_headers(source: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda *_args, **_kwargs: str(tmp_path))
    with pytest.raises(
        ToolchainError, match=r"has no headers: .*Python.h isn't there\n  likely fix: apt install python3"
    ):
        load("mine", [source(MODULE)])


def test_no_cuda_toolkit(source: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    kernel = source("", "kernel.cu")
    with pytest.raises(
        ToolchainError, match=r"no CUDA compiler at .*nowhere/bin/nvcc \(CUDA_HOME=(?s:.*)likely fix: set CUDA_HOME"
    ):
        load("mine", [kernel])


def test_headers_of_a_cuda_toolkit_that_is_nowhere(
    source: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(ToolchainError, match=r"no CUDA compiler at .*nowhere/bin/nvcc \(CUDA_HOME="):
        load("mine", [source(MODULE)], with_cuda=True)


def test_a_linkers_refusal_is_advised_in_arguments_that_load_has(tmp_path: Path) -> None:
    path = tmp_path / "plain.cpp"
    path.write_text('extern "C" int answer();\nint main() { return answer(); }\n')
    with pytest.raises(CompileError) as raised:
        load("mine", [path], extra_ldflags=["-lno_such_thing"], is_python_module=False)
    assert "finds no library no_such_thing" in str(raised.value)
    assert 'likely fix: install it (its development package), or name its folder: extra_ldflags=["-L..."]' in str(
        raised.value
    )
    with pytest.raises(CompileError) as raised:
        load("mine", [path], is_python_module=False, is_standalone=True)
    assert "undefined reference to answer" in str(raised.value)
    assert "name that file in sources=[...] too" in str(raised.value)
    assert str(raised.value).count("likely fix:") == 1


def test_a_cache_that_cant_be_written_to(
    source: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "file"))
    with pytest.raises(ToolchainError, match=r"TORCH_EXTENSIONS_DIR"):
        load("mine", [source(MODULE)])


def test_a_toolkit_that_is_there_is_not_advised() -> None:
    error = CompileError("/a.cu:1:10: error: cublas_v2.h: No such file or directory\nfull log: /x")
    assert "pass with_cuda=True" in str(error_hints.compile_error(error, find_torch()))
    made = str(error_hints.compile_error(error, find_torch(), (), "/opt/cuda"))
    assert "likely fix: the CUDA toolkit in /opt/cuda has no cublas_v2.h: install that library's development f" in made
    text = "a.cpp:1:1: error: c10/cuda/impl/cuda_cmake_macros.h: No such file or directory"
    made = str(error_hints.compile_error(CompileError(text), find_torch(), toolkit="/opt/cuda"))
    assert "likely fix: the installed PyTorch is built without CUDA" in made
