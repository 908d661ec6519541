"""`load` and `load_inline`: PyTorch's arguments and results; what an edit, a kill and a neighbour do."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

import opwright
from opwright import CompileError, SourceError, UnsupportedError, cpp_extension
from opwright.cpp_extension import load, load_inline

ADD = """
torch::Tensor add(torch::Tensor x, int64_t n) { return x + n * FACTOR; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add, "x and n", py::arg("x"), py::arg("n") = 1); }
"""


def test_names() -> None:
    assert sorted(dir(cpp_extension)) == sorted(cpp_extension.__all__)
    assert {"CUDA_HOME", "BuildExtension", "include_paths", "library_paths", "load"} <= set(cpp_extension.__all__)
    assert [Path(folder, "torch/extension.h").exists() for folder in cpp_extension.include_paths()] == [True, False]
    assert Path(cpp_extension.library_paths()[0], "libc10.so").exists()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cpp_extension.nothing  # noqa: B018


def test_names_that_only_pytorch_has_are_pytorchs() -> None:
    from torch.utils import cpp_extension as theirs

    assert cpp_extension.IS_HIP_EXTENSION is theirs.IS_HIP_EXTENSION
    assert cpp_extension.is_ninja_available is theirs.is_ninja_available
    assert cpp_extension.load is not theirs.load
    assert not hasattr(cpp_extension, "__path__")


@pytest.mark.slow
def test_a_module_is_what_pybind11_makes_of_it(module: Callable[..., ModuleType]) -> None:
    made = module(ADD, extra_cflags=["-DFACTOR=10"])
    assert torch.equal(made.add(torch.ones(2)), torch.full((2,), 11.0))
    assert torch.equal(made.add(n=2, x=torch.ones(2)), torch.full((2,), 21.0))
    assert (
        made.add.__doc__
        == "add(x: torch.Tensor, n: typing.SupportsInt | typing.SupportsIndex = 1) -> torch.Tensor\n\nx and n\n"
    )
    with pytest.raises(TypeError, match=r"add\(\): incompatible function arguments"):
        made.add("x")
    with pytest.raises(RuntimeError, match="must match the size"):
        module("torch::Tensor f(torch::Tensor x) { return x + torch::ones(3); }"
               'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }').f(torch.ones(2))  # fmt: skip


@pytest.mark.slow
def test_the_same_is_loaded_once_and_an_edit_beside_it(source: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    path = source('#include "factor.h"' + ADD)
    first = load("edited", [str(path)])
    assert load("edited", str(path)) is first
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")  # the header alone
    second = load("edited", [path])
    source('#include "factor.h"' + ADD.replace("+ n", "- n"))
    third = load("edited", [path])
    x = torch.zeros(1)
    assert [int(each.add(x)) for each in (first, second, third)] == [2, 3, -3]  # type: ignore[union-attr]
    assert len({each.__file__ for each in (first, second, third)}) == 3  # type: ignore[union-attr]


@pytest.mark.slow
def test_several_sources_are_objects_of_their_own(
    source: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    source("torch::Tensor twice(torch::Tensor x) { return 2 * x; }", "kernel.cpp")
    source('torch::Tensor twice(torch::Tensor);PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }')
    paths = [source("", "empty.cpp").with_name(name) for name in ("op.cpp", "kernel.cpp")]
    assert int(load("parts", paths).twice(torch.ones(1))) == 2  # type: ignore[union-attr]
    capsys.readouterr()
    source("torch::Tensor twice(torch::Tensor x) { return x + x; }", "kernel.cpp")
    assert int(load("parts", paths, verbose=True).twice(torch.ones(1))) == 2  # type: ignore[union-attr]
    said = capsys.readouterr().err
    assert "compiling kernel" in said
    assert "compiling op" not in said


@pytest.mark.slow
def test_a_source_without_a_module_is_loaded_for_what_it_registers(tmp_path: Path, source: Callable[..., Path]) -> None:
    path = source('extern "C" int answer() { return 42; }')
    where = load("answering", [path], is_python_module=False, build_directory=tmp_path / "build")
    assert isinstance(where, str)
    import ctypes

    assert ctypes.CDLL(where).answer() == 42
    assert (tmp_path / "build" / "answering.so").exists()


@pytest.mark.slow
def test_a_lock_that_somebody_left_is_no_lock(tmp_path: Path, source: Callable[..., Path]) -> None:
    build = tmp_path / "build"
    build.mkdir()
    (build / "lock").touch()  # PyTorch's waits for it for ever
    made = load("unlocked", [source(ADD)], ["-DFACTOR=1"], build_directory=str(build))
    assert Path(made.__file__ or "").parent == build  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_build_directory_keeps_few_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    monkeypatch.setattr("opwright.aten.jit._SPARED", 0.0)
    build, path = tmp_path / "build", tmp_path / "edited.cpp"
    build.mkdir()
    others = {"edited-notes.so", "edited-0123.so", "edited_more-0123456789abcdef.so"}
    for name in others:
        (build / name).touch()
    loaded = []
    for number in range(6):
        path.write_text(f'extern "C" int answer() {{ return {number}; }}\n')
        loaded.append(load("edited", [path], is_python_module=False, build_directory=build))
    assert [ctypes.CDLL(str(library)).answer() for library in loaded[-4:]] == [2, 3, 4, 5]
    assert {file.name for file in build.iterdir()} == others | {"edited.so"} | {Path(str(p)).name for p in loaded[-4:]}


@pytest.mark.slow
def test_inline() -> None:
    text = 'torch::Tensor half(torch::Tensor x) { TORCH_CHECK(x.dim() == 1, "one axis"); return x / 2; }'
    made = load_inline("inlined", text, functions={"half": 'a "half"\n\\of x?'})
    assert float(made.half(torch.ones(1))) == 0.5  # type: ignore[union-attr]
    assert made.half.__doc__.endswith('\n\na "half"\n\\of x?\n')  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match=r"^one axis"):
        made.half(torch.ones(1, 1))  # type: ignore[union-attr]
    assert load_inline("inlined", [text], functions={"half": 'a "half"\n\\of x?'}) is made


@pytest.mark.slow
@pytest.mark.parametrize("headers", ["implied", "own"])
def test_lines_of_a_text_are_counted_as_they_stand_there(headers: str, tmp_path: Path) -> None:
    text = "torch::Tensor f(torch::Tensor x) {\n  return x.no_such();\n}\n"
    if headers == "own":
        text = f"#include <torch/extension.h>\n{text}"
    build = tmp_path / "build"
    with pytest.raises(CompileError) as raised:
        load_inline("counted", text, functions="f", build_directory=build, no_implicit_headers=headers == "own")
    assert str(raised.value).startswith(f"{build}/main.cpp:{2 + (headers == 'own')}:12: error: ")
    assert " |   return x.no_such();\n" in str(raised.value)


def test_what_pytorch_accepts_as_functions() -> None:
    from opwright.aten.jit import _bindings

    assert _bindings("f", wrapped=False) == _bindings(["f"], wrapped=False) == _bindings({"f": "f"}, wrapped=False)
    assert 'm.def("f", torch::wrap_pybind_function(f), "f");' in _bindings("f", wrapped=True)
    with pytest.raises(ValueError, match=r"functions=\[1\], expected names: \['f'\], or names with their doc"):
        load_inline("bad", "", functions=[1])  # type: ignore[list-item]


def test_bad_arguments() -> None:
    with pytest.raises(SourceError, match=r"name='a-b', expected a Python identifier(?s:.*)likely fix: name='a_b'"):
        load("a-b", ["x.cpp"])
    with pytest.raises(SourceError, match=r"load\('a'\) got no source file; expected at least one"):
        load("a", [])
    with pytest.raises(
        SourceError, match=r"nothing.cpp can't be read: No such file(?s:.*)likely fix: correct its name"
    ):
        load("a", ["nothing.cpp"])
    with pytest.raises(ValueError, match=r"is_python_module=True and is_standalone=True"):
        load("a", ["x.cpp"], is_standalone=True)
    with pytest.raises(TypeError, match=r"extra_cflags='-O2 -g', expected a list of words: .*\['-O2', '-g'\]"):
        load("a", ["x.cpp"], "-O2 -g")
    with pytest.raises(UnsupportedError, match="SYCL sources aren't supported"):
        load("a", ["x.sycl"])


@pytest.mark.slow
def test_opwright_load_knows_such_a_source(source: Callable[..., Path], tmp_path: Path) -> None:
    path = source(ADD, "added.cpp")
    made = opwright.load(path, extra_cflags=["-DFACTOR=5"])
    assert isinstance(made, ModuleType)
    assert made.__name__ == "added"
    assert int(made.add(torch.ones(1))) == 6
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text('#include <opwright.h>\nOPWRIGHT("f(x: f32) -> (y: f32)")\nfloat f(float x) { return x; }\n')
    with pytest.raises(SourceError, match=r"load each of them by itself"):
        opwright.load(path, kernel)


def test_a_program(tmp_path: Path) -> None:
    main = tmp_path / "main.cpp"
    main.write_text("#include <cstdio>\nint main() { std::puts(WORD); }\n")
    where = load("talking", [main], ["-DWORD='\"hello\"'"], is_python_module=False, is_standalone=True)
    assert subprocess.run([str(where)], capture_output=True, text=True, check=True).stdout == "hello\n"


@pytest.mark.exhaustive
def test_a_program_with_pytorch(tmp_path: Path) -> None:
    main = tmp_path / "frontend.cpp"
    main.write_text(
        "#include <torch/torch.h>\n#include <iostream>\n"
        "int main() { torch::nn::Linear layer(2, 3); std::cout << layer->weight.sizes() << WORD; }\n"
    )
    where = load("frontend", [main], ["-DWORD='\"!\"'"], is_python_module=False, is_standalone=True)
    assert subprocess.run([str(where)], capture_output=True, text=True, check=True).stdout == "[3, 2]!"


@pytest.mark.exhaustive
def test_what_registers_operators(tmp_path: Path) -> None:
    """By its own function, and by `opwright.load`, which sees what it is."""
    path = tmp_path / "registered.cpp"
    name = f"registered_{time.time_ns()}"
    path.write_text(
        "#include <torch/library.h>\n#include <ATen/ATen.h>\n"
        "at::Tensor twice(const at::Tensor &x) { return x * 2; }\n"
        f'TORCH_LIBRARY({name}, m) {{ m.def("twice(Tensor x) -> Tensor", &twice); }}\n'
    )
    registered: object = opwright.load(path)
    assert registered is torch.ops
    assert int(getattr(torch.ops, name).twice(torch.ones(1))) == 2
    # PyTorch would end the process here: `terminate called after throwing an instance of 'c10::Error'`.
    path.write_text(path.read_text().replace("x * 2", "x * 3"))
    for again in (lambda: opwright.load(path), lambda: load("other", [path], is_python_module=False)):
        with pytest.raises(ImportError, match=rf"registers the operators of {name} \(TORCH_LIBRARY\), which .*so has"):
            again()
    path.write_text(path.read_text().replace("x * 3", "x * 2"))
    as_before: object = opwright.load(path)
    assert as_before is torch.ops


KERNEL = """
#include <cuda_runtime.h>
__global__ void twice(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
int launch(float *x, int n) {
  twice<<<1, n>>>(x, n);
  return cudaGetLastError();
}
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(cpp_extension.CUDA_HOME is None, reason="no CUDA toolkit")
def test_a_kernel_beside_c_plus_plus(source: Callable[..., Path], tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(KERNEL)
    text = "int launch(float *, int);\nint run(torch::Tensor x) { return launch(x.data_ptr<float>(), 1); }\n"
    path = source(text + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }')
    made = load("mixed", [path, kernel])
    x = torch.ones(1)
    if torch.cuda.is_available():
        x = x.cuda()
        assert (made.run(x), float(x)) == (0, 2.0)  # type: ignore[union-attr]
    else:
        assert made.run(x) != 0  # type: ignore[union-attr]
    kernel.write_text(KERNEL.replace("x[threadIdx.x] *= 2", "y[0] = 1"))
    with pytest.raises(CompileError, match=rf'^{kernel}:3: error: identifier "y" is undefined'):
        load("mixed", [path, kernel])


_SCRIPT = """
import sys
from opwright.cpp_extension import load
print("ready", flush=True)
module = load("shared", [sys.argv[1]], ["-DFACTOR=1"], verbose=True)
print(module.__file__)
"""


@pytest.mark.exhaustive
def test_processes_that_build_the_same_at_once_build_it_once(
    source: Callable[..., Path], python: Callable[..., subprocess.Popen[str]]
) -> None:
    path = source(f"// {time.time_ns()}\n" + ADD)
    processes = [python(_SCRIPT, str(path)) for _ in range(3)]
    answers = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, answers
    assert len({out.splitlines()[-1] for out, _ in answers}) == 1
    assert sum("compiling op" in said for _, said in answers) == 1


@pytest.mark.exhaustive
def test_a_build_that_was_killed_is_in_nobodys_way(
    source: Callable[..., Path], python: Callable[..., subprocess.Popen[str]]
) -> None:
    path = source(f"// {time.time_ns()}\n" + ADD)
    process = python(_SCRIPT, str(path))
    assert process.stderr is not None
    assert "compiling" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert int(load("shared", [path], ["-DFACTOR=4"]).add(torch.ones(1))) == 5  # type: ignore[union-attr]
    again = python(_SCRIPT, str(path))
    assert again.communicate(timeout=300)[0].endswith(".so\n")


def test_neither_ninja_nor_anything_else_is_needed_but_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ctypes
    import shutil

    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("c++", "as", "ld"):
        (tools / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tools))
    path = tmp_path / "poor.cpp"
    path.write_text('extern "C" int answer() { return 41; }\n')
    assert ctypes.CDLL(str(load("poor", [path], is_python_module=False))).answer() == 41


def test_openmp(tmp_path: Path) -> None:
    """An object with -fopenmp isn't linked to the static libgomp, which no shared library can contain."""
    path = tmp_path / "openmp_sum.cpp"
    path.write_text(
        """#include <omp.h>
extern "C" long sum_below(long n) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i) sum += omp_get_thread_num() >= 0 ? i : 0;
  return sum;
}
"""
    )
    library = load("openmp_sum", [path], extra_cflags=["-fopenmp"], is_python_module=False)
    assert ctypes.CDLL(str(library)).sum_below(10) == 45
