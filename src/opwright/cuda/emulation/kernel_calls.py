"""Launches as calls: ``launch(configuration(GRID, BLOCK), "k<T>", "f.cu", 1, [&](auto &&...a) { k<T>(a...); }, ARGS)``.

The arguments are evaluated once, by the call. The kernel is called in the lambda with its usual template deduction and
conversions. Only arguments whose type would be lost, such as 0 and {...}, are written into the lambda literally.
Calling a kernel like a function is an error: outside a launch there is no block to run in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.cuda.emulation.regions import Region
from opwright.errors import CompileError
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.line_markers import has_line_marker, on_one_line
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.launches import Launch, Piece, find_launches, split_arguments

_RUNTIME = (
    *("cudaFuncSetAttribute", "cudaFuncGetAttributes", "cudaFuncSetCacheConfig", "cudaFuncSetSharedMemConfig"),
    *("cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaOccupancyMaxPotentialBlockSize"),
    *("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cudaOccupancyMaxPotentialBlockSizeVariableSMem"),
)
_BEFORE_A_CALL = {"return", "else", "do", "case", "co_return"}


def refuse_direct_calls(region: Region) -> None:
    """Refuse kernels that are called like functions, as nvcc does, unless another function may share the name.

    Raises:
        CompileError: a kernel of the region is called without a launch.
    """
    tokens = region.tokens
    heads = dict(_heads(tokens))
    kernels = {tokens.all[at].text: count for at, count in heads.items()}
    uses = [at for at, token in enumerate(tokens.all) if token.text in kernels and at not in heads]
    others = {tokens.all[at].text for at in uses if declares(tokens, at)}
    for at in uses:
        name, start = tokens.all[at].text, tokens.all[at].start
        if name not in others and _count(tokens, after_template(tokens, at + 1)) == kernels[name]:
            raise CompileError(
                f"{region.place(start)}: error: the kernel {name} is called like a function\n"
                f"  likely fix: launch it, {name}<<<grid, block>>>(...), or make it a __device__ function"
            )


def _heads(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the token index of each kernel's name in its declaration, and the number of its parameters."""
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
    """Return the number of arguments after the ``(`` at `opened`; -1 if there is no ``(``."""
    end = tokens.partner.get(opened, -1)
    return len(split_arguments(tokens, opened + 1, end)) if tokens.is_sign(opened, "(") and end > 0 else -1


def after_template(tokens: Tokens, at: int) -> int:
    """Return the index after the template arguments that begin at `at`; `at` if there are none."""
    return (tokens.after_angle(at) or -1) if tokens.is_sign(at, "<") else at


def declares(tokens: Tokens, at: int) -> bool:
    """Return whether the word at `at` is declared there, or is a member of an object or a scope."""
    before = at - 1
    while tokens.is_sign(before, "*", "&"):
        before -= 1
    if tokens.is_word(before):
        return tokens.all[before].text not in _BEFORE_A_CALL
    return tokens.is_sign(at - 1, ".", "->", "::", ">")


def kernels_by_address(tokens: Tokens, kernels: set[str]) -> set[str]:
    """Return the kernels whose address is taken, except as an argument of CUDA's runtime: pointers can call them."""
    return {
        token.text
        for at, token in enumerate(tokens.all)
        if token.text in kernels
        and not tokens.is_sign(after_template(tokens, at + 1), "(", "<<<")
        and not tokens.is_word(_caller(tokens, at), *_RUNTIME)
    }


def _caller(tokens: Tokens, at: int) -> int:
    """Return the index of the function's name if the token at `at` is an argument of a call, else -1; skip casts."""
    at -= 1
    while at > 0 and not tokens.is_sign(at, ";", "{", "}"):
        if tokens.is_sign(at, "(") and tokens.is_word(at - 1):
            return at - 1
        at = tokens.partner.get(at, at) if tokens.is_sign(at, ")", "]") else at
        at -= 1
    return -1


_LAUNCH = (
    "::opwright::emulation::launch(::opwright::emulation::configuration({}), {}, {}, [&]({}) -> void {{ {}({}); }}"
)
_UNTYPED = re.compile(r"0|__null|NULL|nullptr|\{.*\}", re.DOTALL)


def launch_edits(region: Region) -> Iterator[Edit]:
    """Yield the replacement of each launch in the region.

    Raises:
        MalformedError: a launch can't be parsed.
        CompileError: a kernel launches kernels.
    """
    for launch in find_launches(region.tokens):
        if region.kind == "user" and _within_kernel(region.tokens, launch):
            raise CompileError(
                f"{region.place(launch.callee.start)}: error: a kernel launches {_name(region.text, launch)}: "
                "dynamic parallelism can't be emulated\n  likely fix: launch it from the host, after the kernel"
            )
        yield Edit(launch.piece.start, launch.piece.end, _call(region, launch))


def _within_kernel(tokens: Tokens, launch: Launch) -> bool:
    index = next(number for number, token in enumerate(tokens.all) if token.start >= launch.callee.start)
    heads = ((tokens.statement_start(brace), brace) for brace in tokens.enclosing(index))
    return any(tokens.is_word(at, "__global__") for head in heads for at in range(*head))


def _call(region: Region, launch: Launch) -> str:
    text = region.text
    inside = ", ".join(on_one_line(piece.of(text)) for piece in launch.configuration)
    place = region.place(launch.callee.start)
    arguments = launch.arguments
    if any(_UNTYPED.fullmatch(piece.of(text).strip()) for piece in arguments):
        parameters, passed, rest = _some_untyped(text, arguments)
        gap = _same_line(region, launch.piece)
    else:
        parameters, passed = "auto &&...opwright_a", "opwright_a..."
        gap = _same_line(region, Piece(launch.piece.start, launch.between.start))
        rest = f", {gap}{launch.between.of(text)}" if arguments else ""
        gap = _same_line(region, Piece(launch.between.start, launch.piece.end)) if not arguments else ""
    head = _LAUNCH.format(
        inside, f'"{_name(text, launch)}"', f'"{place.file}", {place.line}', parameters,
        on_one_line(launch.callee.of(text)), passed,
    )  # fmt: skip
    return f"{head}{rest}){gap}"


def _some_untyped(text: str, arguments: tuple[Piece, ...]) -> tuple[str, str, str]:
    """Return the lambda's parameters, the arguments that it passes to the kernel, and the arguments of the call."""
    names, passed, rest = [], [], []
    for index, piece in enumerate(arguments):
        argument = on_one_line(piece.of(text)).strip()
        if _UNTYPED.fullmatch(argument):
            passed.append("nullptr" if argument in {"__null", "NULL"} else argument)
            continue
        names.append(f"auto &&opwright_a{index}")
        passed.append(f"opwright_a{index}")
        rest.append(f", {argument}")
    return ", ".join(names), ", ".join(passed), "".join(rest)


def _same_line(region: Region, piece: Piece) -> str:
    """Return the line breaks or the marker to append to a one-line replacement of `piece`, to keep line numbers."""
    lost = piece.of(region.text)
    return region.place(piece.end).marker if has_line_marker(lost) else "\n" * lost.count("\n")


def _name(text: str, launch: Launch) -> str:
    """Return the kernel's name for messages, escaped for a string literal."""
    name = re.sub(r"\s+", " ", on_one_line(launch.callee.of(text))).strip()
    return name.replace("\\", "\\\\").replace('"', '\\"')
