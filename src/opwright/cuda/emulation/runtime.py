"""The emulator's runtime: a shared library, built once for each compiler, which runs blocks in a chosen order.

Checked kernels call it at every access, shift and sum (csrc/check*.cpp). The compiler generates these calls for the
thread and undefined-behaviour sanitizers, but no sanitizer is linked: the runtime defines the called functions. They
take CUDA's threads, blocks and barriers into account, work in any Python process, and don't end it after an error.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from opwright._version import __version__
from opwright.errors import ToolchainError
from opwright.toolchain import Options, Unit, build, line_directive
from opwright.toolchain.build.linked_object import LinkObject
from opwright.toolchain.compilers.compiler import Compiler

NAME = "opwright-emulation"
"""How the file's name begins. Opwright's version, "-checked" and a hash of all that was compiled follow."""
_ORDERS = ("forward", "reverse", "random")


class _Settings(NamedTuple):
    order: str = "forward"
    seed: int = 0
    workers: int = 0


_settings = [_Settings()]
_libraries: dict[Path, ctypes.CDLL] = {}


@contextlib.contextmanager
def order(kind: str, seed: int = 0) -> Iterator[None]:
    """Run the blocks of launches inside the ``with`` block, and the threads of each block, in the given order.

    A correct kernel has the same result in every order (except for the rounding of floating-point atomics).

    Args:
        kind: ``"forward"`` (the default without this), ``"reverse"`` or ``"random"``.
        seed: the seed of the random order.

    Raises:
        ValueError: `kind` isn't one of the three.
    """
    if kind not in _ORDERS:
        raise ValueError(f"order({kind!r}) names no order, expected one of {', '.join(map(repr, _ORDERS))}")
    with _changed(_settings[-1]._replace(order=kind, seed=seed)):
        yield


@contextlib.contextmanager
def workers(count: int) -> Iterator[None]:
    """Distribute the blocks of launches inside the ``with`` block over `count` operating-system threads.

    Args:
        count: the number of threads; 0 means one for each processor (the default without this).

    Raises:
        ValueError: `count` is negative.
    """
    if count < 0:
        raise ValueError(f"workers({count}) is negative, expected how many threads share a launch's blocks")
    with _changed(_settings[-1]._replace(workers=count)):
        yield


@contextlib.contextmanager
def _changed(settings: _Settings) -> Iterator[None]:
    _settings.append(settings)
    _apply()
    try:
        yield
    finally:
        del _settings[next(at for at, each in enumerate(_settings) if each is settings)]  # others may be equal
        _apply()


def apply_settings(path: Path) -> None:
    """Load the runtime at `path` and apply the current and all later settings to it."""
    if path not in _libraries:
        library = ctypes.CDLL(str(path))
        library.opwright_emulation_order.argtypes = [ctypes.c_int, ctypes.c_uint64]
        library.opwright_emulation_workers.argtypes = [ctypes.c_int]
        _libraries[path] = library
        _apply()


def _apply() -> None:
    settings = _settings[-1]
    for library in _libraries.values():
        library.opwright_emulation_order(_ORDERS.index(settings.order), settings.seed)
        library.opwright_emulation_workers(settings.workers)


_WATCHED = "-fsanitize=thread,alignment,bounds,signed-integer-overflow,shift,integer-divide-by-zero"
# The checker reads line numbers from uncompressed DWARF 4. Each line must stay with its own instructions.
_LINES = ("-g1", "-gdwarf-4", "-gz=none")
# A call for each access, none by way of another jump; a last one, of free, returns to its kernel.
_CALLS = ("-fno-plt", "-fno-optimize-sibling-calls")
# Without -fno-ipa-icf, two kernels with the same code become one function, with the lines of the first.
_GCC = ("-fno-ipa-icf", "--param=tsan-distinguish-volatile=1", "--param=tsan-instrument-func-entry-exit=0")
_CLANG = (
    *("-mllvm", "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-func-entry-exit=0"),
    *("-mllvm", "-tsan-instrument-memintrinsics=1"),
)


def check_flags(compiler: Compiler) -> tuple[str, ...]:
    """Return the compiler's flags for a checked unit."""
    return (_WATCHED, *_LINES, *_CALLS, *(_CLANG if compiler.kind == "clang" else _GCC))


_FLAGS = ("-O2", "-fno-strict-aliasing", "-pthread")
# libstdc++ has the functions of std::string for C++17 alone. A checked program in C++20 defines them itself, and they
# would stand for libstdc++'s. In C++20 the runtime, too, has its own (`own_templates`).
_STANDARD = "c++20"


def build_runtime(
    *,
    check: bool = False,
    program: bool = False,
    relocatable: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Return the runtime library, to which emulated code is linked, from the cache, or build it.

    Args:
        check: whether to return the variant that checks every access.
        program: whether to return the library of whole programs, another file than that of operators: with it a fault
            ends the process.
        relocatable: return an object file, which becomes a part of a program, instead of a shared library.
        on_progress: called with a line of text if the library has to be built.

    Raises:
        ToolchainError: there is no usable compiler or cache folder.
    """
    files = sorted((Path(__file__).parent / "csrc").glob("*.cpp"))
    units = [_unit(path) for path in files if check or not path.stem.startswith("check")]
    if not units:
        raise ToolchainError(f"Opwright's installation is damaged: {Path(__file__).parent / 'csrc'} is empty")
    macro = ("-DOPWRIGHT_EMULATION_CHECK",) if check else ()
    first, *rest = units
    # The shared library is linked from the object file: it is compiled once for operators and programs.
    linked = LinkObject(
        Unit(
            f"{NAME}-{__version__}{'-checked' * check}-object", first.text, first.source, extra=tuple(rest), embeds=True
        ),
        Options(extra_cflags=(*_FLAGS, *macro), std=_STANDARD, native=False, relocatable=True, own_templates=True),
    )
    if relocatable:
        return linked.build(on_progress)
    options = Options(extra_ldflags=("-pthread",), native=False)
    library = f"{NAME}-{__version__}{'-program' * program}{'-checked' * check}"
    return build(Unit(library, "", addition=linked), options, on_progress=on_progress).path


def _unit(path: Path) -> Unit:
    return Unit(path.stem, f"{line_directive(path)}\n{path.read_text('utf-8')}", path, embeds=True)
