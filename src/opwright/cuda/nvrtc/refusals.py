"""Errors for code that can't be split into a host half and a device half; they suggest nvcc."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opwright.errors import CompileError, UnsupportedError
from opwright.sources.cpp.line_markers import place_of
from opwright.sources.cpp.tokens import Tokens

WAY_OUT = 'build it with nvcc: backend="nvcc" (the CUDA toolkit, or pip install nvidia-cuda-nvcc)'

_UNDECLARED = re.compile(r"'(\w+)' was not declared|undeclared identifier '(\w+)'")
_UNDEFINED = re.compile(r"undefined (?:reference to [`']?|symbol: )(cu\w+)")
_LIBRARY = re.compile(r"'(?:cub|thrust|cooperative_groups)(?:'|::)|not a member of '(?:cub|thrust|cooperative_groups)")


def refuse_extended_lambdas(text: str, tokens: Tokens, left_out: Sequence[tuple[int, int]]) -> None:
    """Refuse lambdas in host code that are marked ``__device__``.

    Raises:
        UnsupportedError: there is such a lambda outside the ranges `left_out` of the host half.
    """
    for index, token in enumerate(tokens.all):
        if token.text != "opwright_device" or token.kind != "word" or not _behind_captures(tokens, index - 3):
            continue
        if not any(start <= token.start < end for start, end in left_out):
            raise UnsupportedError(
                f"{place_of(text, token.start)}: a lambda that is marked __device__ in host code can't be split into a "
                "host half and a device half, as NVRTC needs it\n"
                f"  likely fix: write a struct with a __device__ operator() outside of the function; or {WAY_OUT}"
            )


def _behind_captures(tokens: Tokens, index: int) -> bool:
    """Return whether the ``__attribute__`` at `index` follows a lambda's ``[...]``, directly or after another one."""
    if tokens.is_sign(index - 1, ")"):
        index = tokens.partner.get(index - 1, 1) - 1
    return tokens.is_word(index, "__attribute__") and tokens.is_sign(index - 1, "]")


def local_type_error(kernel: str) -> UnsupportedError:
    """Return the error for a kernel with a template argument that is local to a function."""
    kind = "a lambda" if "{lambda" in kernel else "a type that is local to a function"
    return UnsupportedError(
        f"the kernel {kernel} has {kind} among its template arguments: the device half, which NVRTC compiles, can't "
        "name it\n"
        f"  likely fix: move the type out of the function, to where it has a name; or {WAY_OUT}"
    )


def explain_error(error: CompileError, variables: frozenset[str]) -> CompileError:
    """Add an explanation to a C++ compiler error in the host half if the split for NVRTC caused it."""
    text = str(error)
    names = {name for match in _UNDECLARED.finditer(text) for name in match.groups() if name}
    if read := sorted(names & variables):
        why = (
            f"{', '.join(read)} lies on the device alone: NVRTC's host half can neither read nor write it\n"
            f"  likely fix: pass what the kernel needs as an argument; or {WAY_OUT}"
        )
    elif missing := sorted({match[1] for match in _UNDEFINED.finditer(text)}):
        why = (
            f"{', '.join(missing)} is of CUDA's runtime library, which the NVRTC back end doesn't link; it answers for "
            "what opwright/nvrtc/calls.h holds\n"
            f"  likely fix: {WAY_OUT}"
        )
    elif _LIBRARY.search(text):
        why = (
            "cub, Thrust and cooperative groups exist in NVRTC's device half alone: no host code can use them\n"
            f"  likely fix: {WAY_OUT}"
        )
    else:
        return error
    first, _, rest = text.partition("\n")
    return CompileError(f"{first}\n  {why}\n{rest}")
