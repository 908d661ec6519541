"""The start of a process that emulates CUDA: the device is there before PyTorch first asks for one."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from opwright.errors import ToolchainError

_library: list[ctypes.CDLL] = []
_begun: list[bool] = []


def begin_with_torch() -> None:
    """Provide the device as soon as this process imports torch; do nothing if that was asked for before.

    Raises:
        ToolchainError: torch is imported already.
    """
    if _begun:
        return
    if "torch" in sys.modules:
        raise ToolchainError(
            "CUDA can't be emulated in this process, which has imported torch: PyTorch has asked for devices already\n"
            "  likely fix: opwright run --emulate SCRIPT"
        )
    from opwright.legacy.patching import after_import

    _begun.append(True)
    after_import("torch", _complete, before=_load)


def _load() -> None:
    """Build and load the device's library; an error ends the process: nothing would run as it was asked to."""
    from opwright.aten.emulation.admission import admit_alone
    from opwright.aten.emulation.library import build_library
    from opwright.aten.pytorch import emulation
    from opwright.cuda.emulation.runtime import build_runtime
    from opwright.errors import OpwrightError
    from opwright.log import progress

    try:
        check = emulation() == "check"
        path: Path = build_library(check=check, on_progress=progress)
        _library.append(ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_GLOBAL))
        admit_alone(build_runtime(check=check), lambda name: hasattr(_library[0], name))
    except (OpwrightError, OSError) as error:
        raise SystemExit(f"opwright: CUDA can't be emulated: {error}") from error


def _complete() -> None:
    import torch

    from opwright.aten.emulation.torch_cuda import provide

    provide(torch, _library[0])
