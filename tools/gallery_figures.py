"""The picture and the table of docs/gallery.md, of what examples/gallery/bench_gallery.py has measured."""

from __future__ import annotations

import html
import math
from typing import Any

FORWARD, BOTH = "forward", "forward + backward"
COLOURS = {FORWARD: "#d9480f", BOTH: "#f4a261"}
WIDTH, LEFT, ROW, BAR, TOP = 760, 130, 26, 9, 56


def table(result: dict[str, Any]) -> str:
    """Return the ratios of each operator, which of them are below 1, and the machine."""
    beside = dict(note.split(": ", 1) for note in result["notes"])
    lines = [f"| operator | {FORWARD} | {BOTH} | beside |", "|---|--:|--:|---|"]
    for operator, values in _rows(result).items():
        both = f"{values[BOTH]:.2f}" if BOTH in values else ""
        lines.append(f"| `{operator}` | {values[FORWARD]:.2f} | {both} | {beside[operator]} |")
    slower = [f"{name} ({value:.2f})" for name, value in result["ratios"].items() if value < 1]
    facts = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
    slower_line = f"Slower than PyTorch: {'; '.join(slower) or 'none'}."
    return "\n".join([*lines, "", slower_line, "", f"{result['what']}. Machine: {facts}."])


def picture(result: dict[str, Any]) -> str:
    """Return an SVG with a bar for each ratio, on a logarithmic scale: to the right of 1 Opwright is faster."""
    rows = _rows(result)
    logs = [math.log10(value) for value in result["ratios"].values()]
    low, high = math.floor(min(*logs, 0) * 2) / 2, math.ceil(max(*logs, 0.5) * 2) / 2
    scale = (WIDTH - LEFT - 50) / (high - low)
    height = TOP + ROW * len(rows) + 26

    def place(value: float) -> float:
        return LEFT + (math.log10(value) - low) * scale

    words = " and ".join(f'<tspan fill="{colour}">{phase}</tspan>' for phase, colour in COLOURS.items())
    box = f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
        "<title>How many times as fast as PyTorch the operators of the gallery are</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="20" font-size="14" fill="#333333">How many times as fast as PyTorch, {words}</text>',
    ]
    for value in (each * 10**power for power in range(-2, 4) for each in (1, 3)):
        if not low - 1e-9 <= math.log10(value) <= high + 1e-9:
            continue
        x, colour = f"{place(value):.1f}", "#333333" if value == 1 else "#dddddd"
        parts += [
            f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 26}" stroke="{colour}"/>',
            f'<text x="{x}" y="{TOP - 12}" text-anchor="middle" fill="#777777">{value:g}</text>',
        ]
    for row, (operator, values) in enumerate(rows.items()):
        top = TOP + row * ROW
        parts.append(f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end" fill="#333333">{operator}</text>')
        for number, (phase, value) in enumerate(values.items()):
            begin, end = sorted((place(1), place(value)))
            y, length = top + number * (BAR + 2), max(end - begin, 1)
            parts += [
                f'<rect x="{begin:.1f}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{COLOURS[phase]}"/>',
                f'<text x="{end + 4:.1f}" y="{y + 8}" font-size="10" fill="#333333">{value:.2f}</text>',
            ]
    machine = f"{result['machine']['cpu']}, PyTorch {result['machine']['torch']}; examples/gallery/bench_gallery.py"
    line = f'<text x="10" y="{height - 8}" font-size="11" fill="#777777">{html.escape(machine)}</text>'
    return "\n".join([*parts, line, "</svg>", ""])


def _rows(result: dict[str, Any]) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for name, value in result["ratios"].items():
        operator, _, phase = name.partition(", ")
        rows.setdefault(operator, {})[phase] = value
    return rows
