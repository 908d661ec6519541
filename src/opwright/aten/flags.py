"""What is said to the compilers of an extension: PyTorch's words, so that a source means what it always meant."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from opwright.errors import ToolchainError
from opwright.toolchain import nvcc

_STANDARD = "-std=c++20"
_NO_IMPLICIT_HALF = (
    *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__"),
    *("-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr"),
)
_NAMED = {
    "Maxwell+Tegra": "5.3",
    "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX",
    "Volta+Tegra": "7.2",
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell+Tegra": "11.0",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
}
_ARCHITECTURE = re.compile(r"(\d+)\.(\d[af]?)(\+PTX)?")


def words(flags: Sequence[str]) -> list[str]:
    """`flags` one word each: PyTorch lets a shell split them, so that one string may hold several."""
    return [word for flag in flags for word in shlex.split(flag)]


def cpp_flags(extra: Sequence[str]) -> tuple[str, ...]:
    """The words for a C++ source, before those of the user.

    ``-fno-gnu-unique``, so that an edited extension that is loaded beside its old self has its own static data.
    """
    standard = [] if any(word.startswith("-std=") for word in extra) else [_STANDARD]
    level = [] if any(re.match(r"-O", word) for word in extra) else ["-O1"]
    return ("-fPIC", *standard, *level, "-pipe", "-fno-gnu-unique", "-w")


def cuda_flags(extra: Sequence[str], compiler: str) -> tuple[str, ...]:
    """The words for a CUDA source, before those of the user.

    Args:
        extra: the user's.
        compiler: nvcc's path; it says which architectures it knows.

    Raises:
        ToolchainError: ``TORCH_CUDA_ARCH_LIST`` names something that isn't one of them.
    """
    standard = [] if any(word.startswith(("-std=", "--std=")) for word in extra) else [_STANDARD]
    known = [] if any("arch" in word for word in extra) else architecture_flags(nvcc.architectures(compiler))
    level = [] if any(word.startswith("-O") for word in extra) else ["-O3"]
    return (*_NO_IMPLICIT_HALF, "--compiler-options", "-fPIC", "-w", *standard, *level, *known)


def architecture_flags(supported: Sequence[str]) -> list[str]:
    """``-gencode`` for each architecture of ``TORCH_CUDA_ARCH_LIST``.

    Where that isn't set: for the GPUs of this machine. Where there are none: for the oldest that this nvcc and
    PyTorch both know, as code that newer ones translate when it is loaded.

    Raises:
        ToolchainError: an entry is no architecture, or not one that this nvcc compiles for.
    """
    asked = os.environ.get("TORCH_CUDA_ARCH_LIST", "").strip()
    entries = _expanded(asked) if asked and asked != "native" else _of_this_machine(supported)
    if not entries:
        oldest = supported[0] if supported else "75"
        return [f"-gencode=arch=compute_{oldest},code=[sm_{oldest},compute_{oldest}]"]
    return [flag for entry in dict.fromkeys(entries) for flag in _gencode(entry, supported, asked)]


def _expanded(asked: str) -> list[str]:
    for name, meaning in _NAMED.items():  # the combined names come before the single ones
        asked = asked.replace(name, meaning)
    return [entry for entry in re.split(r"[;, ]+", asked) if entry]


def _of_this_machine(supported: Sequence[str]) -> list[str]:
    """What the GPUs here are; one that nvcc doesn't know yet gets the newest code that it does know, to translate."""
    try:  # a setup.py hasn't imported it, and what it builds must be the same as what `load` would
        import torch
    except (ImportError, OSError):
        return []
    if not torch.cuda.is_available():
        return []
    found = {torch.cuda.get_device_capability(index) for index in range(torch.cuda.device_count())}
    known = sorted({(int(number[:-1]), int(number[-1])) for number in supported} or found)
    fitting = {max((each for each in known if each <= gpu), default=known[0]) for gpu in found}
    entries = [f"{major}.{minor}" for major, minor in sorted(fitting)]
    return [*entries[:-1], f"{entries[-1]}+PTX"] if entries else []


def _gencode(entry: str, supported: Sequence[str], asked: str) -> list[str]:
    match = _ARCHITECTURE.fullmatch(entry)
    number = f"{match[1]}{match[2]}" if match else ""
    if not match or (supported and number.rstrip("af") not in supported):
        listed = " ".join(f"{known[:-1]}.{known[-1]}" for known in supported) or "such as 7.5 or 8.0+PTX"
        raise ToolchainError(
            f"TORCH_CUDA_ARCH_LIST={asked!r}: {entry!r} is no architecture that this nvcc compiles for; expected of: "
            f'{listed}\n  likely fix: TORCH_CUDA_ARCH_LIST="{listed.split()[-1]}", or unset it'
        )
    flags = [f"-gencode=arch=compute_{number},code=sm_{number}"]
    return [*flags, f"-gencode=arch=compute_{number},code=compute_{number}"] if match[3] else flags
