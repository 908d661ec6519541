"""nvcc's options: what they ask for, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cuda.programs.command_line import Request, parse
from opwright.errors import ToolchainError


def asked(line: str) -> Request:
    return parse(line.split())


@pytest.mark.parametrize(
    "ignored",
    [
        "-arch=sm_80",
        "-arch sm_80",
        "--gpu-architecture=sm_80",
        "-gencode arch=compute_80,code=sm_80",
        "--generate-code arch=compute_70,code=[compute_70,sm_70]",
        "-rdc=true",
        "-rdc true",
        "--use_fast_math -lineinfo -Xptxas -O3,-v --maxrregcount=32 -cudart static",
        "-ccbin g++ --expt-relaxed-constexpr --extended-lambda -t 4 --default-stream legacy",
        "-lcudart -lcudadevrt -lcuda",
        "-Xcompiler -Wall,-march=native",
    ],
)
def test_options_about_gpus_and_warnings_change_nothing(ignored: str) -> None:
    assert asked(f"a.cu {ignored} -o a") == asked("a.cu -o a")


def test_what_is_made() -> None:
    assert asked("a.cu b.cpp c.o libd.a -o prog") == Request(
        sources=(Path("a.cu"), Path("b.cpp")), linked=("c.o", "libd.a"), output=Path("prog")
    )
    words = ("-c", "-dc", "--compile", "-E", "-shared", "-lib", "-V", "-dlink")
    assert [asked(f"{word} a.cu").product for word in words] == [
        "object", "object", "object", "text", "library", "archive", "version", "nothing",
    ]  # fmt: skip
    assert asked("-x cu a.txt").sources == (Path("a.txt"),)
    assert asked("-x cu a.cpp").language_of(Path("a.cpp")) == "cuda"
    assert [asked("x.cu").language_of(Path(name)) for name in ("a.cu", "a.cc", "a.c")] == ["cuda", "c++", "c"]


def test_values() -> None:
    request = asked("-DN=3 -D M -UK -I inc -Iother --include-path=third a.cu -O2 -std=c++20 -MD -MF a.d -MT a.o -g")
    assert request.defines == ("-DN=3", "-DM", "-UK")
    assert request.include_dirs == ("inc", "other", "third")
    assert (request.optimize, request.std, request.depfile, request.debug) == (2, "c++20", "a.d", True)
    assert request.host_flags == ("-MT", "a.o")
    assert asked("a.cu -Xcompiler -O1,-fopenmp").optimize == 1
    assert asked("a.cu -Xcompiler=-fopenmp").host_flags == ("-fopenmp",)
    assert asked("a.cu -Xcompiler -fopenmp").link_flags == ("-fopenmp",)
    assert asked("a.cu -lm -Xlinker -rpath,/x -L/lib").link_flags == ("-lm", "-Wl,-rpath", "-Wl,/x", "-L/lib")
    assert parse(["a.cu", "-DF(a,b)=a"]).defines == ("-DF(a,b)=a",)
    assert parse(["a.cu", "-Xcompiler", '-DNAME="x y"']).host_flags == ("-DNAME=x y",)
    assert asked("a.cu --check").check


def test_options_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "options.txt").write_text("-O1 -DTWO=2 # words\n-Iinc\n")
    request = asked(f"-optf {tmp_path}/options.txt a.cu")
    assert (request.optimize, request.defines, request.include_dirs) == (1, ("-DTWO=2",), ("inc",))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-ptx a.cu", "-ptx asks for PTX, and emulated programs run on the CPU"),
        ("--cubin a.cu", "--cubin asks for a cubin"),
        (
            "--frobnicate a.cu",
            "the option --frobnicate isn't known\n  likely fix: if it is for the host compiler, pass it as",
        ),
        ("-fno-rtti a.cu", "the option -fno-rtti isn't known"),
        ("a.txt", "'a.txt' is neither a source (.cu, "),
        ("a.cu -o", "-o needs a value, and the command line ends there"),
        ("a.cu -optf nothing.txt", "the options in nothing.txt can't be read: No such file"),
        ("-dryrun a.cu", "opwright nvcc has no -dryrun"),
    ],
)
def test_what_is_refused_is_named(line: str, says: str) -> None:
    with pytest.raises(ToolchainError) as caught:
        asked(line)
    assert says in str(caught.value)


def test_unknown_options_are_forwarded_if_the_command_line_says_so() -> None:
    assert asked("-forward-unknown-to-host-compiler -fno-rtti a.cu").host_flags == ("-fno-rtti",)
