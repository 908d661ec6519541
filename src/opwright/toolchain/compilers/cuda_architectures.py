"""GPU architectures to compile for: ``TORCH_CUDA_ARCH_LIST`` translated to nvcc's flags."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from opwright.errors import ToolchainError

VARIABLE = "TORCH_CUDA_ARCH_LIST"
NATIVE = "native"
ALL_MAJOR = "all-major"
"""nvcc's name (unknown to PyTorch) for every GPU generation that the compiler supports, and PTX of the newest."""
_OLDEST = "75"
NAMED = {
    "Kepler+Tesla": "3.7", "Kepler": "3.5+PTX", "Maxwell+Tegra": "5.3", "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX", "Volta+Tegra": "7.2", "Volta": "7.0+PTX", "Turing": "7.5+PTX", "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX", "Ada": "8.9+PTX", "Hopper": "9.0+PTX", "Blackwell+Tegra": "11.0",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}  # fmt: skip
"""The generations that torch.utils.cpp_extension accepts by name."""
_ARCHITECTURE = re.compile(r"(\d+)\.(\d[af]?)(\+PTX)?")


def architecture_flags(supported: Sequence[str]) -> list[str]:
    """Return ``-gencode`` flags for each architecture of ``TORCH_CUDA_ARCH_LIST``.

    ``all-major`` means every generation. If the variable is unset or ``native``, the flags are for this machine's GPUs,
    with PTX for the newest, which the drivers of newer GPUs translate. Without a GPU, they are for the oldest supported
    architecture, also with PTX.

    Args:
        supported: the architectures that nvcc supports, such as ``"75"``, the oldest first; empty if unknown.

    Raises:
        ToolchainError: an entry isn't an architecture, or this nvcc doesn't support it.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if setting == ALL_MAJOR:
        entries = _generations(supported)
    else:
        entries = _entries_of(setting) if setting and setting != NATIVE else _of_this_machine(supported)
    if not entries:
        oldest = _oldest(supported)
        return [f"-gencode=arch=compute_{oldest},code=[sm_{oldest},compute_{oldest}]"]
    return [flag for entry in dict.fromkeys(entries) for flag in _gencode(entry, supported, setting)]


def _oldest(supported: Sequence[str]) -> str:
    """Return the oldest supported architecture that PyTorch runs on (CUDA 12's nvcc supports older GPUs)."""
    modern = sorted(int(number) for number in supported if number.isdigit() and int(number) >= int(_OLDEST))
    return str(modern[0]) if modern else supported[0] if supported else _OLDEST


def _generations(supported: Sequence[str]) -> list[str]:
    """Return the first architecture of each generation, whose code runs on the later ones; PyTorch begins at 7.5."""
    modern = sorted({int(n) for n in supported if n.isdigit() and int(n) >= int(_OLDEST)} or {int(_OLDEST)})
    first = [number for number in modern if number % 10 == 0 or number == modern[0]]
    entries = [f"{number // 10}.{number % 10}" for number in first]
    return [*entries[:-1], f"{entries[-1]}+PTX"]


def _entries_of(setting: str) -> list[str]:
    entries = (NAMED.get(entry, entry) for entry in re.split(r"[;, ]+", setting))
    return [number for entry in entries for number in entry.split(";") if number]


def _of_this_machine(supported: Sequence[str]) -> list[str]:
    """Return entries for this machine's GPUs; a GPU too new for nvcc gets the newest supported architecture."""
    capabilities = set(gpus())
    known = sorted({(int(number[:-1]), int(number[-1])) for number in supported} or capabilities)
    newest = {max((code for code in known if code <= gpu), default=known[0]) for gpu in capabilities}
    entries = [f"{major}.{minor}" for major, minor in sorted(newest)]
    return [*entries[:-1], f"{entries[-1]}+PTX"] if entries else []


def gpus() -> list[tuple[int, int]]:
    """Return the compute capability of each GPU that PyTorch sees; none without PyTorch or without CUDA."""
    try:  # a setup.py may not have imported it, but must build the same as `load`
        import torch
    except (ImportError, OSError):
        return []
    if not torch.cuda.is_available():
        return []
    try:
        return [torch.cuda.get_device_capability(index) for index in range(torch.cuda.device_count())]
    except RuntimeError:  # CUDA can't be used in a forked child, or the driver has failed meanwhile
        return []


def _gencode(entry: str, supported: Sequence[str], setting: str) -> list[str]:
    match = _ARCHITECTURE.fullmatch(entry)
    number = f"{match[1]}{match[2]}" if match else ""
    if not match or (supported and number.rstrip("af") not in supported):
        listed = " ".join(f"{known[:-1]}.{known[-1]}" for known in supported) or "such as 7.5 or 8.0+PTX"
        raise ToolchainError(
            f"{VARIABLE}={setting!r}: {entry!r} is no architecture that this nvcc compiles for; expected of: "
            f'{listed}\n  likely fix: {VARIABLE}="{listed.split()[-1]}", or unset it'
        )
    flags = [f"-gencode=arch=compute_{number},code=sm_{number}"]
    return [*flags, f"-gencode=arch=compute_{number},code=compute_{number}"] if match[3] else flags
