"""CUDA sources: three back ends that build the same text, found when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from opwright.codegen.backends import Backend, finders
from opwright.errors import ToolchainError
from opwright.log import logger

__all__ = ["backend"]

_BACKENDS = {
    "nvcc": ("opwright.cuda.nvcc", "Nvcc"),
    "nvrtc": ("opwright.cuda.nvrtc", "Nvrtc"),
    "emulate": ("opwright.cuda.emulation", "Emulate"),
}
_FOR_GPUS = ("nvcc", "nvrtc")


def backend(name: str | None = None) -> Backend:
    """The back end called `name`, ``"nvcc"``, ``"nvrtc"`` or ``"emulate"``; for None, nvcc or else NVRTC.

    Raises:
        ToolchainError: there is none of that name, or it can't be used here; for None: neither can.
    """
    if name is None:
        return _best([_made(each) for each in _FOR_GPUS])
    if name not in _BACKENDS:
        raise ToolchainError(
            f"backend={name!r} names no back end for CUDA sources, expected one of {', '.join(map(repr, _BACKENDS))}\n"
            "  likely fix: leave it out; then nvcc is used, or NVRTC where there is no nvcc"
        )
    found = _made(name)
    if problem := found.missing():
        raise ToolchainError(f"the back end {name!r} can't be used here: {problem}")
    return found


def _made(name: str) -> Backend:
    module, kind = _BACKENDS[name]
    made: Backend = getattr(importlib.import_module(module), kind)()
    return made


def _best(known: Sequence[Backend]) -> Backend:
    problems = []
    for each in known:
        problem = each.missing()
        if not problem:
            logger.debug("CUDA sources are compiled by %s", each.name)
            return each
        logger.debug("CUDA sources can't be compiled by %s: %s", each.name, problem)
        problems.append("\n  " + f"{each.name}: {problem}".replace("\n", "\n    "))
    raise ToolchainError(
        f"nothing here can compile CUDA code{''.join(problems)}\n"
        '  likely fix: install one of them; or run the kernels on the CPU: load(..., backend="emulate")'
    )


finders.append(backend)
