"""Writes README.md's measured table from benchmarks/results, and its counts of the zoo.

``--check``: status 1 if it isn't up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- measured: begin (tools/readme_table.py) -->", "<!-- measured: end -->"
ZOO_BEGIN, ZOO_END = "<!-- zoo: begin (tools/readme_table.py) -->", "<!-- zoo: end -->"
SCRIPTS = (
    "edit_to_call",
    "call_overhead",
    "lltm",
    "pointwise",
    "compile_pointwise",
    "legacy_call",
    "aten_build",
    "emulation",
    "bench_honesty",
)


def table() -> str:
    """The rows of every result whose ratio has a target, and what it was measured on."""
    results = [json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text()) for name in SCRIPTS]
    lines = ["| what | measured | target | script |", "|---|--:|--:|---|"]
    for result in results:
        lines += [_row(result, name, value) for name, value in result["ratios"].items() if result["targets"].get(name)]
    return "\n".join([*lines, "", "Medians, side by side in one run each.", *_machines(results)])


def _machines(results: list[dict[str, Any]]) -> list[str]:
    """What the results were measured on; not all on the same machine."""
    scripts: dict[str, list[str]] = {}
    for result in results:
        facts = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
        scripts.setdefault(facts, []).append(f"`{result['name']}`")
    return [f"Machine of {', '.join(names)}: {facts}." for facts, names in scripts.items()]


def _row(result: dict[str, Any], name: str, value: float) -> str:
    shown = f"{value:.0f}" if value >= 20 or isinstance(value, int) else f"{value:.2f}"
    return f"| {name} | {shown} | {result['targets'][name]} | `benchmarks/{result['name']}.py` |"


def zoo() -> str:
    """What tools/zoo.py counted."""
    result = json.loads((ROOT / "tests/check/zoo/result.json").read_text())
    levels = " and ".join(f"`--{level}`" for level in sorted({row["level"] for row in result["rows"]}))
    return (
        f"Of {result['broken']} operators that are broken in one way each ([the zoo](tests/check/zoo/members.py)), "
        f"`opwright check` ({levels}) finds {result['found']} and names {result['named']}; "
        f"of their {result['twins']} right twins, {result['passed']} pass."
    )


def updated(text: str) -> str:
    """The README with the table, and the zoo's counts, in their places."""
    return _replaced(_replaced(text, BEGIN, END, table()), ZOO_BEGIN, ZOO_END, zoo())


def _replaced(text: str, begin: str, end: str, inside: str) -> str:
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{inside}\n{end}{after}"


def main() -> int:
    """Write, or check."""
    readme = ROOT / "README.md"
    text = readme.read_text()
    if "--check" in sys.argv:
        return int(updated(text) != text)
    readme.write_text(updated(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
