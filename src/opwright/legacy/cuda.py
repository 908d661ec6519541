"""The location of the CUDA toolkit, for C FFI extensions with CUDA objects."""

from __future__ import annotations

import os
import shutil

_USUAL = "/usr/local/cuda"


def cuda_home() -> str | None:
    """Find the toolkit: ``CUDA_HOME`` or ``CUDA_PATH``, the folder of the ``nvcc`` on the PATH, or the default."""
    nvcc = shutil.which("nvcc")
    candidates = [
        *(os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")),
        nvcc and os.path.dirname(os.path.dirname(nvcc)),
        nvcc and os.path.dirname(os.path.dirname(os.path.realpath(nvcc))),
        _USUAL,
    ]
    return next((home for home in candidates if home and _is_toolkit(home)), None)


def _is_toolkit(home: str) -> bool:
    return os.path.isfile(os.path.join(home, "include", "cuda_runtime.h"))


def include_dirs(home: str | None) -> list[str]:
    """Return the toolkit's include folder as a list of zero or one."""
    return [os.path.realpath(os.path.join(home, "include"))] if home else []


def library_dirs(home: str | None) -> list[str]:
    """Return the toolkit's library folders."""
    folders = [os.path.realpath(os.path.join(home, name)) for name in ("lib64", "lib")] if home else []
    return [folder for folder in folders if os.path.isdir(folder)][:1]
