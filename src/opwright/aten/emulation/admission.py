"""Extensions that don't belong to this process's emulator are refused before their code runs.

So are those that call functions of PyTorch's CUDA libraries which the emulated device hasn't.

An extension names the emulator that it was built for among the libraries that it needs: the file's name has Opwright's
version, whether accesses are checked, and a hash. Python asks its audit hooks before it loads a library, by ``import``
as well as by ctypes, which `torch.ops.load_library` calls.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from opwright.aten.error_hints import demangled
from opwright.cuda.emulation.runtime import NAME
from opwright.errors import ToolchainError
from opwright.toolchain.binary.elf import needed_libraries, symbols

DEVICE = "libopwright_cuda_device.so"
"""Extensions look for the device by its name: they get the one that the process has loaded, whichever built them."""
_EMULATOR = re.compile(rf"{NAME}(?:-(?P<version>\d.*?))?(?P<checked>-checked)?-[0-9a-f]{{16}}\.so")
_OF_PYTORCH = re.compile(r"lib(?:c10|torch)\w*\.so")
_OF_CUDA = re.compile(r"lib(?:c10_cuda|torch_cuda\w*|cudart)\.so(?:\.\d+)*")
_OF_SYSTEM = re.compile(r"lib(?:stdc\+\+|gcc_s|c|m|pthread|dl|rt|gomp)\.so.*|ld-linux.*")
_CALLED_OF_CUDA = re.compile(r"_ZN[VK]*(?:2at|3c10)4cuda")
"""How the names of at::cuda's and c10::cuda's functions begin."""
_AGAIN = "build it again as it was built, under opwright run --emulate{}: setup.py build_ext --inplace, or load"


class _Emulator(NamedTuple):
    """What the name of an emulator's file tells."""

    file: str
    version: str
    checked: bool

    @property
    def described(self) -> str:
        version = f"Opwright {self.version}" if self.version else "an older Opwright"
        return f"{version}, {'checks every access' if self.checked else 'unchecked'}: {self.file}"


def admit_alone(runtime: Path, has: Callable[[str], bool]) -> None:
    """From now on, let this process load no extension that was built for another emulator, or for a GPU.

    Args:
        runtime: the emulator that the process has.
        has: returns whether the device, or PyTorch, has a function of that (mangled) name.
    """

    def ask(event: str, arguments: tuple[object, ...]) -> None:
        if event not in ("import", "ctypes.dlopen"):
            return
        library = arguments[event == "import"]  # of a module in Python, None
        if isinstance(library, (str, bytes)) and (refusal := problem(path := os.fsdecode(library), runtime.name, has)):
            raise ImportError(refusal, path=path) if event == "import" else OSError(refusal)

    sys.addaudithook(ask)


def problem(library: str, runtime: str, has: Callable[[str], bool]) -> str:
    """Return why a process can't load a library, with the fix; "" if it can, or if it is no extension of PyTorch.

    Args:
        library: the file.
        runtime: the name of the emulator's file in this process.
        has: returns whether the device, or PyTorch, has a function of that (mangled) name.
    """
    try:
        needed = [os.path.basename(name) for name in needed_libraries(library)]
    except OSError:  # the loader finds it elsewhere, or says what is wrong
        return ""
    if not any(map(_OF_PYTORCH.fullmatch, needed)):
        return ""
    emulator = next((name for name in needed if _EMULATOR.fullmatch(name)), "")
    if emulator:
        return (
            _missing(library, needed, has)
            if emulator == runtime
            else _of_another(library, _told(emulator), _told(runtime))
        )
    gpus = [name for name in needed if _OF_CUDA.fullmatch(name)]
    return _for_gpus(library, gpus, _told(runtime)) if gpus else ""


def _missing(library: str, needed: Sequence[str], has: Callable[[str], bool]) -> str:
    """Return that an extension calls functions of PyTorch for CUDA that nothing has; "" if it doesn't.

    One that needs libraries of its author may have them from there.
    """
    known = (_EMULATOR, _OF_PYTORCH, _OF_SYSTEM)
    if any(name != DEVICE and not any(each.fullmatch(name) for each in known) for name in needed):
        return ""
    try:
        called = filter(_CALLED_OF_CUDA.match, symbols(Path(library)).undefined)
    except (OSError, ToolchainError):  # the loader says what is wrong
        return ""
    missing = [demangled(name) for name in sorted(called) if not has(name)]
    if not missing:
        return ""
    return (
        f"{library} calls {', '.join(missing)}, which Opwright's emulation of CUDA doesn't have\n"
        "  likely fix: leave that part out, #ifndef OPWRIGHT_EMULATION, or run it on a GPU"
    )


def _told(name: str) -> _Emulator:
    match = _EMULATOR.fullmatch(name)
    return _Emulator(name, (match and match["version"]) or "", bool(match and match["checked"]))


def _of_another(library: str, built: _Emulator, ours: _Emulator) -> str:
    if built.checked != ours.checked:
        with_or_without = ("without", "with")
        reason = (
            f"{library} was built {with_or_without[built.checked]} --check, and this process runs "
            f"{with_or_without[ours.checked]} it"
        )
    elif built.version != ours.version:
        reason = f"{library} was built by another version of Opwright, whose emulator isn't this process's"
    else:
        reason = f"{library} was built for an emulator of other sources, or by another compiler, than this process's"
    return (
        f"{reason}\n"
        f"  built for:  {built.described}\n"
        f"  this one:   {ours.described}\n"
        f"  likely fix: {_AGAIN.format(' --check' * ours.checked)}"
    )


def _for_gpus(library: str, needed: Sequence[str], ours: _Emulator) -> str:
    return (
        f"{library} was built for a GPU, and this process emulates CUDA\n"
        f"  it needs:   {', '.join(needed)}\n"
        f"  likely fix: {_AGAIN.format(' --check' * ours.checked)}"
    )
