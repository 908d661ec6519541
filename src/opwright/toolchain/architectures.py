"""``TORCH_CUDA_ARCH_LIST``: for which GPUs nvcc compiles, in PyTorch's words."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from opwright.errors import ToolchainError

VARIABLE = "TORCH_CUDA_ARCH_LIST"
NATIVE = "native"
ALL_MAJOR = "all-major"
"""nvcc's word, not PyTorch's: every generation of GPUs that the compiler knows, and PTX of the newest."""
_OLDEST = "75"
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


def architecture_flags(supported: Sequence[str]) -> list[str]:
    """``-gencode`` for each architecture of ``TORCH_CUDA_ARCH_LIST``.

    ``all-major`` is every generation. Where that isn't set, or says ``native``: for the GPUs of this machine, and the
    newest one's code also as PTX, which the driver of a newer one translates. Where there is no GPU: for the oldest
    that this nvcc knows, likewise.

    Args:
        supported: what nvcc compiles for, as ``"75"``, the oldest first; nothing where it doesn't say.

    Raises:
        ToolchainError: an entry is no architecture, or not one that this nvcc compiles for.
    """
    asked = os.environ.get(VARIABLE, "").strip()
    if asked == ALL_MAJOR:
        entries = _generations(supported)
    else:
        entries = _expanded(asked) if asked and asked != NATIVE else _of_this_machine(supported)
    if not entries:
        oldest = _oldest(supported)
        return [f"-gencode=arch=compute_{oldest},code=[sm_{oldest},compute_{oldest}]"]
    return [flag for entry in dict.fromkeys(entries) for flag in _gencode(entry, supported, asked)]


def _oldest(supported: Sequence[str]) -> str:
    """CUDA 12's nvcc knows GPUs that its PyTorch doesn't run on."""
    modern = sorted(int(number) for number in supported if number.isdigit() and int(number) >= int(_OLDEST))
    return str(modern[0]) if modern else supported[0] if supported else _OLDEST


def _generations(supported: Sequence[str]) -> list[str]:
    """The first of each: its code runs on all that follow in the generation. 7.5 is the first that PyTorch runs on."""
    modern = sorted({int(n) for n in supported if n.isdigit() and int(n) >= int(_OLDEST)} or {int(_OLDEST)})
    first = [number for number in modern if number % 10 == 0 or number == modern[0]]
    entries = [f"{number // 10}.{number % 10}" for number in first]
    return [*entries[:-1], f"{entries[-1]}+PTX"]


def _expanded(asked: str) -> list[str]:
    for name, meaning in _NAMED.items():  # the combined names come before the single ones
        asked = asked.replace(name, meaning)
    return [entry for entry in re.split(r"[;, ]+", asked) if entry]


def _of_this_machine(supported: Sequence[str]) -> list[str]:
    """What the GPUs here are; one that nvcc doesn't know yet gets the newest code that it does know, to translate."""
    found = set(gpus())
    known = sorted({(int(number[:-1]), int(number[-1])) for number in supported} or found)
    fitting = {max((each for each in known if each <= gpu), default=known[0]) for gpu in found}
    entries = [f"{major}.{minor}" for major, minor in sorted(fitting)]
    return [*entries[:-1], f"{entries[-1]}+PTX"] if entries else []


def gpus() -> list[tuple[int, int]]:
    """The compute capability of each GPU that PyTorch sees; none where there is no PyTorch, or it has no CUDA."""
    try:  # a setup.py hasn't imported it, and what it builds must be the same as what `load` would
        import torch
    except (ImportError, OSError):
        return []
    if not torch.cuda.is_available():
        return []
    try:
        return [torch.cuda.get_device_capability(index) for index in range(torch.cuda.device_count())]
    except RuntimeError:  # a forked child, which may not ask; or a driver that broke meanwhile
        return []


def _gencode(entry: str, supported: Sequence[str], asked: str) -> list[str]:
    match = _ARCHITECTURE.fullmatch(entry)
    number = f"{match[1]}{match[2]}" if match else ""
    if not match or (supported and number.rstrip("af") not in supported):
        listed = " ".join(f"{known[:-1]}.{known[-1]}" for known in supported) or "such as 7.5 or 8.0+PTX"
        raise ToolchainError(
            f"{VARIABLE}={asked!r}: {entry!r} is no architecture that this nvcc compiles for; expected of: "
            f'{listed}\n  likely fix: {VARIABLE}="{listed.split()[-1]}", or unset it'
        )
    flags = [f"-gencode=arch=compute_{number},code=sm_{number}"]
    return [*flags, f"-gencode=arch=compute_{number},code=compute_{number}"] if match[3] else flags
