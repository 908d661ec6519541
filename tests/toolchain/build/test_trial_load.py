"""Libraries that end the process that loads them: found while they are built, in a process of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError
from opwright.toolchain import Built
from opwright.toolchain.build import trial_load

Compile = Callable[..., Built]

_FIX = (
    "  likely fix: make it at the first call, where an error can be reported: a static variable inside a function, "
    "such as\n              `static Table &table() { static Table made; return made; }`\n"
)
_ENDS = {
    'throw std::runtime_error("no table");': "throws std::runtime_error: no table",
    "throw 3;": "throws int",
    "*(volatile int *)nullptr = 1;": "crashes (SIGSEGV)",
    "std::exit(0);": "ends it with exit status 0",
    "std::_Exit(7);": "ends it with exit status 7",
    "std::abort();": "crashes (SIGABRT)",
    "__builtin_trap();": "crashes (SIGILL)",
}


@pytest.fixture
def with_table(answering: Callable[..., Path]) -> Callable[[str], Path]:
    """Write a source with a global object whose constructor has a body."""

    def write(body: str, declared: str = "static Table table;") -> Path:
        head = "#include <cstdlib>\n#include <stdexcept>\nstruct Table {\n  Table() { BODY }\n  int value = 4;\n};"
        return answering("table.value", head.replace("BODY", body) + f"\n{declared}")

    return write


@pytest.mark.parametrize("body", _ENDS)
def test_the_end_of_a_process_is_an_error(
    compile_source: Compile, with_table: Callable[[str], Path], body: str
) -> None:
    source = with_table(body)
    with pytest.raises(CompileError) as caught:
        compile_source(source)
    assert str(caught.value).startswith(
        f"{source}:7: error: loading this library ends the process: this object's constructor {_ENDS[body]}\n"
        f"    7 | static Table table;\n{_FIX}full log: "
    )
    with pytest.raises(CompileError):  # it isn't in the cache
        compile_source(source)


def test_an_endless_constructor(
    compile_source: Compile, with_table: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_load, "_SECONDS", 0.5)
    with pytest.raises(CompileError, match=r"this object's constructor doesn't return within 0\.5 seconds"):
        compile_source(with_table("volatile bool more = true; while (more) {}"))


def test_output_before_the_end_is_shown(compile_source: Compile, with_table: Callable[[str], Path]) -> None:
    with pytest.raises(CompileError, match=r"\(SIGABRT\)\n.*\n  output:     table.bin: not found\n  likely fix"):
        compile_source(with_table('fputs("table.bin: not found\\n", stderr); std::abort();'))


def test_several_objects_are_listed(compile_source: Compile, with_table: Callable[..., Path]) -> None:
    source = with_table("if (!value--) throw 1;", "static Table table;\nstatic Table other[2];")
    source.write_text(source.read_text().replace("value = 4", "value = 0"))
    with pytest.raises(CompileError) as caught:
        compile_source(source)
    assert str(caught.value).startswith(
        f"{source}: error: loading this library ends the process: a global object's constructor throws int\n"
        f"    7 | static Table table;\n    8 | static Table other[2];\n{_FIX}"
    )


def test_an_object_of_a_header_isnt_blamed_on_the_source(
    compile_source: Compile, with_table: Callable[..., Path], project: Path
) -> None:
    (project / "table.h").write_text("struct Held { Held() { throw 1; } };\nstatic Held held;\n")
    with pytest.raises(CompileError, match=r"op\.cpp: error: loading this library ends the process: a global object's"):
        compile_source(with_table("value = 2;", 'static Table table;\n#include "table.h"'))


def test_a_function_that_runs_at_loading(compile_source: Compile, answering: Callable[..., Path]) -> None:
    begin = "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { exit(4); }"
    with pytest.raises(CompileError, match=r"op\.cpp:2: error: loading .*: this function ends it with exit status 4\n"):
        compile_source(answering("1", begin))


def test_harmless_constructors_run_twice_and_ordinary_libraries_are_never_tried(
    compile_source: Compile, answering: Callable[..., Path], with_table: Callable[[str], Path],
    answer: Callable[[Built], int], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    assert answer(compile_source(with_table("value = 5;"))) == 5

    def refuse(*_arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(trial_load, "end_of_process", refuse)
    assert answer(compile_source(answering("6", "#include <vector>\nconstexpr int table[] = {1, 2};"))) == 6
    assert compile_source(with_table("value = 5;")).cached
    with pytest.raises(AssertionError):
        compile_source(with_table("value = 7;"))


def test_a_library_for_another_processor_isnt_judged(
    compile_source: Compile, with_table: Callable[[str], Path]
) -> None:
    assert compile_source(with_table("__builtin_trap();"), extra_cflags=("-march=x86-64-v3",)).path.exists()


def test_libraries_are_found_in_the_folders_of_the_link_command(
    compile_source: Compile, answering: Callable[..., Path], project: Path, gxx: str
) -> None:
    (project / "other.c").write_text("#include <stdlib.h>\nvoid stop(void) { exit(3); }\n")
    library = project / "libother.so"
    subprocess.run([gxx, "-x", "c", "-shared", "-fPIC", project / "other.c", "-o", library], check=True)
    begin = 'extern "C" void stop();\nstruct Table { Table() { stop(); } };\nstatic Table table;'
    with pytest.raises(
        CompileError, match=r"op\.cpp:3: error: loading .*: this object's constructor ends it with exit"
    ):
        compile_source(answering("1", begin), extra_ldflags=(f"-L{project}", "-lother"))


def test_an_embedded_python_isnt_tried(
    compile_source: Compile, with_table: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert compile_source(with_table("throw 1;")).path.exists()
