"""The device's library, and how an extension is compiled for it and linked to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from opwright.aten.emulation.admission import DEVICE
from opwright.aten.pytorch import EMULATION_HEADERS, EMULATION_VARIABLE, Torch, find_torch, libraries
from opwright.cuda.emulation.backend import CPP_FLAGS, DEFINED, emulation_flags
from opwright.cuda.emulation.loops.compiling import build_emulated
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.cuda.emulation.runtime import build_runtime, check_flags
from opwright.cuda.libraries import THRUST, LinkLibraries, build_libraries, cccl_dir, explained, needed
from opwright.cuda.programs.command_line import CUDA_LIBRARIES, parse
from opwright.errors import ToolchainError
from opwright.toolchain import Options, Unit, build, find_compiler, include_line
from opwright.toolchain.binary.elf import symbols

__all__ = [
    "build_emulated",
    "build_library",
    "cpp_flags",
    "cuda_flags",
    "cuda_unit",
    "explained",
    "linked",
    "refuse_cuda_build",
    "without_cudas",
]

_CSRC = Path(__file__).parent / "csrc"
_CONFIGURED = "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"
"""PyTorch's build for the CPU has no header with its options of CUDA."""
_MACROS = (
    *(_CONFIGURED, *(f"-D{name}" for name in DEFINED[1:])),
    *("-DOPWRIGHT_EMULATION_HOST_TEXT", "-D__host__=", "-D__device__="),
)
"""Macros for C++ that isn't rewritten."""


def refuse_cuda_build(torch: Torch) -> None:
    """Refuse a PyTorch that has CUDA itself.

    Raises:
        ToolchainError: it was built with CUDA.
    """
    if torch.cuda is not None:
        raise ToolchainError(
            f"PyTorch {torch.version} in {torch.root} was built with CUDA, whose device can't be replaced; expected a "
            f"build for the CPU\n  likely fix: an environment with PyTorch for the CPU (pytorch.org says how), or "
            f"{EMULATION_VARIABLE} unset"
        )


def build_library(*, check: bool, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the device's library from the cache, or build it, once for each PyTorch.

    Raises:
        CompileError: this PyTorch's headers don't fit.
        ToolchainError: there is no usable compiler, or PyTorch was built with CUDA.
    """
    torch = find_torch()
    refuse_cuda_build(torch)
    runtime = build_runtime(check=check)
    named = [f"-Wl,-soname,{DEVICE}", f"-Wl,-rpath,{runtime.parent}"]
    first, *rest = [
        Unit(path.stem, f"{include_line(path)}\n", path, addition=LinkLibraries())
        for path in sorted(_CSRC.glob("*.cpp"))
    ]
    checked = ["-DOPWRIGHT_EMULATION_CHECK"] if check else []
    options = Options(
        native=False,
        exact=("-std=c++20", "-O2", "-fPIC", "-pipe", "-w", *_MACROS, *checked),
        include_dirs=(str(_CSRC),),
        system_include_dirs=(*EMULATION_HEADERS, *torch.include_dirs),
        extra_ldflags=(*named, *by_name(runtime), *_torch_libraries(torch, python=False)),
        identity=torch.identity,
    )
    name = f"opwright-cuda-device{'-checked' * check}"
    unit = Unit(name, first.text, first.source, extra=tuple(rest), addition=LinkLibraries())
    return build(unit, options, on_progress=on_progress).path


def _torch_libraries(torch: Torch, *, python: bool) -> list[str]:
    """Return the linker's flags for PyTorch's libraries."""
    names = libraries(torch, cuda=False, python=python)
    return [f"-L{torch.lib}", f"-Wl,-rpath,{torch.lib}", "-Wl,--no-as-needed", *(f"-l{name}" for name in names)]


def linked(torch: Torch, objects: Iterable[Path], *, python: bool, check: bool) -> list[str]:
    """Return the linker's flags for an extension: CUDA's libraries that it calls, PyTorch, the device, the emulator."""
    called = needed(name for path in objects for name in symbols(path).undefined)
    device = [str(build_library(check=check)), *by_name(build_runtime(check=check))]
    return [*map(str, build_libraries(called)), *_torch_libraries(torch, python=python), *device]


def by_name(runtime: Path) -> list[str]:
    """Return the linker's flags for the emulator, without its folder: the loader takes the one that the process has.

    Another one isn't found. By a path it would be loaded, too, and the process had two emulators.
    """
    return [f"-L{runtime.parent}", f"-l:{runtime.name}"]


def without_cudas(flags: Sequence[str]) -> list[str]:
    """Return the linker's flags without those that name CUDA's libraries, which `linked` adds as they are called."""
    return [flag for flag in flags if not (flag.startswith("-l") and flag[2:] in CUDA_LIBRARIES)]


def cuda_unit(source: Path, text: str, *, check: bool) -> Unit:
    """Return the unit of a ``.cu`` file of an extension, whose `text` includes or contains it."""
    defined = [*DEFINED, *(["OPWRIGHT_EMULATION_CHECK"] if check else [])]
    before = "".join(f"#define {name}\n" for name in defined) + "#include <opwright/emulation/extension.h>\n"
    watched = check_flags(find_compiler("c++")) if check else ()
    return Unit(
        source.stem,
        before + text,
        source,
        embeds=True,
        cflags=watched,
        rewrite=Rewriter(loops=not check, arrays=check, library=True),
    )


def _thrust_flags() -> tuple[str, ...]:
    """Return the flags for CCCL's headers, behind all others: CUB and what PyTorch includes are Opwright's own."""
    folder = cccl_dir()
    return (f"-D{THRUST}", "-idirafter", folder) if folder else ()


def cpp_flags() -> tuple[str, ...]:
    """Return the flags for C++ that isn't rewritten."""
    return (*_MACROS, *_thrust_flags())


def cuda_flags(flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the host compiler's flags for nvcc's `flags`, and the include folders among them.

    Raises:
        ToolchainError: an option of nvcc can't be served.
    """
    request = parse([*flags])
    standard = request.std.replace("c++", "gnu++", 1) if request.std in ("c++20", "c++23") else "gnu++20"
    level = [f"-O{request.optimize}", *(["-g"] if request.debug else [])]
    own = [f"-std={standard}", *level, "-fPIC", "-pipe", "-w", "-pthread", "-ffp-contract=off"]
    own += [*emulation_flags(), *CPP_FLAGS, _CONFIGURED, *_thrust_flags()]
    included = [word for name in request.included for word in ("-include", name)]
    return (*own, *request.defines, *request.host_flags, *included), request.include_dirs
