"""create_extension: what is there as soon as it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cffi
import pytest
import torch

from opwright.legacy import create_extension
from tests.legacy.ffi.project import HEADER, Project


def test_it_is_a_genuine_ffi_with_a_build(project: Project) -> None:
    ffi = project.create()
    assert type(ffi) is cffi.FFI
    assert ffi.typeof("struct THCudaTensor *") is ffi.typeof("THCudaTensor *")
    assert callable(ffi.build)
    assert not list(project.folder.rglob("*.so"))


@pytest.mark.slow
def test_every_struct_is_declared(project: Project) -> None:
    ffi = project.create()
    names = {
        f"{prefix}{'' if prefix == 'THCuda' and element == 'Float' else element}{kind}"
        for prefix in ("TH", "THCuda")
        for element in ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
        for kind in ("Tensor", "Storage")
    }
    assert len(names) == 28
    assert all(ffi.typeof(f"struct {name} *") is ffi.typeof(f"{name} *") for name in names)
    with pytest.raises(cffi.CDefError):
        ffi.typeof("THCudaFloatTensor")


def test_packages_are_made_on_every_level(project: Project) -> None:
    kept = project.write("a/__init__.py", "kept = 1\n")
    leaf = project.write("a/b/c/__init__.py", "overwritten = 1\n")
    project.create("a.b.c")
    assert kept.read_text() == "kept = 1\n"
    assert (project.folder / "a/b/__init__.py").read_text() == ""
    text = leaf.read_text()
    assert "from torch.utils.ffi import _wrap_function" in text
    assert "from ._c import lib as _lib, ffi as _ffi" in text


@pytest.mark.parametrize("shape", ["file", "folder", "path", "working"])
def test_relative_to(project: Project, shape: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shape == "working":
        monkeypatch.chdir(project.folder)
        create_extension("_ext.my", ["src/my.h"], ["src/my.c"], False)
    else:
        given: dict[str, Any] = {
            "file": str(project.folder / "x.py"),
            "folder": f"{project.folder}/",
            "path": project.folder / "x.py",
        }
        create_extension("_ext.my", ["src/my.h"], ["src/my.c"], relative_to=given[shape])
    assert (project.folder / "_ext/my/__init__.py").exists()


def test_absolute_paths_pass(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ffi = project.create(
        headers=[str(project.folder / "src/my.h")],
        sources=[project.folder / "src/my.c"],
        relative_to=f"{elsewhere}/",
    )
    assert ffi.build() == str(elsewhere / "_ext/my/_my.so")


@pytest.mark.parametrize("text", ["#include <stdint.h>\n", "#ifdef X\nint f(void);\n#endif\n", "int f(THFoo *x);\n"])
def test_a_header_that_cffi_cannot_parse(project: Project, text: str) -> None:
    project.write("src/my.h", text)
    with pytest.raises(cffi.CDefError):
        project.create()


def test_the_words_that_setuptools_gets(project: Project) -> None:
    ffi = project.create(
        "mine.ext",
        package=True,
        define_macros=[("WITH_CUDA", None)],
        include_dirs=["include"],
        libraries=["m"],
        extra_compile_args=["-std=c99", "-O1"],
        extra_link_args=["-s"],
    )
    module, source, suffix, words = ffi._assigned_source
    assert module == "mine.ext._ext"
    assert source.startswith("#include <TH/TH.h>\n")
    assert HEADER in source
    assert suffix == ".c"
    assert words["sources"] == [str(project.folder / "src/my.c")]
    assert words["define_macros"] == [("WITH_CUDA", None)]
    assert words["include_dirs"][-1] == str(project.folder / "include")
    assert os.path.isfile(os.path.join(words["include_dirs"][0], "TH/TH.h"))
    assert words["libraries"] == ["m"]
    assert "-fexceptions" in words["extra_compile_args"]
    assert "-std=gnu99" not in words["extra_compile_args"]
    assert words["extra_link_args"][-1] == "-s"


def test_distutils_extension(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    extension = project.create("mine.ext", package=True).distutils_extension(verbose=False)
    assert extension.name == "mine.ext._ext"
    assert extension.sources == ["build/mine/ext/_ext.c", str(project.folder / "src/my.c")]


def test_a_header_from_another_system(project: Project) -> None:
    project.write(
        "src/my.h", b"\xef\xbb\xbf// \xb1\xea\xca\xb6 in GBK\r\n#define X 32\r\nint counted(THFloatTensor *x);\r\n"
    )
    project.create().build()
    assert project.load().counted(torch.zeros(3)) == 3
