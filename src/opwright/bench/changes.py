"""Two compared reports for people, on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from opwright.bench import units
from opwright.bench.comparison import Compared, Lone
from opwright.bench.layout import Layout
from opwright.bench.points import facts, parted, worded


def show(found: Compared, console: Console) -> None:
    """Print what changed."""
    for line in found.warnings:
        console.print(f"warning: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)
    if found.changes:
        layout(found).show(console)
    for line in about(found):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def markdown(found: Compared) -> str:
    """The same as Markdown."""
    lines = [*(f"warning: {each}" for each in found.warnings), *about(found)]
    table = [layout(found).markdown()] if found.changes else []
    return "\n".join([*table, *(f"- {line}" for line in lines)]) + "\n"


def layout(found: Compared) -> Layout:
    """A row for each change."""
    varying, shared = parted(each.point for each in found.changes)
    columns = [f"<{key.name}" if key.kind != "size" else key.name for key in varying]
    columns += ["<candidate", "before", "after", "after / before", "<verdict"]
    rows = []
    for each in found.changes:
        told = facts(each.point)
        cells = [units.time(each.before.median), units.time(each.after.median), units.ratio(each.ratio), each.verdict]
        rows.append([*(told.get(key, "") for key in varying), each.candidate, *cells])
    return Layout(worded(shared), columns, rows, len(varying))


def about(found: Compared) -> list[str]:
    """What has no partner, and how to read the ratios."""
    lines = [*_lone("only before", found.gone), *_lone("only after", found.new)]
    if not found.changes:
        return ["the reports have no point in common", *lines]
    how = (
        f"ratios of the medians, with their {100 * found.confidence:g}% intervals; what drifted between the two runs "
        "is in the ratio and not in the interval (--against HEAD~1 measures both in one run)"
    )
    return [how, *lines]


def _lone(what: str, lone: Sequence[Lone]) -> list[str]:
    return [f"{what}: {each.candidate} at {worded(facts(each.point))}" for each in lone]
