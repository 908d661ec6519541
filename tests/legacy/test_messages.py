"""What create_extension and its build say when something is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import pytest

import opwright
from opwright.legacy import create_extension


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/my.h").write_text("int twice(int n);\n")
    (tmp_path / "src/my.c").write_text("int twice(int n) { return 2 * n; }\n")
    return tmp_path


def create(folder: Path, name: Any = "_ext.my", headers: Any = "src/my.h", sources: Any = "src/my.c", **kw: Any) -> Any:
    return create_extension(name, headers, sources, verbose=False, relative_to=f"{folder}/", **kw)


@pytest.mark.parametrize(
    ("words", "error", "text"),
    [
        (
            {"name": "my-lib"},
            opwright.ArgumentError,
            (
                "create_extension(): name is 'my-lib', expected a dotted name such as '_ext.my_lib'\n"
                "  likely fix: letters, digits and underscores between the dots; folders become packages of these names"
            ),
        ),
        ({"name": None}, opwright.ArgumentError, "create_extension(): name is None, expected a dotted name such as"),
        ({"name": "a..b"}, opwright.ArgumentError, "create_extension(): name is 'a..b', expected a dotted name such"),
        (
            {"headers": 3},
            opwright.ArgumentError,
            "create_extension('_ext.my'): headers is 3, expected a path or a list of them",
        ),
        (
            {"sources": ["src/my.c", None]},
            opwright.ArgumentError,
            "create_extension('_ext.my'): sources is ['src/my.c', None], expected a path or a list of them",
        ),
        (
            {"libraries": 3},
            opwright.ArgumentError,
            "create_extension('_ext.my'): libraries is 3, expected a list",
        ),
        (
            {"headers": "src/my_.h"},
            opwright.SourceError,
            (
                "create_extension('_ext.my'): there is no header {folder}/src/my_.h\n"
                "  likely fix: {folder}/src/my.h is there: is that the one?"
            ),
        ),
        (
            {"sources": "other/my.c"},
            opwright.SourceError,
            (
                "create_extension('_ext.my'): there is no source {folder}/other/my.c\n"
                "  likely fix: there is no folder {folder}/other, either; relative paths start from "
                "relative_to's folder, {folder}"
            ),
        ),
        (
            {"sources": "quite_another.cpp"},
            opwright.SourceError,
            (
                "create_extension('_ext.my'): there is no source {folder}/quite_another.cpp\n"
                "  likely fix: correct sources=; relative paths start from relative_to's folder, {folder}"
            ),
        ),
        (
            {"sources": ["src/my.c", "src/k.o"]},
            opwright.SourceError,
            (
                "create_extension('_ext.my'): {folder}/src/k.o is no source\n"
                "  likely fix: objects and libraries go into extra_objects"
            ),
        ),
        (
            {"sources": "src/my.cu"},
            opwright.SourceError,
            (
                "create_extension('_ext.my'): {folder}/src/my.cu is a CUDA source, which a C compiler can't read\n"
                "  likely fix: compile it with nvcc -c -Xcompiler -fPIC, and put its object into extra_objects"
            ),
        ),
    ],
)
def test_arguments(folder: Path, words: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        create(folder, **words)
    assert str(raised.value).startswith(text.format(folder=folder))


def test_an_argument_that_setuptools_does_not_know(folder: Path) -> None:
    expected = (
        "create_extension('_ext.my'): include_dir is no argument of a setuptools Extension, and is left out; "
        "include_dirs is one"
    )
    with pytest.warns(UserWarning, match="include_dir ") as caught:
        create(folder, include_dir=["src"])
    assert str(caught[0].message) == expected
    line = create.__code__.co_firstlineno + 1  # that of the call itself
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_something_that_nothing_defines(folder: Path) -> None:
    (folder / "src/my.c").write_text("int helper(int n);\nint twice(int n) { return helper(n); }\n")
    with pytest.raises(opwright.SourceError) as raised:
        create(folder).build()
    assert str(raised.value) == (
        f"create_extension('_ext.my'): nothing defines helper\n"
        f"  {folder}/src/my.c mentions helper\n"
        f"  likely fix: name the file that defines it in sources=, its object in extra_objects=, "
        f"or its library in libraries="
    )


def test_the_users_line_comes_first(folder: Path) -> None:
    (folder / "src/my.c").write_text("int twice(int n) {\n  return 2 * m;\n}\n")
    with pytest.raises(opwright.CompileError) as raised:
        create(folder).build()
    assert str(raised.value).startswith(f"{folder}/src/my.c:2:14: error: 'm' undeclared")


def test_a_folder_of_the_package_that_cannot_be_made(folder: Path) -> None:
    (folder / "_ext").write_text("")
    with pytest.raises(opwright.ToolchainError) as raised:
        create(folder)
    assert str(raised.value) == (
        f"create_extension('_ext.my'): {folder}/_ext/__init__.py can't be written: File exists\n"
        f"  likely fix: let yourself write to {folder}, or build a copy of the project elsewhere"
    )


def test_what_a_build_without_its_objects_says(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "src/my.c").write_text("int helper(int n);\nint twice(int n) { return helper(n); }\n")
    create_extension("_ext.my", "src/my.h", "src/my.c", relative_to=f"{folder}/", extra_objects=["src/k.cu.o"]).build()
    why = "which did not exist when the extension was built; until that is mended, these raise: helper"
    assert f"opwright: _ext.my: without src/k.cu.o, {why}\n" in capfd.readouterr().err


def test_no_python_headers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sysconfig

    empty = str(folder)
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": empty, "platinclude": empty})
    with pytest.raises(opwright.CompileError) as raised:
        create(folder).build()
    assert str(raised.value).endswith(
        "\n  likely fix: apt install python3-dev (Debian, Ubuntu), dnf install python3-devel (Fedora, RHEL)"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int one(void);\n#include <a.h>\n", 'cannot parse "#include <a.h>"\n{path}:2:1: Directives not supported yet'),
        ("int one(void);\nint f(THFoo *x);\n", 'cannot parse "int f(THFoo *x);"\n{path}:2:13: before: *'),
        ("int f(int\n", "parse error\n{path}: At end of input"),
        ("static int f(int x) {{ return x; }}", "{path}:1: unexpected <FuncDef>: this construct is valid C but not "),
        ("#define SHIFTED (1 << 3)\n", "{path}: only supports one of the following syntax:"),
    ],
)  # fmt: skip
def test_a_header_that_cffi_cannot_parse(folder: Path, text: str, told: str) -> None:
    """The file that it is and the line in that file, and not in all that cffi got."""
    path = folder / "src/other.h"
    path.write_text(text.replace("{{", "{").replace("}}", "}"))
    with pytest.raises(cffi.CDefError) as caught:
        create(folder, headers=["src/my.h", "src/other.h"])
    message = str(caught.value)
    assert message.startswith(f"create_extension('_ext.my'): {told.format(path=path)}")
    assert message.endswith(
        "\n  expected:   prototypes, `#define NAME number`, enums, typedefs and structs: no preprocessor reads it\n"
        "  likely fix: move #include, #ifdef and function bodies to a source, and declare other types as void *"
    )
