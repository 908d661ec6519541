"""Where the CUDA toolkit is."""

from __future__ import annotations

import os
import shutil

_USUAL = "/usr/local/cuda"


def cuda_home() -> str | None:
    """The toolkit's folder: ``CUDA_HOME`` or ``CUDA_PATH``, that of the ``nvcc`` on the PATH, or the usual one."""
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
    """The toolkit's folder of headers, as a list of one or none."""
    return [os.path.realpath(os.path.join(home, "include"))] if home else []


def library_dirs(home: str | None) -> list[str]:
    """The toolkit's folders of libraries."""
    folders = [os.path.realpath(os.path.join(home, name)) for name in ("lib64", "lib")] if home else []
    return [folder for folder in folders if os.path.isdir(folder)][:1]
