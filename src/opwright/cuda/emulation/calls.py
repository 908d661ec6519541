"""Kernels that are called like functions: outside of a launch there is no block that they could run in."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.cuda.emulation.regions import Region
from opwright.errors import CompileError
from opwright.sources.launches import split_arguments
from opwright.sources.tokens import Tokens

_RUNTIME = (
    *("cudaFuncSetAttribute", "cudaFuncGetAttributes", "cudaFuncSetCacheConfig", "cudaFuncSetSharedMemConfig"),
    *("cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaOccupancyMaxPotentialBlockSize"),
    *("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxPotentialBlockSizeVariableSMem"),
)
_BEFORE_A_CALL = {"return", "else", "do", "case", "co_return"}


def refuse_calls(region: Region) -> None:
    """As nvcc does; only what is certain, since a function of the same name may be meant.

    Raises:
        CompileError: a kernel of the region is called without a launch.
    """
    tokens = region.tokens
    heads = dict(_heads(tokens))
    kernels = {tokens.all[at].text: count for at, count in heads.items()}
    found = [at for at, token in enumerate(tokens.all) if token.text in kernels and at not in heads]
    others = {tokens.all[at].text for at in found if declares(tokens, at)}
    for at in found:
        name, start = tokens.all[at].text, tokens.all[at].start
        if name not in others and _count(tokens, after_template(tokens, at + 1)) == kernels[name]:
            raise CompileError(
                f"{region.place(start)}: error: the kernel {name} is called like a function\n"
                f"  likely fix: launch it, {name}<<<grid, block>>>(...), or make it a __device__ function"
            )


def _heads(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Where the name of each kernel stands in its declaration, and how many parameters it has."""
    for at, token in enumerate(tokens.all):
        if token.text != "__global__":
            continue
        name = at + 1
        while name < len(tokens.all) and not tokens.is_sign(name, ";", "{", "<"):
            if not tokens.is_word(name) or not tokens.is_sign(name + 1, "("):
                name += 1
            elif tokens.all[name].text.startswith("__"):  # __launch_bounds__(256), __attribute__((...))
                name = tokens.partner.get(name + 1, name) + 1
            else:
                yield name, _count(tokens, name + 1)
                break


def _count(tokens: Tokens, opened: int) -> int:
    """How many arguments stand behind the ``(`` at `opened`; -1 where there is none."""
    end = tokens.partner.get(opened, -1)
    return len(split_arguments(tokens, opened + 1, end)) if tokens.is_sign(opened, "(") and end > 0 else -1


def after_template(tokens: Tokens, at: int) -> int:
    """The index behind the template's arguments that begin at `at`; `at` where there are none."""
    return (tokens.after_angle(at) or -1) if tokens.is_sign(at, "<") else at


def declares(tokens: Tokens, at: int) -> bool:
    """Whether the word is something else's name, too: after a type, or of an object or a scope."""
    before = at - 1
    while tokens.is_sign(before, "*", "&"):
        before -= 1
    if tokens.is_word(before):
        return tokens.all[before].text not in _BEFORE_A_CALL
    return tokens.is_sign(at - 1, ".", "->", "::", ">")


def handed_on(tokens: Tokens, kernels: set[str]) -> set[str]:
    """Those of `kernels` whose address is taken, but for the runtime's own functions: a pointer can call them."""
    return {
        token.text
        for at, token in enumerate(tokens.all)
        if token.text in kernels
        and not tokens.is_sign(after_template(tokens, at + 1), "(", "<<<")
        and not tokens.is_word(_caller(tokens, at), *_RUNTIME)
    }


def _caller(tokens: Tokens, at: int) -> int:
    """The index of the word before the ``(`` whose argument the token at `at` is; casts are passed over."""
    at -= 1
    while at > 0 and not tokens.is_sign(at, ";", "{", "}"):
        if tokens.is_sign(at, "(") and tokens.is_word(at - 1):
            return at - 1
        at = tokens.partner.get(at, at) if tokens.is_sign(at, ")", "]") else at
        at -= 1
    return -1
