"""The compiler's command line.

What is always said, and why:

* ``-fvisibility=hidden -fno-gnu-unique``, no SONAME: two builds of one operator can live in one process
  without sharing a template's static data; that is what makes hot reload sound.
* ``-fno-math-errno -fno-trapping-math``: nobody reads ``errno`` or the floating-point flags after a kernel,
  and without them ``sqrt`` is one instruction and branches become masks. Values stay IEEE's.
* ``-ffp-contract=off``: gcc would fuse ``a * b + c`` and clang would within an expression only, so one body
  would have two results; now it has the result that its operators have in PyTorch. A kernel that wants a fused
  multiply-add writes ``fma``; ``extra_cflags=("-ffp-contract=fast",)`` gives it everywhere.
* ``-mprefer-vector-width=512`` for this machine's processor: gcc stops at 256 bits on most that have 512, and a loop of
  ``exp`` or ``tanh`` then takes two to four times as long (docs/gemm.md).
* ``-z defs``: what is missing is an error of this build instead of one at the first call.
* ``-w``: a user's warnings are theirs to ask for (``extra_cflags=("-Wall",)`` brings them back).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import ToolchainError

if TYPE_CHECKING:
    from opwright.toolchain.compiler import Compiler, Language

BASELINE = {"x86_64": "x86-64-v2", "aarch64": "armv8-a", "arm64": "armv8-a"}
"""What builds that aren't ``native`` may expect of the processor.

x86-64-v2 (SSE4.2, of 2009) is what NumPy's wheels and today's enterprise distributions ask for as well.
"""

_C_STANDARD = "gnu17"


@dataclass(frozen=True)
class Options:
    """How to compile and link.

    Attributes:
        debug: ``-g -O0`` instead of ``-O3``.
        native: for this machine's processor; else for `BASELINE`.
        define: macros, ``NAME`` or ``NAME=value``.
        include_dirs: header folders, searched in this order and before Opwright's own.
        extra_cflags: further words for the compiler, after (and so stronger than) Opwright's own.
        extra_cuda_cflags: further words for nvcc, after all others; ``extra_cflags`` go to the compiler that it takes
            for the host's half, as far as nvcc doesn't know them itself.
        extra_ldflags: further words for the linker, after the objects.
        std: the C++ standard (C units are compiled as gnu17).
        system_include_dirs: header folders of an installed package (PyTorch's). What they hold is not watched
            file by file: ``identity`` must change when the package does.
        identity: whatever else the result depends on; part of the cache key.
        relocatable: make one object file, for other libraries to link, instead of a shared library.
        exact: the compiler's own words, instead of everything that Opwright says by itself: for a source that was
            written with another build in mind. Folders of headers and ``extra_cflags`` are added, nothing else.
        program: link a program instead of a shared library (with ``exact``).
    """

    debug: bool = False
    native: bool = True
    define: tuple[str, ...] = ()
    include_dirs: tuple[str | Path, ...] = ()
    extra_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()
    std: str = "c++17"
    system_include_dirs: tuple[str | Path, ...] = ()
    identity: str = ""
    relocatable: bool = False
    exact: tuple[str, ...] | None = None
    program: bool = False
    extra_cuda_cflags: tuple[str, ...] = ()


def header_dir() -> Path:
    """The folder that ``#include <opwright.h>`` is found in. Every compilation searches it."""
    return Path(__file__).parent.parent / "include"


def include_line(path: Path) -> str:
    r"""The ``#include`` line for the file at ``path``, whatever characters are in it (backslashes stay as they are).

    Raises:
        ToolchainError: the preprocessor has no way to write this name.
    """
    name = os.path.abspath(path)
    if "\n" not in name and '"' not in name:
        return f'#include "{name}"'
    if "\n" not in name and ">" not in name:
        return f"#include <{name}>"
    raise ToolchainError(
        f"no #include can name {name!r}: it holds a line break, or both a quote and a '>'\n"
        f"  likely fix: rename the file or its folder"
    )


def line_directive(path: Path, line: int = 1) -> str:
    """``#line`` for text that was read from ``path`` at ``line``, so that messages and debuggers name that file."""
    name = os.path.abspath(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'#line {line} "{name}"'


def sanitizers() -> list[str]:
    """The flags of ``OPWRIGHT_SANITIZE=address,undefined``, with which everything is compiled, the runtime too.

    A process that loads what they made needs the sanitizer first, ``LD_PRELOAD=$(c++ -print-file-name=libasan.so)``,
    and ``ASAN_OPTIONS=detect_leaks=0``, since Python and PyTorch free little of what they have at exit.
    """
    wanted = os.environ.get("OPWRIGHT_SANITIZE", "")
    if not wanted:
        return []
    # vptr asks for type information that libtorch keeps to itself; -O1 is what the sanitizers' authors advise, and
    # compiles in half the time
    return ["-O1", f"-fsanitize={wanted}", "-fno-sanitize=vptr", "-fno-omit-frame-pointer", "-g"]


def search_dirs(options: Options) -> list[str]:
    """The folders of ``-I``, absolute, in order, each once."""
    dirs = [os.path.abspath(folder) for folder in options.include_dirs]
    return list(dict.fromkeys([*dirs, str(header_dir())]))


def compile_flags(compiler: Compiler, options: Options, language: Language) -> list[str]:
    """Everything between the compiler's name and the source, except what names a file."""
    if options.exact is not None:
        return [*options.exact, *_exact_search(options), *options.extra_cflags]
    if compiler.kind == "nvcc":
        return _nvcc_flags(compiler, options)
    flags = [f"-std={options.std if language == 'c++' else _C_STANDARD}"]
    flags += ["-g", "-O0"] if options.debug else ["-O3"]
    flags += [*_machine(compiler, options.native), "-fPIC", "-pipe", *_numerics(), *_isolation(compiler, language)]
    flags += [f"-D{macro}" for macro in (*_libmvec(compiler, options), *options.define)]
    return [*flags, *_search(options), *_quiet(options), *sanitizers(), *options.extra_cflags]


def _nvcc_flags(compiler: Compiler, options: Options) -> list[str]:
    """Those of cuda_flags.py, and for the host's half what other sources get."""
    from opwright.toolchain.architectures import architecture_flags
    from opwright.toolchain.cuda_flags import device_flags, for_host
    from opwright.toolchain.nvcc import architectures

    host = compiler.host or compiler
    own = any("arch" in word or "-gencode" in word for word in options.extra_cuda_cflags)
    return [
        *device_flags(std=options.std, debug=options.debug),
        *([] if own else architecture_flags(architectures(compiler.path))),
        *for_host([*_machine(host, native=False), "-fPIC", *_numerics(), *_isolation(host, "c++")]),
        *(f"-D{macro}" for macro in options.define),
        *_search(options),
        *_quiet(options),
        "-objtemp",
        *for_host([*sanitizers(), *options.extra_cflags]),
        *options.extra_cuda_cflags,
    ]


def _search(options: Options) -> list[str]:
    system = (word for folder in options.system_include_dirs for word in ("-isystem", os.path.abspath(folder)))
    return [*(f"-I{folder}" for folder in search_dirs(options)), *system]


def _quiet(options: Options) -> list[str]:
    return [] if any(flag.startswith("-W") for flag in options.extra_cflags) else ["-w"]


def _exact_search(options: Options) -> list[str]:
    folders = [f"-I{os.path.abspath(folder)}" for folder in options.include_dirs]
    return [
        *folders,
        *(word for folder in options.system_include_dirs for word in ("-isystem", os.path.abspath(folder))),
    ]


def link_flags(compiler: Compiler, options: Options) -> list[str]:
    """What follows the objects when a shared library is linked from them."""
    if options.relocatable:
        return ["-r", "-nostdlib"]
    if options.exact is not None:
        return [*([] if options.program else ["-shared"]), *options.extra_ldflags]
    flags = ["-shared"]
    if "linux" in compiler.target:
        flags += ["-Wl,-z,now", "-Wl,--as-needed"]
        if not any(
            flag.startswith("-fsanitize") for flag in (*sanitizers(), *options.extra_cflags, *options.extra_ldflags)
        ):
            flags.append("-Wl,-z,defs")  # a sanitizer's own symbols come from the program that is instrumented
    return [*flags, *sanitizers(), *options.extra_ldflags]


def _machine(compiler: Compiler, native: bool) -> list[str]:
    architecture = compiler.target.split("-", 1)[0]
    if not native:
        return [f"-march={BASELINE[architecture]}" if architecture in BASELINE else "-mtune=generic"]
    if architecture == "x86_64":
        return ["-march=native", "-mprefer-vector-width=512"]
    # -mcpu is the one that all compilers know for arm; on x86 it means something else
    return ["-mcpu=native" if architecture in ("aarch64", "arm64") else "-march=native"]


def _numerics() -> list[str]:
    return ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]


def _libmvec(compiler: Compiler, options: Options) -> tuple[str, ...]:
    """For this machine alone, because a newer glibc has more of it (include/opwright/math.h)."""
    fits = (
        options.native and not options.debug and compiler.kind == "gcc" and compiler.target.startswith("x86_64-linux")
    )
    return ("OPWRIGHT_LIBMVEC",) if fits else ()


def _isolation(compiler: Compiler, language: Language) -> list[str]:
    flags = ["-fvisibility=hidden"]
    if language == "c++":
        flags += ["-fvisibility-inlines-hidden"]
        if compiler.kind == "gcc":
            flags += ["-fno-gnu-unique"]
    else:
        flags += ["-fexceptions"]  # a C++ exception may pass through a C function that calls back
    return flags
