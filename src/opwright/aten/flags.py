"""Compiler flags of an ATen extension, the same as torch.utils.cpp_extension's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from opwright.toolchain.compilers import nvcc
from opwright.toolchain.compilers.cuda_architectures import architecture_flags

_STANDARD = "-std=c++20"
_NO_IMPLICIT_HALF = (
    *("-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__"),
    *("-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr"),
)


def split_flags(flags: Sequence[str]) -> list[str]:
    """Split `flags` by shell rules, as PyTorch does: one string may contain several flags."""
    return [word for flag in flags for word in shlex.split(flag)]


def macro_names(flags: Sequence[str]) -> list[str]:
    """Return the names of the macros that compiler flags define, in order."""
    joined = re.findall(r"(?:^|\n)-D\n?(\w+)", "\n".join(flags))
    return list(dict.fromkeys(joined))


def cpp_flags(extra: Sequence[str]) -> tuple[str, ...]:
    """Return the compiler flags for a C++ source, which precede the user's.

    ``-fno-gnu-unique`` gives an edited extension, loaded next to its old version, static data of its own.
    """
    standard = [] if any(word.startswith("-std=") for word in extra) else [_STANDARD]
    level = [] if any(re.match(r"-O", word) for word in extra) else ["-O1"]
    return ("-fPIC", *standard, *level, "-pipe", "-fno-gnu-unique", "-w")


def cuda_flags(extra: Sequence[str], compiler: str) -> tuple[str, ...]:
    """Return the compiler flags for a CUDA source, which precede the user's.

    Args:
        extra: the user's flags.
        compiler: nvcc's path, to query the architectures that it supports.

    Raises:
        ToolchainError: ``TORCH_CUDA_ARCH_LIST`` contains an unknown architecture.
    """
    standard = [] if any(word.startswith(("-std=", "--std=")) for word in extra) else [_STANDARD]
    known = [] if any("arch" in word for word in extra) else architecture_flags(nvcc.architectures(compiler))
    level = [] if any(word.startswith("-O") for word in extra) else ["-O3"]
    return (*_NO_IMPLICIT_HALF, "--compiler-options", "-fPIC", "-w", *standard, *level, *known)


_CXX_STANDARD = "c++20"
_OLD_STANDARD_FLAG = re.compile(r"(?P<before>--?std=)(?P<dialect>c|gnu)\+\+(?P<year>98|0x|03|11|1y|14|1z|17)")
_SEPARATE_STANDARD_FLAGS = ("-std", "--std")  # nvcc accepts the value as a separate argument


def updated_standard(flag: str) -> str:
    """Return a ``-std`` flag raised to today's standard; an empty string if the flag names no older standard."""
    match = _OLD_STANDARD_FLAG.fullmatch(flag)
    return f"{match['before']}{match['dialect']}++{_CXX_STANDARD[3:]}" if match else ""


def raise_standards(flags: Sequence[str]) -> list[str]:
    """Replace C++ standards before 20 in compiler flags by 20, the standard of PyTorch's own build.

    Also replaces them in lists passed on by ``-Xcompiler``.
    """
    result: list[str] = []
    for flag in flags:
        if result and result[-1] in _SEPARATE_STANDARD_FLAGS:
            result.append(updated_standard(f"-std={flag}")[5:] or flag)
        else:
            result.append(",".join(updated_standard(part) or part for part in flag.split(",")))
    return result
