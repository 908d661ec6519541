"""`CppExtension`, `CUDAExtension`, `BuildExtension`: a setup.py that imports no PyTorch, in each way it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from opwright import UnsupportedError
from opwright.cpp_extension import BuildExtension, CppExtension, CUDAExtension

# PyTorch's headers take their time; what setuptools does is the same without them.
QUICK = """
#include <Python.h>
#include "size.h"
static const char *text = TEXT;
static PyObject *size(PyObject *, PyObject *) { return Py_BuildValue("is", SIZE, text); }
static PyMethodDef methods[] = {{"size", size, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, methods};
#define INITIALIZE_(name) PyInit_##name
#define INITIALIZE(name) INITIALIZE_(name)
PyMODINIT_FUNC INITIALIZE(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""
SOURCE = """
#include <torch/extension.h>
#include "size.h"
torch::Tensor ones(int64_t n) { return torch::ones({n, SIZE}); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("ones", &ones); }
"""
SETUP = """
from setuptools import Extension, setup
from opwright.cpp_extension import BuildExtension, CppExtension
setup(
    name="sized", version="1", packages=["sized"],
    ext_modules=[
        CppExtension("sized._C", ["src/sized.cpp"], include_dirs=["include"], define_macros=[("TEXT", '"a b"')],
                     extra_compile_args={"cxx": ["-Wall"], "nvcc": ["-O2"]}),
        Extension("sized.plain", ["src/plain.c"]),
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
"""
PLAIN = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "plain", 0, -1, 0};
PyMODINIT_FUNC PyInit_plain(void) { return PyModule_Create(&definition); }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in {
        "setup.py": SETUP,
        "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
        "src/sized.cpp": QUICK,
        "src/plain.c": PLAIN,
        "include/size.h": "#define SIZE 3\n",
        "sized/__init__.py": "",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def run(project: Path, *words: str, **environment: str) -> str:
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    done = subprocess.run([sys.executable, *words], cwd=project, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Nobody imports PyTorch first.
QUICK_USE = "from sized import _C, plain; import sys; print(_C.size(), 'torch' in sys.modules)"
USE = "from sized import _C, plain; print(list(_C.ones(2).shape))"


@pytest.mark.slow
def test_in_place_and_after_an_edit_of_a_header(project: Path) -> None:
    run(project, "setup.py", "build_ext", "--inplace")
    assert run(project, "-c", QUICK_USE) == "(3, 'a b') True\n"
    (project / "include" / "size.h").write_text("#define SIZE 4\n")
    run(project, "setup.py", "build_ext", "--inplace")
    assert run(project, "-c", QUICK_USE) == "(4, 'a b') True\n"


@pytest.mark.slow
def test_an_extension_for_every_python(project: Path) -> None:
    (project / "setup.py").write_text(SETUP.replace("extra_compile_args", "py_limited_api=True, extra_compile_args"))
    run(project, "setup.py", "build_ext", "--inplace")
    assert [path.name for path in (project / "sized").glob("_C*")] == ["_C.abi3.so"]
    assert run(project, "-c", QUICK_USE) == "(3, 'a b') True\n"
    library = project / "sized" / "_C.abi3.so"
    needed = subprocess.check_output(["nm", "-D", "--undefined-only", str(library)], text=True)  # noqa: S607
    assert "PyImport_ImportModule" in needed
    assert "PyGILState_Check" not in needed, "it is no part of what stays from one Python to the next"


def failing(project: Path, *words: str) -> str:
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, *words], cwd=project, env=given, capture_output=True, text=True, check=False)
    assert done.returncode
    return done.stdout + done.stderr


def test_a_mistake_is_shown_once_with_its_line(project: Path) -> None:
    (project / "src" / "sized.cpp").write_text(QUICK.replace("SIZE,", "SIZ,"))
    said = failing(project, "setup.py", "build_ext", "--inplace")
    assert said.count(f"{project}/src/sized.cpp:5:") == 1
    assert f"\nerror: {project}/src/sized.cpp:5:" in f"\n{said}"
    assert "Traceback" not in said


def test_what_the_tools_lack_is_shown_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    said = failing(project, "setup.py", "build_ext", "--inplace")
    assert said.count("CXX=/nowhere/g++: there is no program") == 1
    assert "Traceback" not in said


def test_an_optional_extension_may_fail(project: Path) -> None:
    (project / "setup.py").write_text(SETUP.replace('include_dirs=["include"],', "optional=True,"))
    said = run(project, "setup.py", "build_ext", "--inplace")
    assert "size.h" in said
    assert run(project, "-c", "import sized.plain") == ""


@pytest.mark.exhaustive
def test_pip(project: Path, tmp_path: Path) -> None:
    (project / "src" / "sized.cpp").write_text(SOURCE)
    site = tmp_path / "site"
    words = ["install", "--no-build-isolation", "--no-deps", "--no-index", "--target", str(site), "."]
    run(project, "-m", "pip", *words, OPWRIGHT_PRECOMPILE="off")
    assert run(site, "-c", USE) == "[2, 3]\n"
    # What `pip install -e .` asks of the project; the package is then found where it is.
    code = f"import setuptools.build_meta as backend; backend.build_editable({str(tmp_path)!r})"
    run(project, "-c", code, OPWRIGHT_PRECOMPILE="off")
    assert run(project, "-c", USE) == "[2, 3]\n"


def extension(**options: Any) -> Any:
    return CppExtension("a.b", ["x.cpp"], **options)


def test_an_extension_has_what_pytorch_gives_it() -> None:
    from torch.utils import cpp_extension as theirs

    ours, reference = extension(include_dirs=["/i"]), theirs.CppExtension("a.b", ["x.cpp"], include_dirs=["/i"])
    assert ours.include_dirs == reference.include_dirs
    assert ours.library_dirs == reference.library_dirs
    assert sorted(ours.libraries) == sorted(reference.libraries)
    assert (ours.language, ours.name, ours.sources) == ("c++", "a.b", ["x.cpp"])
    given = ["/i"]
    extension(include_dirs=given)
    assert given == ["/i"]
    assert "torch_python" not in extension(py_limited_api=True).libraries


def test_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    made = CUDAExtension("a", ["x.cpp", "y.cu"])
    assert str(tmp_path / "include") in made.include_dirs
    assert made.libraries[-1] == "cudart"
    assert ("torch_cuda" in made.libraries) == (torch.version.cuda is not None)
    with pytest.raises(UnsupportedError, match="linking device code across objects"):
        CUDAExtension("a", ["y.cu"], dlink=True)


def test_options() -> None:
    from setuptools import Distribution

    command = BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=True)(Distribution())
    assert command.get_ext_filename("a.b") == os.path.join("a", "b.so")
    assert BuildExtension(Distribution()).get_ext_filename("b").startswith("b.c")
    assert issubclass(BuildExtension.with_options(), BuildExtension)
