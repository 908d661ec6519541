"""The environment variables that Opwright, PyTorch's builder, and compilers read: those that are set, judged."""

from __future__ import annotations

import difflib
import logging
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator

from opwright import log
from opwright.doctor.asking import SECONDS, ask
from opwright.doctor.model import Finding, from_error, note, ok, wrong
from opwright.errors import ToolchainError
from opwright.toolchain.compiler import Language, find_compiler, which
from opwright.toolchain.process import jobs, time_limit
from opwright.toolchain.upkeep import size_limit

OURS = {
    "OPWRIGHT_CACHE_SIZE": "how large the build cache may become",
    "OPWRIGHT_COMPILE_COMMANDS": "where compile_commands.json is written",
    "OPWRIGHT_COMPILE_TIMEOUT": "seconds that one compiler may take",
    "OPWRIGHT_CUDA_SYNC": "1: every CUDA launch is waited for, so that its errors are reported there",
    "OPWRIGHT_EMULATION_TIMEOUT": "seconds that an emulated launch may take",
    "OPWRIGHT_LAUNCHER": "a program that starts compilers, such as ccache",
    "OPWRIGHT_LEGACY": "1: what PyTorch had up to 0.4 is installed in every interpreter",
    "OPWRIGHT_LOG": "debug, info or warning: what Opwright says of what it does",
    "OPWRIGHT_MEETING": "how many threads' kernels begin together under ThreadSanitizer; `opwright check` sets it",
    "OPWRIGHT_PRECOMPILE": "background, wait or off: when PyTorch's headers are compiled ahead",
    "OPWRIGHT_PREBUILT": "a folder with runtimes that go into a wheel of Opwright (tools/build_wheels.py)",
    "OPWRIGHT_RUNTIME": "native or python",
    "OPWRIGHT_SANITIZE": "sanitizers that everything is compiled with",
}
"""Opwright's own."""

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
"""Those of others."""

_JUDGED_IN = {
    "CC": "compilers",
    "CXX": "compilers",
    "CUDA_HOME": "cuda",
    "CUDA_PATH": "cuda",
    "TORCH_CUDA_ARCH_LIST": "architectures",
    "TORCH_EXTENSIONS_DIR": "cache",
}
_FOLDERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")
_WORDS = {"CFLAGS": "c", "CXXFLAGS": "c++", "CPPFLAGS": "c++", "LDFLAGS": "c++"}
_LAUNCHERS = ("OPWRIGHT_LAUNCHER", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")
_RUNTIMES = ("native", "python")


def examine() -> Iterator[Finding]:
    """Each that is set, with what it does; what nothing reads, too."""
    judges: dict[str, Callable[[str], Finding]] = {
        "MAX_JOBS": lambda name: _read(name, jobs, "compilers at once"),
        "OPWRIGHT_COMPILE_TIMEOUT": lambda name: _read(name, time_limit, "seconds for one compiler"),
        "OPWRIGHT_CACHE_SIZE": lambda name: _read(name, size_limit, "bytes for the cache"),
        "OPWRIGHT_LOG": lambda name: _read(name, lambda: logging.getLevelName(log.level() or 0).lower(), "is logged"),
        "OPWRIGHT_PRECOMPILE": _precompile,
        "OPWRIGHT_RUNTIME": _runtime,
        "OPWRIGHT_SANITIZE": _sanitize,
        **dict.fromkeys(_LAUNCHERS, _launcher),
        **dict.fromkeys(_FOLDERS, _folders),
        **dict.fromkeys(_WORDS, _words),
    }
    known = OURS | OTHERS
    names = [name for name in known if os.environ.get(name)]
    for name in names:
        elsewhere = f"; judged in the section {_JUDGED_IN[name]}" if name in _JUDGED_IN else ""
        told = f"{os.environ[name]} ({known[name]}{elsewhere})"
        yield judges[name](name) if name in judges else ok(name, told)
    unknown = sorted(name for name in os.environ if name.startswith("OPWRIGHT_") and name not in known)
    for name in unknown:
        yield _unknown(name)
    if not names and not unknown:
        yield ok("variables", "none is set that matters")


def _read(name: str, read: Callable[[], object], what: str) -> Finding:
    try:
        return ok(name, f"{os.environ[name]}: {read() or 'no limit of'} {what}")
    except ToolchainError as error:
        return from_error(name, error)


def _precompile(name: str) -> Finding:
    from opwright.aten.pch import mode  # the front end's, which nothing else here needs

    try:
        return ok(name, f"{mode()} ({OURS[name]})")
    except ToolchainError as error:
        return from_error(name, error)


def _runtime(name: str) -> Finding:
    value = os.environ[name]
    if value in _RUNTIMES:
        return ok(name, f"{value} ({OURS[name]})")
    return wrong(name, f"{name}={value} names no runtime, expected {' or '.join(_RUNTIMES)}", f"unset {name}")


def _sanitize(name: str) -> Finding:
    return note(
        name,
        f"{os.environ[name]}: everything is compiled with sanitizers, and runs slowly",
        "a process that loads such libraries needs LD_PRELOAD=$(c++ -print-file-name=libasan.so)",
    )


def _launcher(name: str) -> Finding:
    word = os.environ[name].split()[0] if os.environ[name].split() else ""
    path = which(word) if word else None
    if path:
        return ok(name, f"{os.environ[name]}, at {path}")
    return wrong(name, f"{name} asks for {word!r}, which is not on the PATH", f"install it, or unset {name}")


def _words(name: str) -> Finding:
    """What is said to every compiler or linker of a setup.py: tried on an empty file."""
    try:
        words = shlex.split(os.environ[name])
    except ValueError as error:
        return wrong(name, f"{name}={os.environ[name]} can't be split into words: {error}", "close the quote")
    language: Language = "c" if _WORDS[name] == "c" else "c++"
    try:
        compiler = find_compiler(language, seconds=SECONDS)
    except ToolchainError:  # said in the section compilers
        return ok(name, f"{os.environ[name]} ({OTHERS[name]}; there is no compiler to try it)")
    with tempfile.TemporaryDirectory(prefix="opwright-doctor-", ignore_cleanup_errors=True) as folder:
        what = ["-shared", "-fPIC", "-o", "empty.so"] if name == "LDFLAGS" else ["-c", "-o", "empty.o"]
        command = [*compiler.link_command, "-x", language, os.devnull, "-x", "none", *words, *what]
        answer = ask(command, folder=folder)
    if answer.status == 0:
        return ok(name, f"{os.environ[name]} ({OTHERS[name]})")
    return wrong(
        name,
        f"{name}={os.environ[name]}: {os.path.basename(compiler.path)} doesn't take it: {answer.why}",
        f"take what it names out of {name}, or unset it",
    )


def _folders(name: str) -> Finding:
    missing = [folder for folder in os.environ[name].split(os.pathsep) if folder and not os.path.isdir(folder)]
    if missing:
        return note(name, f"{os.environ[name]}: there is no folder {', '.join(missing)}", f"take it out of {name}")
    return ok(name, f"{os.environ[name]} ({OTHERS[name]})")


def _unknown(name: str) -> Finding:
    near = difflib.get_close_matches(name, OURS, 1, 0.7)
    meant = f"; perhaps {near[0]} was meant" if near else ""
    return note(
        name, f"{os.environ[name]}: no such variable is read{meant}", f"unset {name}; there are {', '.join(OURS)}"
    )
