"""What may stand in [tool.opwright.libraries], and what is said of what may not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import opwright
from opwright.packaging.config import from_pyproject, read_libraries
from opwright.signature import DType

NAME = "my_package.ops"


def read(**table: Any) -> Any:
    (library,) = read_libraries({NAME: {"sources": ["a.cpp"], **table}}, "here")
    return library


def test_the_least() -> None:
    library = read()
    assert (library.name, library.package, library.sources) == (NAME, "my_package", ("a.cpp",))
    assert library.variants == ("avx2", "avx512")
    assert library.dtypes is None


def test_every_key_in_both_spellings() -> None:
    library = read(
        **{"include-dirs": ["include"], "extra_cflags": ["-O2"], "dtypes": ["float32", "bf16"], "variants": False},
        backend="nvrtc",
        ops={"f": "f(x: f32[N]) -> (y: f32[N])"},
        rebuild=True,
    )
    assert library.include_dirs == ("include",)
    assert library.extra_cflags == ("-O2",)
    assert library.dtypes == (DType.F32, DType.BF16)
    assert library.variants == ()
    assert library.rebuild
    assert read(variants=True).variants == ("avx2", "avx512")


def test_a_table_is_read_back() -> None:
    library = read(dtypes=["f32"], backend="none", ops=["f(x: f32[N]) -> (y: f32[N])"], variants=["avx2"])
    assert read_libraries({NAME: library.table()}, "again") == [library]


WRONG: list[tuple[object, str]] = [
    (
        ["a.cpp"],
        "here is ['a.cpp'], expected a table of libraries by their names\n  likely fix: \"my_package.ops\" = {",
    ),
    ({"my-package.ops": {"sources": ["a"]}}, "'my-package.ops' can't be imported, expected a dotted name of a module"),
    ({NAME: ["a.cpp"]}, "here.'my_package.ops' is ['a.cpp'], expected a table\n"),
    ({NAME: {}}, "here.'my_package.ops' has no sources, expected files with kernels\n  likely fix: sources = ["),
    ({NAME: {"sources": "a.cpp"}}, "sources is 'a.cpp', expected a list of texts\n  likely fix: sources = [\"a.cpp\"]"),
    ({NAME: {"sources": [1]}}, "sources is [1], expected a list of texts"),
    ({NAME: {"source": ["a"]}}, "has the unknown key 'source', expected one of: sources, headers, include-dirs, "),
    ({NAME: {"source": ["a"]}}, "\n  likely fix: sources"),
    ({NAME: {"sources": ["a"], "dtypes": ["float"]}}, "dtypes is 'float', expected one of uint8, int8, "),
    ({NAME: {"sources": ["a"], "backend": "hip"}}, "backend is 'hip', expected one of nvcc, nvrtc, none\n"),
    ({NAME: {"sources": ["a"], "variants": ["sse"]}}, "variants is 'sse', expected some of avx2, avx512, or false\n"),
    ({NAME: {"sources": ["a"], "rebuild": 1}}, "rebuild is 1, expected true or false\n  likely fix: rebuild = true"),
    ({NAME: {"sources": ["a"], "ops": [1]}}, "ops is [1], expected signatures: a list, or a table of them by function"),
    (
        {"a.b_c": {"sources": ["a"]}, "a_b.c": {"sources": ["a"]}},
        "here: a.b_c and a_b.c would both be torch.ops.a_b_c\n  likely fix: rename one of them",
    ),
]


IN_PYTHON: list[tuple[object, str]] = [
    (["a.cpp"], '{"my_package.ops": {"sources": ["csrc/*.cpp"]}}'),
    ({"my-package.ops": {"sources": ["a"]}}, '{"my_package.ops": {"sources": ["csrc/*.cpp"]}}'),
    ({"mine": ["a.cpp"]}, '{"mine": {"sources": ["csrc/*.cpp"]}}'),
    ({"my_package": {"ops": {"sources": ["a"]}}}, '{"my_package.ops": {"sources": ["csrc/*.cpp"]}}'),
    ({NAME: {}}, '"sources": ["csrc/*.cpp"]'),
    ({NAME: {"sources": "a.cpp"}}, '"sources": ["a.cpp"]'),
    ({NAME: {"sources": ["a"], "dtypes": ["float"]}}, '"dtypes": ["float32"]'),
    ({NAME: {"sources": ["a"], "backend": "hip"}}, '"backend": "nvcc"'),
    ({NAME: {"sources": ["a"], "variants": ["sse"]}}, '"variants": ["avx2"]'),
    ({NAME: {"sources": ["a"], "rebuild": 1}}, '"rebuild": True'),
    ({NAME: {"sources": ["a"], "ops": [1]}}, '"ops": ["f(x: f32[N]) -> (y: f32[N])"]'),
]


@pytest.mark.parametrize(("found", "fix"), IN_PYTHON, ids=range(len(IN_PYTHON)))
def test_a_setup_py_is_told_in_python(found: object, fix: str) -> None:
    with pytest.raises(opwright.PackagingError) as caught:
        read_libraries(found, "setup(opwright_libraries=...)")
    assert str(caught.value).endswith(f"\n  likely fix: {fix}")


@pytest.mark.parametrize(
    ("lines", "meant"),
    [
        ('my_package.ops = { sources = ["a.cpp"] }', "my_package.ops"),
        ('my_package.ops = { sources = "a.cpp" }', "my_package.ops"),
        ('my_package.ops = { source = ["a.cpp"] }', "my_package.ops"),
        ('my_package.more.ops = { sources = ["a.cpp"] }', "my_package.more.ops"),
        ('[tool.opwright.libraries.my_package.fast]\nsources = ["a.cpp"]', "my_package.fast"),
    ],
)
def test_a_name_without_quotes(lines: str, meant: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.opwright.libraries]\n{lines}\n")
    with pytest.raises(opwright.PackagingError) as caught:
        from_pyproject(tmp_path)
    assert str(caught.value) == (
        "pyproject.toml: tool.opwright.libraries.'my_package' has tables in it, expected the files and options of one "
        f"library: outside of quotes, TOML takes a dot in a name for a table in a table\n  likely fix: quote the whole "
        f'name, "{meant}"'
    )


def test_signatures_by_function_are_no_forgotten_quotes(tmp_path: Path) -> None:
    ops = {"f": "f(x: f32[N]) -> (y: f32[N])"}
    assert read(ops=ops).ops == ops
    with pytest.raises(opwright.PackagingError, match="'mine' has no sources"):
        read_libraries({"mine": {"ops": ops}}, "here")


@pytest.mark.parametrize(("found", "text"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said(found: object, text: str) -> None:
    with pytest.raises(opwright.PackagingError, match=re.escape(text)):
        read_libraries(found, "here")


def test_pyproject(tmp_path: Path) -> None:
    assert from_pyproject(tmp_path) == []
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "p"\n')
    assert from_pyproject(tmp_path) == []
    file.write_text(f'[tool.opwright.libraries]\n"{NAME}" = {{ sources = ["a.cpp"] }}\n')
    assert from_pyproject(tmp_path) == [read()]
    file.write_text("[tool.opwright]\nlibrarys = {}\n")
    with pytest.raises(
        opwright.PackagingError, match=r"\[tool.opwright\] has the unknown key 'librarys', expected lib"
    ):
        from_pyproject(tmp_path)
    file.write_text("[tool.opwright\n")
    with pytest.raises(opwright.PackagingError, match=r"pyproject.toml: can't be read: "):
        from_pyproject(tmp_path)
