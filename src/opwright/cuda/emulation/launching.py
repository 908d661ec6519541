"""Launches as calls: ``launch(configuration(GRID, BLOCK), "k<T>", "f.cu", 1, [&](auto &&...a) { k<T>(a...); }, ARGS)``.

The arguments are evaluated once, by the call; the lambda lets the kernel's parameters be what they are: templates
deduce, numbers convert. Only what has no type of its own as an argument, 0 and {...}, goes into the lambda as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.cuda.emulation.edits import Edit, has_directive, one_line
from opwright.cuda.emulation.regions import Region
from opwright.errors import CompileError
from opwright.sources.launches import Launch, Piece, find_launches
from opwright.sources.tokens import Tokens

_LAUNCH = (
    "::opwright::emulation::launch(::opwright::emulation::configuration({}), {}, {}, [&]({}) -> void {{ {}({}); }}"
)
_UNTYPED = re.compile(r"0|__null|NULL|nullptr|\{.*\}", re.DOTALL)


def launch_edits(region: Region) -> Iterator[Edit]:
    """Every launch of the region.

    Raises:
        MalformedError: a launch can't be read.
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
    inside = ", ".join(one_line(piece.of(text)) for piece in launch.configuration)
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
        one_line(launch.callee.of(text)), passed,
    )  # fmt: skip
    return f"{head}{rest}){gap}"


def _some_untyped(text: str, arguments: tuple[Piece, ...]) -> tuple[str, str, str]:
    """The lambda's parameters, what it passes on, and the arguments of the call."""
    names, passed, rest = [], [], []
    for index, piece in enumerate(arguments):
        argument = one_line(piece.of(text)).strip()
        if _UNTYPED.fullmatch(argument):
            passed.append("nullptr" if argument in {"__null", "NULL"} else argument)
            continue
        names.append(f"auto &&opwright_a{index}")
        passed.append(f"opwright_a{index}")
        rest.append(f", {argument}")
    return ", ".join(names), ", ".join(passed), "".join(rest)


def _same_line(region: Region, piece: Piece) -> str:
    """What follows text that stands for `piece`, on one line, so that the next line has its number again."""
    lost = piece.of(region.text)
    return region.place(piece.end).marker if has_directive(lost) else "\n" * lost.count("\n")


def _name(text: str, launch: Launch) -> str:
    """The kernel, for messages, as it stands in a string literal."""
    name = re.sub(r"\s+", " ", one_line(launch.callee.of(text))).strip()
    return name.replace("\\", "\\\\").replace('"', '\\"')
