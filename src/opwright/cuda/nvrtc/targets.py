"""For which GPUs the device half is compiled."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from opwright.cuda.nvrtc.discovery import Nvrtc
from opwright.errors import ToolchainError
from opwright.toolchain.architectures import VARIABLE, architecture_flags
from opwright.toolchain.cache import cache_root, write_atomically

__all__ = ["Target", "supported", "targets"]

_GENCODE = re.compile(r"-gencode=arch=compute_\w+,code=\[?([^\]]*)\]?")
_SECONDS = 60


class Target(NamedTuple):
    """An image of the device half: ``sm_90`` for machine code, ``compute_120`` for PTX."""

    architecture: str

    @property
    def is_ptx(self) -> bool:
        """Whether a GPU's driver compiles it, when it is loaded."""
        return self.architecture.startswith("compute_")

    @property
    def number(self) -> int:
        """90 for ``sm_90`` and for ``sm_90a``."""
        return int(re.sub(r"\D", "", self.architecture))

    @property
    def exact(self) -> bool:
        """Whether it is for this architecture alone: ``sm_90a``."""
        return self.architecture[-1] in "af"


def targets(nvrtc: Nvrtc) -> tuple[Target, ...]:
    """What ``TORCH_CUDA_ARCH_LIST`` asks for; else the GPUs that are here; else the oldest that NVRTC knows, and PTX.

    Raises:
        ToolchainError: it asks for something that this NVRTC doesn't know; NVRTC can't be run.
    """
    try:
        flags = architecture_flags(supported(nvrtc))
    except ToolchainError as error:
        raise ToolchainError(str(error).replace("this nvcc", "this NVRTC")) from None
    named = [name for flag in flags if (match := _GENCODE.fullmatch(flag)) for name in match[1].split(",")]
    if not named:
        raise ToolchainError(f"{VARIABLE} names no architecture\n  likely fix: unset it")
    return tuple(Target(name) for name in dict.fromkeys(named))


def supported(nvrtc: Nvrtc) -> tuple[str, ...]:
    """The architectures that it compiles for, as ``"75"``, oldest first: asked once, and remembered in the cache.

    Raises:
        ToolchainError: it can't be run.
    """
    key = sha256(nvrtc.identity.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    file = cache_root() / "compilers" / f"nvrtc-{key}.json"
    try:
        found = tuple(map(str, json.loads(file.read_bytes())))
    except (OSError, ValueError, TypeError):
        found = ()
    if not found:
        found = _asked(nvrtc)
        with contextlib.suppress(OSError):
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomically(file, json.dumps(found))
    return found


def _asked(nvrtc: Nvrtc) -> tuple[str, ...]:
    import subprocess

    worker = Path(__file__).with_name("worker.py")
    command = [sys.executable, "-I", "-S", str(worker), "--architectures", nvrtc.library, nvrtc.builtins]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"NVRTC at {nvrtc.library} can't be run: {error}") from error
    numbers = tuple(sorted(done.stdout.split(), key=int)) if done.returncode == 0 else ()
    if not numbers:
        raise ToolchainError(
            f"NVRTC at {nvrtc.library} can't be run: {(done.stdout + done.stderr).strip()[-500:] or 'no word'}\n"
            "  likely fix: install it again (pip install --force-reinstall nvidia-cuda-nvrtc)"
        )
    return numbers
