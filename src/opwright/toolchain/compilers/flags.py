"""Flags for the compiler's and the linker's command lines.

These flags are always passed, for the following reasons:

* ``-fvisibility=hidden -fno-gnu-unique``, no SONAME: two builds of one operator can be loaded into one process
  without sharing a template's static data, which hot reload requires.
* ``-fno-math-errno -fno-trapping-math``: kernels' callers don't read ``errno`` or the floating-point flags. Without
  them ``sqrt`` is one instruction and branches become masks. Values still follow IEEE 754.
* ``-ffp-contract=off``: gcc would fuse ``a * b + c`` everywhere and clang within one expression only, so one source
  would have two results; unfused, it has the result of the same operators in PyTorch. A kernel can call ``fma`` for a
  fused multiply-add; ``extra_cflags=("-ffp-contract=fast",)`` enables fusing everywhere.
* ``-mprefer-vector-width=512`` for this machine's processor: gcc uses only 256 bits on most processors that have 512,
  and a loop of ``exp`` or ``tanh`` then takes two to four times as long (docs/gemm.md).
* ``-z defs``: an undefined symbol is an error of the build instead of one at the first call.
* ``-w``: no warnings unless the user enables them (for example with ``extra_cflags=("-Wall",)``).
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import ToolchainError

if TYPE_CHECKING:
    from opwright.languages import Language
    from opwright.toolchain.compilers.compiler import Compiler

BASELINE = {"x86_64": "x86-64-v2", "aarch64": "armv8-a", "arm64": "armv8-a"}
"""The processor that builds without ``native`` require.

NumPy's wheels and today's enterprise distributions also require x86-64-v2 (SSE4.2, of 2009).
"""

LIBMVEC = "OPWRIGHT_LIBMVEC"
"""The macro that makes exp, tanh and similar functions use glibc's vector functions."""
_C_STANDARD = "gnu17"


@dataclass(frozen=True)
class Options:
    """Compile and link options.

    Attributes:
        debug: use ``-g -O0`` instead of ``-O3``.
        native: compile for this machine's processor instead of `BASELINE`.
        define: macros, ``NAME`` or ``NAME=value``.
        include_dirs: header folders, searched in this order and before Opwright's own.
        extra_cflags: further compiler flags, after Opwright's own (so they take precedence).
        extra_ldflags: further linker flags, after the objects.
        std: the C++ standard (C units are compiled as gnu17).
        system_include_dirs: header folders of an installed package (PyTorch's). Their files are not watched
            individually: ``identity`` must change when the package does.
        identity: a string for everything else that affects the result; part of the cache key.
        relocatable: make one object file, to be linked into other libraries, instead of a shared library.
        own_templates: with ``relocatable``: the object file runs its own instances of templates, whatever the files
            that it is linked with define (`opwright.toolchain.binary.own_templates`).
        exact: compiler flags that replace all of Opwright's own, for a source written for another build system. Only
            header folders and ``extra_cflags`` are added.
        program: link a program instead of a shared library (with ``exact``).
        extra_cuda_cflags: further nvcc flags, after all others. ``extra_cflags`` that nvcc doesn't know itself are
            passed to its host compiler.
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
    own_templates: bool = False
    exact: tuple[str, ...] | None = None
    program: bool = False
    extra_cuda_cflags: tuple[str, ...] = ()


def header_dir() -> Path:
    """Return the folder that contains ``opwright.h``; every compilation searches it."""
    return Path(__file__).parents[2] / "include"


def include_line(path: Path) -> str:
    r"""Return the ``#include`` line for the file at ``path``; special characters are allowed (backslashes stay).

    Raises:
        ToolchainError: this name can't be written in an ``#include``.
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
    """Return a ``#line`` directive for code from line ``line`` of ``path``, for messages and debuggers."""
    name = os.path.abspath(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'#line {line} "{name}"'


def sanitizers() -> list[str]:
    """Return the flags for ``OPWRIGHT_SANITIZE=address,undefined``, used for all compilations, the runtime's too.

    A process must load the sanitizer before such a library, ``LD_PRELOAD=$(c++ -print-file-name=libasan.so)``, with
    ``ASAN_OPTIONS=detect_leaks=0``, since Python and PyTorch free little of their memory at exit.
    """
    wanted = os.environ.get("OPWRIGHT_SANITIZE", "")
    if not wanted:
        return []
    # vptr requires type information that libtorch doesn't export; the sanitizers' authors recommend -O1, which also
    # halves the compile time
    return ["-O1", f"-fsanitize={wanted}", "-fno-sanitize=vptr", "-fno-omit-frame-pointer", "-g"]


def search_dirs(options: Options) -> list[str]:
    """Return the folders for ``-I`` as absolute paths in order, without duplicates."""
    dirs = [os.path.abspath(folder) for folder in options.include_dirs]
    return list(dict.fromkeys([*dirs, str(header_dir())]))


def compile_flags(compiler: Compiler, options: Options, language: Language) -> list[str]:
    """Return all flags between the compiler's name and the source, except those that name a file."""
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
    """Return nvcc's own flags, and for host code the flags of other sources."""
    from opwright.toolchain.compilers.cuda_architectures import architecture_flags
    from opwright.toolchain.compilers.nvcc import architectures

    host = compiler.host or compiler
    own = any("arch" in flag or "-gencode" in flag for flag in options.extra_cuda_cflags)
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
    system = (flag for folder in options.system_include_dirs for flag in ("-isystem", os.path.abspath(folder)))
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
    """Return the flags after the objects on the linker's command line."""
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
            flags.append("-Wl,-z,defs")  # the sanitizer's symbols are defined by the instrumented program
    return [*flags, *sanitizers(), *options.extra_ldflags]


def _machine(compiler: Compiler, native: bool) -> list[str]:
    architecture = compiler.target.split("-", 1)[0]
    if not native:
        return [f"-march={BASELINE[architecture]}" if architecture in BASELINE else "-mtune=generic"]
    if architecture == "x86_64":
        return ["-march=native", "-mprefer-vector-width=512"]
    # all compilers support -mcpu for arm; on x86 it means something else
    return ["-mcpu=native" if architecture in ("aarch64", "arm64") else "-march=native"]


def _numerics() -> list[str]:
    return ["-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]


def _libmvec(compiler: Compiler, options: Options) -> tuple[str, ...]:
    """Return the macro for native builds only, because newer glibcs have more functions (math/math.h)."""
    return (LIBMVEC,) if options.native and not options.debug and has_libmvec(compiler) else ()


def has_libmvec(compiler: Compiler) -> bool:
    """Return whether glibc's vector functions can be used; only gcc calls them as `LIBMVEC` requires."""
    return compiler.kind == "gcc" and compiler.target.startswith("x86_64-linux")


def _isolation(compiler: Compiler, language: Language) -> list[str]:
    flags = ["-fvisibility=hidden"]
    if language == "c++":
        flags += ["-fvisibility-inlines-hidden"]
        if compiler.kind == "gcc":
            flags += ["-fno-gnu-unique"]
    else:
        flags += ["-fexceptions"]  # a C++ exception may pass through a C function that calls back
    return flags


_FOR_BOTH = r"(?s:-(?:[DUIO]|isystem|-?std=).*|-g)"
_WITH_A_WORD = ("-D", "-U", "-I", "-isystem", "-include")
_OPTIMISED = ("-O3", "-lineinfo")
_DEBUGGED = ("-g", "-G", "-O0")


def device_flags(*, std: str, debug: bool) -> list[str]:
    """Return nvcc's flags for the language and for device code, except the device's architecture."""
    return [f"-std={std}", *(_DEBUGGED if debug else _OPTIMISED), "--extended-lambda", "--expt-relaxed-constexpr"]


def for_host(flags: Sequence[str]) -> list[str]:
    """Wrap flags for gcc or clang so that nvcc passes them on; flags that nvcc knows itself stay as they are."""
    return list(_passed(iter(flags)))


def _passed(flags: Iterator[str]) -> Iterator[str]:
    for flag in flags:
        if flag in _WITH_A_WORD:
            yield from (flag, next(flags, ""))
        elif re.fullmatch(_FOR_BOTH, flag):
            yield flag
        else:
            yield f"-Xcompiler={_quoted(flag)}"


def _quoted(flag: str) -> str:
    r"""Quote a flag so that nvcc doesn't split it at its commas."""
    return '"' + flag.replace('"', r"\"") + '"' if "," in flag else flag


def link_flags_of_cuda(home: str | None, target: str) -> list[str]:
    """Return the linker flags of a library with CUDA code."""
    architecture = target.split("-", 1)[0]
    places = (
        (os.path.join(home, place) for place in ("lib64", "lib", f"targets/{architecture}-linux/lib")) if home else ()
    )
    folder = next((place for place in places if os.path.isfile(os.path.join(place, "libcudart_static.a"))), "")
    hidden = ["-Wl,--exclude-libs,libcudart_static.a"] if "linux" in target else []
    return [*([f"-L{folder}"] if folder else []), "-lcudart_static", *hidden, "-ldl", "-lrt", "-lpthread"]


Folder = str | os.PathLike[str]


def linked(options: Options, libraries: Sequence[str], library_dirs: Sequence[Folder]) -> Options:
    """Add to `options` the libraries to link and the folders to search them in, at link and at load time.

    The sizes and dates of libraries in `library_dirs` become part of the key, because users may change them. System
    libraries are assumed to stay compatible.

    Args:
        options: all other options.
        libraries: names without ``lib`` and suffix, such as ``"z"``.
        library_dirs: folders, searched in order before the system's.
    """
    folders = [os.path.abspath(folder) for folder in library_dirs]
    search_flags = [flag for folder in folders for flag in (f"-L{folder}", "-Xlinker", "-rpath", "-Xlinker", folder)]
    return dataclasses.replace(
        options,
        extra_ldflags=(*options.extra_ldflags, *search_flags, *(f"-l{name}" for name in libraries)),
        identity="|".join([options.identity, *_states(folders, libraries)]).strip("|"),
    )


def _states(folders: Sequence[str], libraries: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for name in libraries:
            for suffix in (".so", ".a", ".dylib"):
                path = os.path.join(folder, f"lib{name}{suffix}")
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                yield f"{path}:{status.st_size}:{status.st_mtime_ns}"
