"""Checks the environment variables that Opwright, PyTorch's builder and compilers read, if they are set."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator

from opwright import log
from opwright.closest_name import closest_name
from opwright.doctor.findings import Finding, from_error, note, ok, wrong
from opwright.doctor.subprocesses import SECONDS, ask
from opwright.errors import ToolchainError
from opwright.languages import Language
from opwright.toolchain.build.limits import jobs, time_limit
from opwright.toolchain.cache.eviction import size_limit
from opwright.toolchain.compilers.compiler import find_compiler, which

OURS = {
    "OPWRIGHT_CACHE_SIZE": "how large the build cache may become",
    "OPWRIGHT_COMPILE_COMMANDS": "where compile_commands.json is written",
    "OPWRIGHT_COMPILE_TIMEOUT": "seconds that one compiler may take",
    "OPWRIGHT_CHECK_DOMAINS": "1: all values of tensors are compared with the domains in signatures, on every device",
    "OPWRIGHT_CUDA_SYNC": "1: every CUDA launch is waited for, so that its errors are reported there",
    "OPWRIGHT_EMULATION_TIMEOUT": "seconds that an emulated launch may take",
    "OPWRIGHT_LAUNCHER": "a program that starts compilers, such as ccache",
    "OPWRIGHT_EMULATE_CUDA": "1: PyTorch for the CPU has an emulated device called cuda; check: accesses are checked",
    "OPWRIGHT_LEGACY": "1: what PyTorch had up to 0.4 is installed in every interpreter",
    "OPWRIGHT_LOG": "debug, info or warning: what Opwright says of what it does",
    "OPWRIGHT_MEETING": "how many threads' kernels begin together under ThreadSanitizer; `opwright check` sets it",
    "OPWRIGHT_PRECOMPILE": "background, wait or off: when PyTorch's headers are compiled ahead",
    "OPWRIGHT_PREBUILT": "a folder with runtimes that go into a wheel of Opwright (tools/build_wheels.py)",
    "OPWRIGHT_READ_ONLY_CACHE": "a folder from `opwright build --output`: searched before the cache, and only read",
    "OPWRIGHT_DIRECT": "0: all calls of operators go through PyTorch's parser and dispatcher",
    "OPWRIGHT_RUNTIME": "native or python",
    "OPWRIGHT_SANITIZE": "sanitizers that everything is compiled with",
    "OPWRIGHT_TAPE_MAGNITUDES": "1: derived gradients add up magnitudes, where they can; `opwright check` sets it",
}
"""Opwright's own variables, with a description of each."""

OTHERS = {
    "CC": "the C compiler",
    "CXX": "the C++ compiler",
    "CFLAGS": "more words for the C compiler, in setup.py",
    "CXXFLAGS": "more words for the C++ compiler, in setup.py",
    "CPPFLAGS": "more words for both, in setup.py",
    "LDFLAGS": "more words for the linker, in setup.py",
    "CPATH": "folders in which every compiler searches headers",
    "C_INCLUDE_PATH": "the same for C",
    "CPLUS_INCLUDE_PATH": "the same for C++",
    "LIBRARY_PATH": "folders in which linkers search",
    "LD_LIBRARY_PATH": "folders in which libraries are searched before their own",
    "LD_PRELOAD": "libraries that are loaded into every process",
    "CMAKE_C_COMPILER_LAUNCHER": "a program that starts the C compiler",
    "CMAKE_CXX_COMPILER_LAUNCHER": "a program that starts the C++ compiler",
    "MAX_JOBS": "how many compilers run at once",
    "TORCH_EXTENSIONS_DIR": "where the build cache is",
    "TORCH_CUDA_ARCH_LIST": "the GPUs that extensions are compiled for",
    "TORCH_DONT_CHECK_COMPILER_ABI": "PyTorch doesn't look at the compiler",
    "TORCH_NVCC_FLAGS": "more words for nvcc",
    "NVCC_APPEND_FLAGS": "more words for nvcc",
    "NVCC_PREPEND_FLAGS": "more words for nvcc",
    "NVCC_CCBIN": "the C++ compiler that nvcc takes",
    "CUDAHOSTCXX": "the same, where NVCC_CCBIN isn't set",
    "PYTORCH_NVCC": "the nvcc that PyTorch's builder takes",
    "CUDA_HOME": "the CUDA toolkit",
    "CUDA_PATH": "the CUDA toolkit, where CUDA_HOME isn't set",
    "CUDA_VISIBLE_DEVICES": "the GPUs that are seen",
    "USE_NINJA": "whether PyTorch's builder takes ninja",
    "VERBOSE": "whether PyTorch's builder says what it does",
    "TMPDIR": "where compilers put their temporary files",
    "XDG_CACHE_HOME": "the folder of caches",
}
"""Variables of compilers, PyTorch and CUDA that Opwright or its compilers read."""

_SECTIONS = {
    **dict.fromkeys(("CC", "CXX"), "compilers"),
    **dict.fromkeys(("CUDA_HOME", "CUDA_PATH"), "cuda"),
    "TORCH_CUDA_ARCH_LIST": "architectures",
    "TORCH_EXTENSIONS_DIR": "cache",
}
"""The sections that check other variables."""
_FLAGS: dict[str, Language] = {"CFLAGS": "c", "CXXFLAGS": "c++", "CPPFLAGS": "c++", "LDFLAGS": "c++"}


def examine_environment() -> Iterator[Finding]:
    """Check each variable that is set, and list variables named ``OPWRIGHT_...`` that nothing reads."""
    judges: dict[str, Callable[[str, str], Finding]] = {
        "MAX_JOBS": _parsed_by(lambda value: f"{value}: {jobs()} compilers at once"),
        "OPWRIGHT_COMPILE_TIMEOUT": _parsed_by(lambda value: f"{value}: {time_limit()} seconds for one compiler"),
        "OPWRIGHT_CACHE_SIZE": _parsed_by(
            lambda value: f"{value}: {size_limit() or 'no limit of'} bytes for the cache"
        ),
        "OPWRIGHT_LOG": _parsed_by(
            lambda value: f"{value}: {logging.getLevelName(log.level() or 0).lower()} is logged"
        ),
        "OPWRIGHT_PRECOMPILE": _parsed_by(_precompile),
        "OPWRIGHT_RUNTIME": _runtime,
        "OPWRIGHT_SANITIZE": _sanitize,
        **dict.fromkeys([name for name in OURS | OTHERS if name.endswith("_LAUNCHER")], _launcher),
        **dict.fromkeys(("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"), _folders),
        **dict.fromkeys(_FLAGS, _flags),
    }
    known = OURS | OTHERS
    names = [name for name in known if os.environ.get(name)]
    for name in names:
        value = os.environ[name]
        elsewhere = f"; judged in the section {_SECTIONS[name]}" if name in _SECTIONS else ""
        yield judges[name](name, value) if name in judges else ok(name, f"{value} ({known[name]}{elsewhere})")
    unknown = sorted(name for name in os.environ if name.startswith("OPWRIGHT_") and name not in known)
    for name in unknown:
        near = closest_name(name, OURS)
        text = f"{os.environ[name]}: no such variable is read{f'; perhaps {near} was meant' if near else ''}"
        yield note(name, text, f"unset {name}; there are {', '.join(OURS)}")
    if not names and not unknown:
        yield ok("variables", "none is set that matters")


def _parsed_by(parse: Callable[[str], str]) -> Callable[[str, str], Finding]:
    """Return a check of whether the function that reads a variable can parse its value."""

    def judge(name: str, value: str) -> Finding:
        try:
            return ok(name, parse(value))
        except ToolchainError as error:
            return from_error(name, error)

    return judge


def _precompile(_value: str) -> str:
    from opwright.aten.precompiled_header import mode

    return f"{mode()} ({OURS['OPWRIGHT_PRECOMPILE']})"


def _runtime(name: str, value: str) -> Finding:
    if value in ("native", "python"):
        return ok(name, f"{value} ({OURS[name]})")
    return wrong(name, f"{name}={value} names no runtime, expected native or python", f"unset {name}")


def _sanitize(name: str, value: str) -> Finding:
    text = f"{value}: everything is compiled with sanitizers, and runs slowly"
    return note(name, text, "a process that loads such libraries needs LD_PRELOAD=$(c++ -print-file-name=libasan.so)")


def _launcher(name: str, value: str) -> Finding:
    program = (value.split() or [""])[0]
    if program and (path := which(program)):
        return ok(name, f"{value}, at {path}")
    return wrong(name, f"{name} asks for {program!r}, which is not on the PATH", f"install it, or unset {name}")


def _flags(name: str, value: str) -> Finding:
    """Try the flags that a setup.py passes to every compiler or linker, on an empty file."""
    try:
        words = shlex.split(value)
    except ValueError as error:
        return wrong(name, f"{name}={value} can't be split into words: {error}", "close the quote")
    language = _FLAGS[name]
    try:
        compiler = find_compiler(language, seconds=SECONDS)
    except ToolchainError:  # reported in the section "compilers"
        return ok(name, f"{value} ({OTHERS[name]}; there is no compiler to try it)")
    with tempfile.TemporaryDirectory(prefix="opwright-doctor-", ignore_cleanup_errors=True) as folder:
        output = ["-shared", "-fPIC", "-o", "empty.so"] if name == "LDFLAGS" else ["-c", "-o", "empty.o"]
        command = [*compiler.link_command, "-x", language, os.devnull, "-x", "none", *words, *output]
        answer = ask(command, folder=folder)
    if answer.status == 0:
        return ok(name, f"{value} ({OTHERS[name]})")
    text = f"{name}={value}: {os.path.basename(compiler.path)} doesn't take it: {answer.why}"
    return wrong(name, text, f"take what it names out of {name}, or unset it")


def _folders(name: str, value: str) -> Finding:
    missing = [folder for folder in value.split(os.pathsep) if folder and not os.path.isdir(folder)]
    if missing:
        return note(name, f"{value}: there is no folder {', '.join(missing)}", f"take it out of {name}")
    return ok(name, f"{value} ({OTHERS[name]})")
