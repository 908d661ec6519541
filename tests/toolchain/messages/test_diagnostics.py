"""A compiler's error begins at the user's line, whoever's code it was found in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.messages.diagnostics import split, user_place
from opwright.toolchain.messages.explanation import describe
from opwright.toolchain.messages.failures import EXCERPT_LINES

Compile = Callable[..., Built]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A header folder that stands for ours: not the user's to change."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "ours.h").write_text(
        "template <class T> struct View { T *p; template <class I> T &at(I i) { return p[i.value]; } };\n"
        "#define OURS(x) int from_macro = x.missing\n"
        "#ifdef NEEDS\n#include <no_such_file.h>\n#endif\n"
    )
    return folder


def error_of(source: Path, package: Path, after: str = "", **options: object) -> str:
    unit = Unit(source.stem, f"{include_line(source)}\n{after}\n", source)
    with pytest.raises(CompileError) as error:
        build(unit, Options(system_include_dirs=(package,), **options))  # type: ignore[arg-type]
    return str(error.value)


def test_an_error_in_the_users_file(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("int a = 1;\n\n  int b = unknown_name;\nint c = another;\n")
    lines = error_of(source, package).splitlines()
    assert re.fullmatch(rf"{re.escape(str(source))}:3:11: error: .*unknown_name.*", lines[0])
    assert any(re.search(r"\bint b = unknown_name;", line) for line in lines[1:4])
    assert "(1 more error)" in lines
    log = Path(lines[-1].removeprefix("full log: ")).read_text()
    assert "another" in log
    assert log.splitlines()[-1].startswith(f"command: {any_compiler} -std=c++17")
    assert ".work-" not in log.splitlines()[-1]


def test_an_error_in_a_template_of_ours_names_the_users_line(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("#include <ours.h>\ntemplate <class T>\nvoid op(View<T> v) {\n  v.at(3) = 1;\n}\n")
    lines = error_of(source, package, "template void op<float>(View<float>);").splitlines()
    assert re.match(rf"{re.escape(str(source))}:4:\d+: error: ", lines[0])
    assert any("ours.h:1:" in line for line in lines[1:])


def test_an_error_in_a_macro_of_ours_names_the_users_line(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("#include <ours.h>\n\nstruct {} s;\nOURS(s);\n")
    assert error_of(source, package).startswith(f"{source}:4:1: error: ")


def test_an_error_in_an_included_file_of_ours_names_the_include(
    any_compiler: str, project: Path, package: Path
) -> None:
    source = project / "op.cpp"
    source.write_text("// first\n#define NEEDS\n#include <ours.h>\n")
    first = error_of(source, package).splitlines()[0]
    assert re.match(rf"{re.escape(str(source))}:3(:\d+)?: error: .*no_such_file\.h", first)


def test_the_users_header_is_the_users(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text('#include "mine.h"\n')
    (project / "mine.h").write_text("\nint x = ;\n")
    assert error_of(source, package).startswith(f"{project}/mine.h:2:9: error: expected")


def test_an_error_of_the_standard_library_names_the_users_line(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("#include <algorithm>\nstruct S {};\nvoid f(S *a, S *b) {\n  std::sort(a, b);\n}\n")
    text = error_of(source, package)
    assert text.startswith(f"{source}:4:")
    excerpt = text.split("\nfull log: ")[0].splitlines()
    assert len(excerpt) <= EXCERPT_LINES + 2


def test_an_error_in_generated_code_only(any_compiler: str, package: Path) -> None:
    with pytest.raises(CompileError, match=r"units/gen-\w+/gen\.opwright\.cpp:1:9: error: expected"):
        build(Unit("gen", "int x = ;\n"))


def test_warnings_come_not_first(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("void f() { int unused; }\nint y = ;\n")
    assert error_of(source, package, extra_cflags=("-Wall",)).startswith(f"{source}:2:9: error: ")


def test_a_missing_library(any_compiler: str, project: Path, package: Path) -> None:
    source = project / "op.cpp"
    source.write_text("int x;\n")
    text = error_of(source, package, extra_ldflags=("-lno_such_library",))
    assert text.startswith(
        f"{source}: error: the linker finds no library no_such_library\n"
        "  likely fix: install it (its development package), or name its folder: library_dirs=[...]\n"
    )


def test_a_c_source(project: Path, compile_source: Compile) -> None:
    source = project / "op.c"
    source.write_text("int f(void) {\n  return x;\n}\n")
    with pytest.raises(CompileError, match=rf"^{re.escape(str(source))}:2:10: error: 'x' undeclared"):
        compile_source(source, "c")


@pytest.mark.parametrize(
    ("output", "status", "advice"),
    [
        ("g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.", 1, "MAX_JOBS=1"),
        ("x.cpp:1:1: fatal error: error writing to x.s: No space left on device", 1, "disk space"),
        ("x.cpp:9:2: internal compiler error: Segmentation fault", 4, "the compiler itself crashed"),
    ],
)
def test_failures_that_are_not_the_sources(
    output: str, status: int, advice: str, tmp_path: Path, gxx: str, monkeypatch: pytest.MonkeyPatch,
    make_script: Callable[[Path, str], Path],
) -> None:  # fmt: skip
    body = f'case " $* " in *" -v "*) exec {gxx} "$@" ;; esac\necho \'{output}\'\nexit {status}'
    monkeypatch.setenv("CXX", str(make_script(tmp_path / "g++", body)))
    with pytest.raises(CompileError) as error:
        build(Unit("op", "int x;\n"))
    assert advice in str(error.value)
    assert "likely fix: " in str(error.value)


GCC = """In file included from /u/op.cpp:3,
                 from /gen/op.opwright.cpp:1:
/ours/h.h: In instantiation of 'void g(T) [with T = int]':
/u/op.cpp:7:5:   required from 'void f(T) [with T = int]'
/gen/op.opwright.cpp:9:2:   required from here
/ours/h.h:5:6: error: no match
    5 |   a ? b:3:4: c
      |      ^
/ours/h.h:2:1: note: candidate: 'x'
/u/op.cpp: In function 'int h()':
/u/op.cpp:20:3: error: second
   20 | x
"""


def test_the_parts_of_an_output() -> None:
    first, second = split(GCC)
    assert (first.text, str(first.place)) == ("no match", "/ours/h.h:5:6")
    assert first.lines[0].startswith("In file included from")
    assert first.lines[-1].endswith("candidate: 'x'")
    assert second.lines == ["/u/op.cpp: In function 'int h()':", "/u/op.cpp:20:3: error: second", "   20 | x"]
    found = user_place(first, lambda file: file.startswith("/u/"))
    assert str(found) == "/u/op.cpp:7:5"
    assert user_place(first, lambda file: file == "/elsewhere") is None
    assert describe([first, second], lambda file: file == "/elsewhere").startswith("/ours/h.h:5:6: error: no match")


@pytest.mark.parametrize(
    "text", ["", "\n\n", "just words", ": error: x", "a:b:c: error: x", "é" * 10000, ":1:2: note: n"]
)
def test_strange_outputs_have_no_parts(text: str) -> None:
    assert split(text) == []


def test_long_messages_are_cut() -> None:
    text = "/u/op.cpp:1:2: error: long\n" + "".join(f"    {i} | line\n" for i in range(100))
    shown = describe(split(text), lambda _: True).splitlines()
    assert len(shown) == EXCERPT_LINES + 1
    assert shown[-1] == "... (81 more lines in the log)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "fix"),
    [
        ("x = std::exp(x);", "write exp(...) without std::, which opwright.h has"),
        ("float y = x; (void)y;", "declare it as T or auto; value_of(x) is the value alone"),
        ("x = helper(x);", "template <class T> T helper(T x)"),
    ],
)
def test_what_cannot_be_differentiated(
    any_compiler: str, project: Path, package: Path, statement: str, fix: str
) -> None:
    source = project / "op.cpp"
    source.write_text(
        "#include <cmath>\n#include <opwright.h>\n#include <opwright/dual.h>\n"
        f"float helper(float x) {{ return x; }}\ntemplate <class T> void f(T x) {{\n  {statement}\n}}\n"
    )
    text = error_of(source, package, "template void f(Dual<float, 1>);")
    assert text.startswith(f"{source}:6:")
    assert "\n  likely fix: " in text
    assert fix in text
