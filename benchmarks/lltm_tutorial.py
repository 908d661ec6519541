"""LLTM as in the C++ extension tutorial, measured by ``opwright bench``: Python, C++ on ATen, fused.

``python benchmarks/lltm_tutorial.py [--device cuda] [--seconds 5]`` measures forward, backward and both, for batches up
to 1024, and writes the report (benchmarks/results) and the picture and table of docs/lltm_bench.md. On the CPU, the
operator includes the matrix products; on a GPU, it is used with ``torch.addmm``. ``--shown`` measures nothing: it
writes picture and table again from the report.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import opwright
from opwright.bench import Report
from opwright.bench.results import measurement as units
from opwright.bench.results.picture import draw

HERE = Path(__file__).parent
LLTM = HERE.parent / "examples/lltm"
PAGE = HERE.parent / "docs/lltm_bench.md"
SIGNATURE = (
    "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
    " -> (new_h: T[B, S], new_cell: T[B, S])"
)
TUTORIAL = {"B": 16, "I": 32, "S": 128}
"""The sizes of the tutorial."""
BATCHES = (1, 4, 16, 64, 256, 1024)
PYTHON, ATEN, CELL = "Python", "C++ on ATen", "fused cell"
OURS = "lltm"
FUSED = {"cpu": "**fused**, one operator", "cuda": "**fused cell**"}


def measured(device: str, seconds: float | None) -> Report:
    """Return the report of all forms on one device; on the CPU, with one thread."""
    sys.path.insert(0, str(LLTM))
    import lltm
    from lltm_extension import lltm_extension

    whole = device == "cpu"
    against = {PYTHON: lltm.lltm_python, ATEN: lltm_extension}
    if whole:
        against[CELL] = lltm.lltm_cell
    return opwright.bench(
        str(LLTM / "lltm.cpp") if whole else lltm.lltm_cell,
        signature=None if whole else SIGNATURE,
        against=against,
        axes={**TUTORIAL, "B": BATCHES},
        devices=(device,),
        threads=1,
        seconds=seconds,
    )


def table(report: Report, device: str) -> str:
    """Return a table of forward and backward at the tutorial's sizes, with speedups over Python."""
    found = {
        (each.candidate, each.point.phase): each.time for each in report.measurements if each.point.sizes == TUTORIAL
    }
    ratios = {
        (each.candidate, each.point.phase): each.ratio for each in report.comparisons if each.point.sizes == TUTORIAL
    }
    names = [name for name in (PYTHON, ATEN, CELL, OURS) if (name, "forward") in found]
    lines = ["| | forward | backward | forward + backward | times as fast as Python, both |", "|---|--:|--:|--:|--:|"]
    for name in names:
        cells = [units.format_seconds(found[name, phase].median) for phase in ("forward", "backward", "both")]
        faster = ratios[PYTHON, "both"].median / (ratios[name, "both"].median if name != OURS else 1.0)
        shown = FUSED[device] if name == OURS else name
        lines.append(f"| {shown} | {' | '.join(cells)} | {faster:.2f} |")
    return "\n".join(lines)


def section(report: Report, device: str) -> str:
    """Return the page's section for a device."""
    machine = ", ".join(f"{key} {value}" for key, value in report.machine.items())
    sizes = f"batch {TUTORIAL['B']}, input {TUTORIAL['I']}, state {TUTORIAL['S']}"
    return "\n".join(
        [
            f"Medians, {sizes}, float32{', one thread' if device == 'cpu' else ''}:",
            "",
            table(report, device),
            "",
            f"![Time and bandwidth of LLTM against the batch, by form and phase]({picture(device).name})",
            "",
            *(f"- {note}" for note in report.notes),
            f"- machine: {machine}",
        ]
    )


def compact(text: str) -> str:
    """Return the JSON on one line with numbers of four digits, because there are many samples."""
    return json.dumps(json.loads(text, parse_float=lambda digits: float(f"{float(digits):.4g}"))) + "\n"


def picture(device: str) -> Path:
    """Return the path of a device's picture."""
    return PAGE.with_name(f"lltm_bench_{device}.png")


def updated(text: str, device: str, body: str) -> str:
    """Return the page with a device's section replaced."""
    begin, end = f"<!-- {device}: begin (benchmarks/lltm_tutorial.py) -->", f"<!-- {device}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no place for {device}: {begin} ... {end}")
    return f"{before}{begin}\n{body}\n{end}{after}"


def main() -> None:
    """Measure, and write the report and the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=float, help="for each point, all forms together")
    parser.add_argument("--shown", action="store_true", help="measure nothing")
    options = parser.parse_args()
    path = HERE / "results" / f"lltm_tutorial_{options.device}.json"
    if options.shown:
        report = Report.read(path.read_text())
    else:
        report = measured(options.device, options.seconds)
        path.write_text(compact(report.to_json()))
    print(report)
    draw(report, picture(options.device))
    PAGE.write_text(updated(PAGE.read_text(), options.device, section(report, options.device)))


if __name__ == "__main__":
    main()
