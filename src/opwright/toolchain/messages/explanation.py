"""What a user reads after a compiler failed: the author's line, what is wrong with it, what to write."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from opwright.sources.cpp.braces import unbalanced
from opwright.toolchain.compilers.flags import header_dir
from opwright.toolchain.messages.author import Author
from opwright.toolchain.messages.columns import lines_of, realigned
from opwright.toolchain.messages.diagnostics import Place, context, note, readable, split, user_place
from opwright.toolchain.messages.failures import EXCERPT_LINES, advice, disk_full, launchers_advice, without_place
from opwright.toolchain.messages.mistakes import explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opwright.toolchain.build.plan import Plan
    from opwright.toolchain.messages.author import Spot
    from opwright.toolchain.messages.diagnostics import Diagnostic
    from opwright.toolchain.messages.mistake import Mistake

_READ_BYTES = 1 << 20
_MOST_SIGNATURE = 300
_MOST_BEFORE = 8
_SYNTAX = re.compile(
    r"expected|extraneous closing brace|at end of input|can only be defined|cannot appear at block scope|"
    r"is not allowed here|not allowed in|unterminated|qualified-id|end of file"
)
_OF_CANDIDATES = re.compile(
    r"\s*(?:(?:template )?candidate|template argument deduction|suggested alternative|deduced conflicting|"
    r"no known conversion|mismatched types|couldn't deduce|built-in|'[\w:]+'$|'[\w:]+' declared here|"
    r"in definition of macro)"
)
"""A compiler's note on a function that it considered."""
_OF_EXPANSION = re.compile(r"\s*in expansion of macro")
"""A compiler's note on the macro that the line above comes from: it is left out with that line."""


def explain(plan: Plan, command: list[str], status: int, log: Path, folder: Path) -> str:
    """Return a message that explains why ``command`` failed: the user's line, what is wrong, what to write.

    Args:
        plan: the plan of the build.
        command: the failed command.
        status: its exit status.
        log: its output.
        folder: the folder of the generated code.
    """
    with open(log, "rb") as file:
        text = readable(_aligned(plan, command, file.read(_READ_BYTES).decode("utf-8", "replace"), folder))
    author = _author(plan)
    if author:
        text = _without_lines_behind(text, author, folder / plan.parts[0].file)
    errors = [diagnostic for diagnostic in split(text) if diagnostic.kind.endswith("error")]
    source = next((str(part.unit.source) for part in plan.parts if part.unit.source), plan.name)
    if not errors:
        text += disk_full(text, folder)
        return without_place(text, status, os.path.basename(command[0]), source) + launchers_advice(plan, command)
    system = (each for part in plan.parts for each in part.compiler.system_dirs)
    is_user = _is_outside([str(header_dir()), str(folder), *plan.skipped, *system])
    return describe(errors, is_user, author) + advice(text, status)


def _aligned(plan: Plan, command: list[str], text: str, folder: Path) -> str:
    """Return a compiler's output with columns of the author's lines, if it has compiled a text that was rewritten."""
    for part in plan.parts:
        compiled = folder / part.compiled
        if part.unit.rewrite and str(compiled) in command:
            text = realigned(text, lines_of(compiled.read_text("utf-8", "surrogateescape")))
    return text


def describe(errors: list[Diagnostic], is_user: Callable[[str], bool], author: Author | None = None) -> str:
    """Describe the first of ``errors`` that a user's file led to (else the first of all), and count the others."""
    if author and (unclosed := _braces(errors, author)):
        return unclosed
    chosen, place = next(
        ((error, place) for error in errors if (place := user_place(error, is_user))), (errors[0], errors[0].place)
    )
    spot = author.at(place.line) if author and author.wrote(place.file) else None
    mistake = explanation(chosen, spot)
    if mistake and mistake.problem:
        lines = _explained(mistake, chosen, place, spot)
    else:
        lines = [f"{place}: error: {chosen.text}"]
        after = context(chosen)
        before = [] if place == chosen.place else chosen.lines[: len(chosen.lines) - len(after)]
        lines += _folded(after, before[-_MOST_BEFORE:])
    if more := len(errors) - 1:
        lines.append(f"({more} more {'error' if more == 1 else 'errors'})")
    if mistake:
        lines.append(f"  likely fix: {mistake.fix}")
    return "\n".join(lines)


def _explained(mistake: Mistake, error: Diagnostic, place: Place, spot: Spot | None) -> list[str]:
    at = Place(place.file, mistake.line, 0) if mistake.line else place
    lines = [f"{at}: error: {mistake.problem}"]
    if spot and at.line <= len(spot.lines):
        text = spot.lines[at.line - 1]
        lines.append(f"{at.line:5} | {text}")
        if 0 < at.column <= len(text):
            lines.append("      | " + re.sub(r"[^\t]", " ", text[: at.column - 1]) + "^")
    else:
        lines += _folded(context(error))
    if mistake.signature and spot and spot.kernel:
        kernel = spot.kernel
        where = "given in ops" if kernel.given else f"{kernel.path}:{kernel.line}"
        lines.append(f"  signature:  {_cut(str(kernel.signature))}  ({where})")
    lines.append(f"  compiler:   {_cut(error.text)}")
    return lines


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SIGNATURE else f"{text[:_MOST_SIGNATURE]}..."


def _braces(errors: list[Diagnostic], author: Author) -> str:
    """Return the message about a brace that is missing or too many; "" if all match, or something else is wrong."""
    if not any(_SYNTAX.search(error.text) for error in errors):
        return ""
    found = unbalanced(author.text)
    if found is None:
        return ""
    line = author.lines[found.place - 1]
    return (
        f"{author.path}:{found.place}: error: {found.problem}\n{found.place:5} | {line}\n"
        f"  compiler:   {_cut(errors[0].text)}\n  likely fix: {found.fix}"
    )


def _folded(lines: list[str], before: Sequence[str] = ()) -> list[str]:
    """Return the lines of an error, after those `before`, without remarks on candidates, which are in the log."""
    kept = [*before]
    keeping, left_out = True, 0
    for line in lines:
        said = note(line)
        if said is not None:
            keeping = not _OF_CANDIDATES.match(said) and (keeping or not _OF_EXPANSION.match(said))
        elif line.startswith("In file included from"):
            keeping = False
        if keeping and len(kept) < EXCERPT_LINES - 1:
            kept.append(line)
        else:
            left_out += 1
    return [*kept, f"... ({left_out} more lines in the log)"] if left_out else kept


def _author(plan: Plan) -> Author | None:
    """Return the author's file if the plan is for kernels."""
    for part in plan.parts:
        unit = part.unit
        if unit.kernels and unit.source:
            try:
                text = unit.source.read_text("utf-8", "replace")
            except OSError:
                return None
            return Author(str(unit.source), text, unit.kernels)
    return None


def _without_lines_behind(text: str, author: Author, generated: Path) -> str:
    """Return a compiler's output with places behind the end of the author's file, which is generated code, renamed."""

    def renamed(match: re.Match[str]) -> str:
        return match[0] if int(match[1]) <= len(author.lines) else f"{generated}:{match[1]}"

    return re.sub(rf"(?<![\w/.]){re.escape(author.path)}:(\d+)", renamed, text)


def _is_outside(folders: list[str]) -> Callable[[str], bool]:
    """Return a predicate: does a file lie in none of ``folders``, links followed?"""
    prefixes = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
    return lambda file: not os.path.realpath(file).startswith(prefixes)
