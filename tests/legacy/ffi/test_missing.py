"""Objects that are missing, and such as can't be linked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import opwright
from tests.legacy.ffi.project import CC, FatalError, Project

MISSING_SOURCE = (
    "#include <TH/TH.h>\nint launch(float *x);\nvoid on_stream(int n);\n"
    "int counted(THFloatTensor *x) { return (int)THFloatTensor_nElement(x); }\n"
    "int on_gpu(THFloatTensor *x) { return launch(THFloatTensor_data(x)); }\n"
    "void other(void) { on_stream(1); }\n"
)


@pytest.fixture
def without_objects(project: Project) -> Project:
    project.write("src/my.h", "int counted(THFloatTensor *x);\nint on_gpu(THFloatTensor *x);\nvoid other(void);")
    project.write("src/my.c", MISSING_SOURCE)
    project.write("src/kernel.cu", '#include <stdio.h>\nextern "C" int launch(float *x) { return 1; }\n')
    project.write("src/second.cu", 'extern "C" void on_stream(int n) {}\n')
    return project


@pytest.mark.slow
def test_functions_of_missing_objects_say_so(without_objects: Project) -> None:
    project = without_objects
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    my = project.load()
    assert my.counted(torch.zeros(3)) == 3
    for call, name, stem, result in (
        (lambda: my.on_gpu(torch.zeros(3)), "launch", "kernel", "kernel.cu.o"),
        (my.other, "on_stream", "second", "second.o"),
    ):
        with pytest.raises(FatalError) as raised:
            call()
        text = str(raised.value)
        assert text.startswith(f"{name}() isn't in _ext.my: it was to come from {project.folder}/src/{result}, which")
        assert f"`opwright run nvcc -c {project.folder}/src/{stem}.cu -o {project.folder}/src/{result} " in text


@pytest.mark.slow
def test_an_object_that_comes_later_is_linked(without_objects: Project) -> None:
    project = without_objects
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    project.write("kernel.c", "int launch(float *x) { return 17; }")
    subprocess.run([CC, "-c", "-fPIC", "kernel.c", "-o", "src/kernel.cu.o"], cwd=project.folder, check=True)
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"]).build()
    my = project.load()
    assert my.on_gpu(torch.zeros(3)) == 17
    with pytest.raises(FatalError, match=r"on_stream\(\) isn't in _ext.my"):
        my.other()


@pytest.mark.slow
def test_all_of_it_in_missing_objects(project: Project) -> None:
    """39 of 160 extensions had no sources: all was in what nvcc made."""
    project.create(sources=[], extra_objects=["/nowhere/kernels.cu.o"]).build()
    with pytest.raises(FatalError, match=r"counted\(\) isn't in _ext.my: it was to come from /nowhere/kernels"):
        project.load().counted(torch.zeros(1))


@pytest.mark.slow
def test_cpp_names_are_shown_as_written(project: Project) -> None:
    project.write(
        "src/my.cpp",
        '#include <TH/TH.h>\nvoid go(int, float *);\nextern "C" int counted(THFloatTensor *x) { go(1, 0); return 1; }',
    )
    project.create(sources=["src/my.cpp"], extra_objects=["gone.o"]).build()
    with pytest.raises(FatalError, match=r"go\(int, float\*\)\(?\)? isn't in"):
        project.load().counted(torch.zeros(1))


@pytest.mark.slow
def test_setuptools_links_the_same_stand_ins(without_objects: Project) -> None:
    project = without_objects
    project.write(
        "build.py",
        "from opwright.legacy import create_extension\n"
        "ffi = create_extension('mine.ext', 'src/my.h', ['src/my.c'], package=True, relative_to=__file__,"
        " extra_objects=['src/kernel.cu.o', 'src/second.o'])\n",
    )
    setup = (
        "from setuptools import setup\nsetup(name='x', packages=[], ext_package='', cffi_modules=['build.py:ffi'])\n"
    )
    project.write("setup.py", setup)
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=project.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.folder / "mine/ext/_ext.abi3.so").exists()
    my = project.load("mine.ext")
    assert my.counted(torch.zeros(3)) == 3
    with pytest.raises(FatalError, match=r"launch\(\) isn't in mine.ext: it was to come from \S+kernel.cu.o"):
        my.on_gpu(torch.zeros(1))


def compile_object(project: Project, text: str) -> None:
    project.write("kernel.c", text)
    command = [CC, "-c", "-fPIC", "kernel.c", "-o", "src/kernel.cu.o"]
    subprocess.run(command, cwd=project.folder, check=True)


CUDA_OBJECT = (
    "void __cudaRegisterFatBinary(void *); static void enter(void) __attribute__((constructor));\n"
    "static void enter(void) { __cudaRegisterFatBinary(0); }\nint launch(float *x) { return 17; }\n"
)
OLD_OBJECT = CUDA_OBJECT.replace("return 17", "void cudaLaunch(void); cudaLaunch(); return 17")


@pytest.mark.parametrize("text", [CUDA_OBJECT, OLD_OBJECT, None])
def test_an_object_that_nothing_needs_is_left_out(project: Project, text: str | None) -> None:
    """Committed objects of another machine, and CUDA's where the extension is built without CUDA."""
    if text is None:
        project.write("src/kernel.cu.o", b"\xcf\xfa\xed\xfe an object of macOS")
    else:
        compile_object(project, text)
    project.create(extra_objects=["src/kernel.cu.o"]).build()
    assert project.load().counted(torch.zeros(3)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "with_cuda", "why", "remedy"),
    [
        (OLD_OBJECT, False, "made by an older nvcc: it calls cudaLaunch(), which CUDA", "`opwright run nvcc -c "),
        (CUDA_OBJECT, False, "calls __cudaRegisterFatBinary() of CUDA, and nothing that is linked", "pass with_cuda=T"),
        (CUDA_OBJECT, True, "calls __cudaRegisterFatBinary() of CUDA, and nothing that is linked", "install the CUDA "),
    ],
)
def test_its_functions_say_why_it_was_left_out(
    without_objects: Project, text: str, with_cuda: bool, why: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opwright.toolchain.compilers.nvcc.cuda_home", lambda: None if with_cuda else "/a/toolkit")
    project = without_objects
    compile_object(project, text)
    project.create(extra_objects=["src/kernel.cu.o", "src/second.o"], with_cuda=with_cuda).build()
    my = project.load()
    assert my.counted(torch.zeros(3)) == 3
    for call, begin, expected in (
        (lambda: my.on_gpu(torch.zeros(3)), "launch() isn't in _ext.my: it was to come from ", (why, remedy)),
        (my.other, "on_stream() isn't in _ext.my: it was to come from ", ("second.o, which did not exist when",)),
    ):
        with pytest.raises(FatalError) as raised:
            call()
        assert str(raised.value).startswith(begin)
        assert all(part in str(raised.value) for part in expected)


def test_what_no_object_defines_is_still_an_error(without_objects: Project) -> None:
    compile_object(without_objects, "void helper(void); int launch(float *x) { helper(); return 1; }")
    with pytest.raises(opwright.SourceError, match="nothing defines helper, on_stream\n"):
        without_objects.create(extra_objects=["src/kernel.cu.o"]).build()


def test_committed_generated_files_still_import(project: Project) -> None:
    """43 repositories have such a file under version control, and some build with another tool."""
    project.create().build()
    text = (
        "from torch.utils.ffi import _wrap_function\nfrom ._my import lib as _lib, ffi as _ffi\n"
        "counted = _wrap_function(_lib.counted, _ffi)\n"
    )
    project.write("_ext/my/__init__.py", text)
    opwright.legacy.install()
    try:
        assert project.load().counted(torch.zeros(2)) == 2
    finally:
        opwright.legacy.uninstall()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7fELF ... init_my\0Py_InitModule4_64\0", "for Python 2"),
        (b"\xcf\xfa\xed\xfe ...", "no extension module of this system"),
    ],
)
def test_a_committed_module_of_python_2(project: Project, data: bytes, what: str) -> None:
    project.create()
    project.write("_ext/__init__.py", "")
    project.write("_ext/my/_my.so", data)
    package = "from torch.utils.ffi import _wrap_function\nfrom ._my import lib as _lib, ffi as _ffi\n"
    project.write("_ext/my/__init__.py", package)
    opwright.legacy.install()
    try:
        with pytest.raises(ImportError) as raised:
            project.load()
    finally:
        opwright.legacy.uninstall()
    assert str(raised.value) == (
        f"{project.folder}/_ext/my/_my.so is {what}: it was built elsewhere, and came with the repository\n"
        "  likely fix: run the build script again: opwright run build.py"
    )


def test_pycache_is_not_needed(project: Project, tmp_path: Path) -> None:
    """Moved after it was built: nothing in it knows where it was."""
    project.create().build()
    moved = Project(tmp_path / "moved")
    shutil.move(project.folder / "_ext", moved.folder / "_ext")
    assert moved.load().counted(torch.zeros(2)) == 2
