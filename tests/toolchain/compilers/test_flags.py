"""The command lines, and that the compilers take them and do what they promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Built, Compiler, Options, Unit, find_compiler, header_dir, include_line
from opwright.toolchain.build.plan import make_plan
from opwright.toolchain.cache.manifest import Reader
from opwright.toolchain.compilers.flags import compile_flags, link_flags, search_dirs

Compile = Callable[..., Built]
Answering = Callable[..., Path]
Answer = Callable[[Built], int]


def compiler(kind: str = "gcc", target: str = "x86_64-linux-gnu") -> Compiler:
    return Compiler("/usr/bin/cc", "gcc" if kind == "gcc" else "clang", (20,), target, "")


@pytest.mark.parametrize(
    ("target", "native", "expected"),
    [
        ("x86_64-linux-gnu", True, ["-march=native", "-mprefer-vector-width=512"]),
        ("x86_64-linux-gnu", False, ["-march=x86-64-v2"]),
        ("aarch64-linux-gnu", True, ["-mcpu=native"]),
        ("aarch64-linux-gnu", False, ["-march=armv8-a"]),
        ("arm64-apple-darwin23", True, ["-mcpu=native"]),
    ],
)
def test_the_machine(target: str, native: bool, expected: list[str]) -> None:
    flags = compile_flags(compiler("clang", target), Options(native=native), "c++")
    assert [flag for flag in flags if flag.startswith("-m")] == expected


def test_what_is_always_said() -> None:
    for kind in ("gcc", "clang"):
        flags = compile_flags(compiler(kind), Options(), "c++")
        assert {"-O3", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-ffp-contract=off", "-w"} <= set(flags)
        assert ("-fno-gnu-unique" in flags) == (kind == "gcc")
        assert not [flag for flag in flags if flag in ("-ffast-math", "-Ofast", "-funsafe-math-optimizations")]
    assert "-shared" in link_flags(compiler(), Options())
    assert not [flag for flag in link_flags(compiler(), Options()) if "soname" in flag]


def test_debug_and_language() -> None:
    flags = compile_flags(compiler(), Options(debug=True, std="c++20"), "c++")
    assert {"-g", "-O0", "-std=c++20"} <= set(flags)
    assert "-O3" not in flags
    assert not [flag for flag in compile_flags(compiler(), Options(std="c++20"), "c") if "c++" in flag]


def test_the_user_has_the_last_word() -> None:
    flags = compile_flags(compiler(), Options(extra_cflags=("-O1", "-Wall")), "c++")
    assert flags[-2:] == ["-O1", "-Wall"]
    assert "-w" not in flags
    assert link_flags(compiler(), Options(extra_ldflags=("-lm",)))[-1] == "-lm"


def test_include_dirs_come_in_order_and_ours_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dirs = search_dirs(Options(include_dirs=("b", tmp_path / "a", "b")))
    assert dirs == [str(tmp_path / "b"), str(tmp_path / "a"), str(header_dir())]
    assert header_dir().name == "include"
    assert header_dir().is_absolute()


def test_sanitizers_may_leave_symbols_undefined() -> None:
    assert "-Wl,-z,defs" in link_flags(compiler(), Options())
    assert "-Wl,-z,defs" not in link_flags(compiler(), Options(extra_cflags=("-fsanitize=address",)))
    assert not [flag for flag in link_flags(compiler(target="arm64-apple-darwin23"), Options()) if "-z" in flag]


@pytest.mark.parametrize("options", [{}, {"native": False}, {"debug": True}, {"std": "c++20"}], ids=str)
def test_both_compilers_take_them(
    any_compiler: str, options: dict[str, object], compile_source: Compile, answering: Answering, answer: Answer
) -> None:
    built = compile_source(answering("__cplusplus >= 201703L"), extra_cflags=("-Wall", "-Wextra", "-Werror"), **options)
    assert answer(built) == 1
    assert built.log is None


def test_both_compilers_take_them_for_c(any_compiler: str, project: Path, compile_source: Compile, answer: Answer,
                                        monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    c = any_compiler.replace("clang++", "clang").replace("g++", "gcc")
    if not os.path.exists(c):
        pytest.skip(f"{c} is not installed")
    monkeypatch.setenv("CC", c)
    source = project / "op.c"
    source.write_text('__attribute__((visibility("default"))) int answer(void) { return 6; }\n')
    assert answer(compile_source(source, "c", extra_cflags=("-Wall", "-Werror"))) == 6
    assert find_compiler("c").path == c


def test_macros_reach_the_code(compile_source: Compile, answering: Answering, answer: Answer) -> None:
    assert answer(compile_source(answering("A + B"), define=("A", "B=2"))) == 3


def test_results_are_ieee(any_compiler: str, compile_source: Compile, answering: Answering, answer: Answer) -> None:
    """No fusing, no flushing, no reassociation, infinities and NaNs kept; on any processor, also in loops."""
    before = """
    #include <cmath>
    #include <limits>
    static volatile double third = 1.0 / 3.0, three = 3.0, one = 1.0, huge = 1e308, tiny = 5e-324, zero = 0.0;
    static int wrong() {
      double a = third, b = three, c = one;
      int failures = 0;
      failures += a * b - c != 0.0;                       // fused: -5.5e-17
      failures += !std::isinf(huge * 10.0);
      failures += !(std::isnan(zero / zero));
      failures += !(tiny > 0.0) || !(tiny / 1.0 > 0.0);   // subnormals
      failures += !std::signbit(-zero * 1.0);
      float in[16], out[16];
      for (int i = 0; i < 16; i++) in[i] = 1.0f + i * 0.1f;
      for (int i = 0; i < 16; i++) out[i] = in[i] * 3.0f - in[15 - i];
      for (int i = 0; i < 16; i++) {
        volatile float product = in[i] * 3.0f;
        failures += out[i] != product - in[15 - i];
      }
      return failures;
    }
    """
    assert answer(compile_source(answering("wrong()", before))) == 0


def test_undefined_symbols_are_found_when_linking(
    any_compiler: str, compile_source: Compile, answering: Answering
) -> None:
    source = answering("missing(3)", "int missing(int);")
    with pytest.raises(CompileError) as error:
        compile_source(source)
    assert str(error.value).startswith(f"{source}: error: undefined reference to missing(int)")
    assert 'name the library that has it: libraries=["..."]' in str(error.value)


def test_only_what_is_exported_can_be_seen(any_compiler: str, compile_source: Compile, answering: Answering) -> None:
    tool = shutil.which("nm")
    if tool is None:
        pytest.skip("nm is not installed")
    before = (
        "template <class T> struct Keeper { static inline T kept = 4; };\nint helper() { return Keeper<int>::kept; }"
    )
    built = compile_source(answering("helper()", before))
    listed = subprocess.run([tool, "-D", "--defined-only", built.path], capture_output=True, text=True, check=True)
    symbols = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert symbols - {"_init", "_fini"} == {"answer"}


def test_debug_builds_know_the_users_lines(any_compiler: str, compile_source: Compile, answering: Answering) -> None:
    source = answering("1")
    built = compile_source(source, debug=True)
    checked = 0
    if tool := shutil.which("readelf"):  # (binutils' addr2line takes the wrong file out of DWARF 5 tables)
        shown = subprocess.run(
            [tool, "--wide", "--debug-dump=decodedline", built.path], capture_output=True, text=True, check=True
        )
        assert re.search(r"op\.cpp\s+2\s+0x", shown.stdout, re.MULTILINE)
        checked += 1
    if tool := shutil.which("gdb"):
        command = [tool, "-nx", "-batch", "-ex", "info line answer", str(built.path)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f'Line 2 of "{source}"' in shown.stdout
        checked += 1
    if not checked:
        pytest.skip("neither readelf nor gdb is installed")


def test_include_lines(tmp_path: Path) -> None:
    assert include_line(tmp_path / "a b.cpp") == f'#include "{tmp_path}/a b.cpp"'
    assert include_line(Path("x.cpp")) == f'#include "{os.getcwd()}/x.cpp"'
    assert include_line(tmp_path / 'a"b.cpp') == f'#include <{tmp_path}/a"b.cpp>'
    for name in ('a">b.cpp', "a\nb.cpp"):
        with pytest.raises(ToolchainError, match="no #include can name"):
            include_line(tmp_path / name)


@pytest.mark.parametrize(
    "words",
    [
        *(("-O2",), ("-L/usr/lib", "-lm"), ("-I/usr/include",), ("-DX=1", "-Wall")),
        ("-Wl,--no-as-needed", "-Wl,-rpath,/usr/lib", "-Wl,-soname,x.so"),
        ("-isystem", "/usr/include"),
        ("-idirafter", "/usr/include"),
    ],
)
def test_words_without_relative_paths_mean_the_same_in_every_folder(
    words: tuple[str, ...],
    answering: Callable[..., Path],
    compile_source: Callable[..., Built],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = answering("1")
    first = compile_source(source, extra_cflags=words)
    monkeypatch.chdir(tmp_path)
    again = compile_source(source, extra_cflags=words)
    assert again.cached
    assert again.path == first.path


@pytest.mark.parametrize(
    "words",
    [
        ("-Iinclude",),
        ("-I", "include"),
        ("-include", "x.h"),
        ("x.o",),
        ("-Wl,-rpath,lib",),
        ("-Wl,-T,x.ld",),
        ("-isystem", "include"),
    ],
)
def test_words_with_relative_paths_make_the_folder_part_of_the_key(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit, options = Unit("x", "int x;"), Options(extra_cflags=words)
    first = make_plan(unit, options, Reader()).key
    monkeypatch.chdir(tmp_path)
    assert make_plan(unit, options, Reader()).key != first
