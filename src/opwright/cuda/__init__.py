"""CUDA sources: three back ends that compile the same code, imported on demand."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from opwright.codegen.backends import Backend
from opwright.errors import ToolchainError
from opwright.log import logger

__all__ = ["find_backend"]

_BACKENDS = {
    "nvcc": ("opwright.cuda.nvcc", "Nvcc"),
    "nvrtc": ("opwright.cuda.nvrtc", "Nvrtc"),
    "emulate": ("opwright.cuda.emulation", "Emulate"),
}
_FOR_GPUS = ("nvcc", "nvrtc")


def find_backend(name: str | Backend | None = None) -> Backend:
    """Return the back end ``"nvcc"``, ``"nvrtc"`` or ``"emulate"``; for None, nvcc if it can be used, else NVRTC.

    A back end passed as `name` is returned unchanged.

    Raises:
        ToolchainError: there is no such back end, or it can't be used here; for None, neither nvcc nor NVRTC can.
        TypeError: `name` is neither a name nor a back end.
    """
    if name is None:
        return _best([_create_backend(each) for each in _FOR_GPUS])
    if not isinstance(name, str):
        if isinstance(name, type) or not all(hasattr(name, part) for part in ("name", "device", "suffix", "build")):
            raise TypeError(
                f"backend={name!r}, expected 'nvcc', 'nvrtc', 'emulate' or a back end, as opwright.emulate(check=True)"
            )
        return name
    if name not in _BACKENDS:
        raise ToolchainError(
            f"backend={name!r} names no back end for CUDA sources, expected one of {', '.join(map(repr, _BACKENDS))}\n"
            "  likely fix: leave it out; then nvcc is used, or NVRTC where there is no nvcc"
        )
    backend = _create_backend(name)
    if problem := backend.missing():
        raise ToolchainError(f"the back end {name!r} can't be used here: {problem}")
    return backend


def _create_backend(name: str) -> Backend:
    module, kind = _BACKENDS[name]
    backend: Backend = getattr(importlib.import_module(module), kind)()
    return backend


def _best(candidates: Sequence[Backend]) -> Backend:
    problems = []
    for candidate in candidates:
        problem = candidate.missing()
        if not problem:
            logger.debug("CUDA sources are compiled by %s", candidate.name)
            return candidate
        logger.debug("CUDA sources can't be compiled by %s: %s", candidate.name, problem)
        problems.append("\n  " + f"{candidate.name}: {problem}".replace("\n", "\n    "))
    raise ToolchainError(
        f"nothing here can compile CUDA code{''.join(problems)}\n"
        '  likely fix: install one of them; or run the kernels on the CPU: load(..., backend="emulate")'
    )
