"""Launches as calls: ``launch(configuration(GRID, BLOCK), "k<T>", "f.cu", 1, [&](auto &&...a) { k<T>(a...); }, ARGS)``.

The arguments are evaluated once, by the call. The kernel is called in the lambda with its usual template deduction and
conversions. Only arguments whose type would be lost, such as 0 and {...}, are written into the lambda literally.
What is no kernel's name is an expression for a pointer: ``launch_pointer(..., table[i], ARGS)``.
Calling a kernel like a function is an error: outside a launch there is no block to run in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

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


def kernel_names(region: Region) -> set[str]:
    """Return the names of the kernels that are declared in the region."""
    return {region.tokens.all[at].text for at, _ in _heads(region.tokens)} if "__global__" in region.text else set()


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


_BY_POINTER = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")


def pointer_edits(region: Region, kernels: set[str]) -> Iterator[Edit]:
    """Yield the replacement of each cast ``(void *)kernel``: who has the pointer can launch the kernel.

    The first argument of cudaLaunchKernel has lost its cast already.

    Args:
        region: the region.
        kernels: the names of the kernels.
    """
    tokens = region.tokens
    for at, token in enumerate(tokens.all):
        if token.text not in kernels or not tokens.is_word(at):
            continue
        first = at
        while tokens.is_sign(first - 1, "::", "&") or (tokens.is_sign(first, "::") and tokens.is_word(first - 1)):
            first -= 1
        end = after_template(tokens, at + 1) - 1
        around = first - 1 if tokens.is_sign(first - 1, "(") and tokens.partner.get(first - 1) == end + 1 else -1
        opened, closed = _cast_before(tokens, first)
        if opened < 0 < around:  # (void *)(kernel)
            opened, closed = _cast_before(tokens, around)
            first, end = around, end + 1
        if opened < 0 or end < at or tokens.is_sign(end + 1, "(", "<<<") or _is_launched(tokens, opened):
            continue
        written = tokens.all[opened].text in ("reinterpret_cast", "static_cast")
        name = re.sub(r"\s+", " ", region.text[tokens.all[first].start : tokens.all[end].end]).strip("&() ")
        yield Edit(
            tokens.all[opened].start,
            tokens.all[closed].end,
            "::opwright::emulation::address_of" + ("" if written else "("),
        )
        after = tokens.all[end].end
        yield Edit(after, after, f', "{name}"' + ("" if written else ")"))


def _cast_before(tokens: Tokens, at: int) -> tuple[int, int]:
    """Return the first and the last token of a cast to ``void *`` before the token at `at`; (-1, -1) without one."""
    closed = at - 1
    if tokens.is_sign(closed, ")"):
        opened = tokens.partner.get(closed, closed)
        if _names_void(tokens, opened + 1, closed):
            return opened, closed
    elif tokens.is_sign(closed, "(") and tokens.is_sign(closed - 1, ">"):
        opened = (tokens.angle_before(closed - 1) or 0) - 1
        if tokens.is_word(opened, "reinterpret_cast") and _names_void(tokens, opened + 2, closed - 1):
            return opened, closed - 1
    return -1, -1


def _names_void(tokens: Tokens, first: int, end: int) -> bool:
    return sorted(tokens.all[at].text for at in range(first, end) if tokens.all[at].text != "const") == ["*", "void"]


def _is_launched(tokens: Tokens, opened: int) -> bool:
    return tokens.is_sign(opened - 1, "(") and tokens.is_word(opened - 2, *_BY_POINTER)


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


_LAUNCH = "::opwright::emulation::{}(::opwright::emulation::configuration({}), {}, {}, {}"
_CALL = "[&]({}) -> void {{ {}({}); }}"


class Plain(NamedTuple):
    """How a kernel's function for plain loops is launched.

    Attributes:
        launch: the emulator's function for such launches.
        parameter: the first parameter of the kernel's function, and its name.
        start: the offset in the region at hand from which on it is declared.
    """

    launch: str
    parameter: tuple[str, str]
    start: int = 0


_UNTYPED = re.compile(r"0|__null|NULL|nullptr|\{.*\}", re.DOTALL)


def plain_name(kernel: str) -> str:
    """Return the name of a kernel's function for plain loops."""
    return f"opwright_plain_{kernel}"


def launch_edits(
    region: Region, plain: Mapping[str, Plain], kernels: AbstractSet[str] = frozenset(), *, by_value: bool = False
) -> Iterator[Edit]:
    """Yield the replacement of each launch in the region.

    Args:
        region: the region.
        plain: the functions for plain loops, by kernel.
        kernels: the names of the kernels.
        by_value: whether the lambdas copy their arguments: an argument that is referred to has to be in memory, where
            a checker looks at it.

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
        looped = plain if region.kind == "user" else {}
        text = _call(region, launch, looped, kernels, "auto " if by_value else "auto &&")
        yield Edit(launch.piece.start, launch.piece.end, text)


def _within_kernel(tokens: Tokens, launch: Launch) -> bool:
    index = next(number for number, token in enumerate(tokens.all) if token.start >= launch.callee.start)
    heads = ((tokens.statement_start(brace), brace) for brace in tokens.enclosing(index))
    return any(tokens.is_word(at, "__global__") for head in heads for at in range(*head))


def _call(region: Region, launch: Launch, plain: Mapping[str, Plain], kernels: AbstractSet[str], parameter: str) -> str:
    text = region.text
    inside = ", ".join(on_one_line(piece.of(text)) for piece in launch.configuration)
    place = region.place(launch.callee.start)
    arguments = launch.arguments
    callee = on_one_line(launch.callee.of(text))
    is_named = _names_kernel(callee, kernels)
    if is_named and any(_UNTYPED.fullmatch(piece.of(text).strip()) for piece in arguments):
        parameters, passed, rest = _some_untyped(text, arguments, parameter)
        gap = _same_line(region, launch.piece)
    else:
        parameters, passed = f"{parameter}...opwright_a", "opwright_a..."
        gap = _same_line(region, Piece(launch.piece.start, launch.between.start))
        rest = f", {gap}{launch.between.of(text)}" if arguments else ""
        gap = _same_line(region, Piece(launch.between.start, launch.piece.end)) if not arguments else ""
    function = "launch" if is_named else "launch_pointer"
    calls = [_CALL.format(parameters, callee, passed) if is_named else callee]
    if found := _plain_callee(callee, {name: each for name, each in plain.items() if launch.piece.start >= each.start}):
        looped, how = found
        function, (declared, named) = how.launch, how.parameter
        before = [piece for piece in (declared, parameters) if piece]
        calls.append(_CALL.format(", ".join(before), looped, f"{named}, {passed}" if passed else named))
    head = _LAUNCH.format(
        function, inside, f'"{_name(text, launch)}"', f'"{place.file}", {place.line}', ", ".join(calls)
    )  # fmt: skip
    return f"{head}{rest}){gap}"


def kernel_name(callee: Tokens) -> int:
    """Return the index of the kernel's name in a callee that is a qualified name with template arguments, else -1."""
    at = len(callee.all) - 1
    if callee.is_sign(at, ">"):
        at = (callee.angle_before(at) or 0) - 1
    before = at
    while callee.is_sign(before - 1, "::"):
        before -= 2 if callee.is_word(before - 2) else 1
    return at if before == 0 and callee.is_word(at) else -1


def _names_kernel(callee: str, kernels: AbstractSet[str]) -> bool:
    """Return whether what is launched is a kernel's name, which may be overloaded or a template's: no pointer then.

    A name with template arguments is one, too: kernels of installed headers aren't known.
    """
    tokens = Tokens(callee)
    first, last = 0, len(tokens.all) - 1
    while tokens.is_sign(first, "(") and tokens.partner.get(first) == last:
        first, last = first + 1, last - 1
    at = (tokens.angle_before(last) or 0) - 1 if tokens.is_sign(last, ">") else last
    if not tokens.is_word(at) or tokens.is_sign(at - 1, ".", "->"):
        return False
    return at < last or tokens.all[at].text in kernels


def _plain_callee(callee: str, plain: Mapping[str, Plain]) -> tuple[str, Plain] | None:
    """Return the callee with the name of the function for plain loops, and how it is launched."""
    tokens = Tokens(callee)
    at = kernel_name(tokens)
    if at < 0 or tokens.all[at].text not in plain:
        return None
    name = tokens.all[at]
    return callee[: name.start] + plain_name(name.text) + callee[name.end :], plain[name.text]


def _some_untyped(text: str, arguments: tuple[Piece, ...], parameter: str) -> tuple[str, str, str]:
    """Return the lambda's parameters, the arguments that it passes to the kernel, and the arguments of the call."""
    names, passed, rest = [], [], []
    for index, piece in enumerate(arguments):
        argument = on_one_line(piece.of(text)).strip()
        if _UNTYPED.fullmatch(argument):
            passed.append("nullptr" if argument in {"__null", "NULL"} else argument)
            continue
        names.append(f"{parameter}opwright_a{index}")
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
