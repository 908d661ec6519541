"""Writes README.md's measured table from benchmarks/results, its counts of the zoo, and docs/comparison.md's figures.

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
COMPARED_BEGIN, COMPARED_END = "<!-- compared: begin (tools/readme_table.py) -->", "<!-- compared: end -->"
# What docs/comparison.md shows of other ways to the same: what is good for Opwright, and what isn't.
COMPARED = {
    "edit_to_call": ("load_inline / opwright", "opwright / bare compiler"),
    "aten_build": ("torch / opwright, edited",),
    "call_overhead": (
        "no gradient: opwright / torch.add",
        "forward + backward: opwright / torch.add",
        "forward + backward: autograd.Function / opwright",
        "forward + backward: register_autograd / opwright",
    ),
    "lltm": (
        "eager / opwright, whole operator, forward + backward, 16x32x128, 1 thread",
        "C++ on ATen / opwright, whole operator, forward + backward, 16x32x128, 1 thread",
        "torch.compile / opwright, whole operator, forward + backward, 16x32x128, 1 thread",
        "eager / opwright, whole operator, forward + backward, 64x256x512, 1 thread",
        "torch.compile / opwright, whole operator, forward + backward, 64x256x512, 1 thread",
    ),
    "pointwise": ("lltm cell, 64 MiB: eager / ours", "lltm cell, 64 MiB: torch.compile / ours"),
}
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
    "check_time",
    "wheel_variants",
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
    return f"| {name} | {_shown(value)} | {result['targets'][name]} | `benchmarks/{result['name']}.py` |"


def _shown(value: float) -> str:
    return f"{value:.0f}" if value >= 20 or isinstance(value, int) else f"{value:.2f}"


def compared() -> str:
    """The rows of `COMPARED`."""
    lines = ["| what | measured | script |", "|---|--:|---|"]
    for script, names in COMPARED.items():
        ratios = json.loads((ROOT / f"benchmarks/results/{script}.json").read_text())["ratios"]
        lines += [f"| {name} | {_shown(ratios[name])} | `benchmarks/{script}.py` |" for name in names]
    return "\n".join(lines)


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


def updated_comparison(text: str) -> str:
    """The comparison with its figures in their place."""
    return _replaced(text, COMPARED_BEGIN, COMPARED_END, compared())


def _replaced(text: str, begin: str, end: str, inside: str) -> str:
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{inside}\n{end}{after}"


def main() -> int:
    """Write, or check."""
    stale = 0
    for name, update in (("README.md", updated), ("docs/comparison.md", updated_comparison)):
        page = ROOT / name
        text = page.read_text()
        stale |= update(text) != text
        if "--check" not in sys.argv:
            page.write_text(update(text))
    return int("--check" in sys.argv and stale)


if __name__ == "__main__":
    sys.exit(main())
