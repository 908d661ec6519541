"""What is said to the compilers of an extension: PyTorch's words, so that a source means what it always meant."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from opwright.toolchain import nvcc
from opwright.toolchain.architectures import architecture_flags

_STANDARD = "-std=c++20"
_NO_IMPLICIT_HALF = (
    *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__"),
    *("-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr"),
)


def words(flags: Sequence[str]) -> list[str]:
    """`flags` one word each: PyTorch lets a shell split them, so that one string may hold several."""
    return [word for flag in flags for word in shlex.split(flag)]


def macros(flags: Sequence[str]) -> list[str]:
    """The names that words for a compiler define, in their order."""
    joined = re.findall(r"(?:^|\n)-D\n?(\w+)", "\n".join(flags))
    return list(dict.fromkeys(joined))


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
