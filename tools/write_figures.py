"""Writes the figures and tables from benchmarks/results in README.md, pages of docs, and pictures.

``--check``: exit with status 1 if one of them isn't up to date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gallery_figures  # beside this file

ROOT = Path(__file__).parent.parent
# The alternatives in docs/comparison.md, including results that are bad for Opwright.
COMPARED = {
    "edit_to_call": ("load_inline / opwright", "opwright / bare compiler"),
    "aten_build": ("torch / opwright, edited",),
    "call_overhead": (
        "no gradient: opwright / torch.add",
        "one float: opwright / torch.add",
        "forward: opwright / torch.mul",
        "step: opwright / torch.mul",
        "step: autograd.Function / opwright",
        "step: register_autograd / opwright",
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
    "first_result",
    "lltm",
    "pointwise",
    "compile_pointwise",
    "derived",
    "derived_costs",
    "vmap",
    "legacy_call",
    "aten_build",
    "emulated_extension",
    "emulation",
    "bench_honesty",
    "check_time",
    "wheel_variants",
    "many_ranks",
)

WRONG = ("wrong", "crash")  # outcomes of benchmarks/alternatives/probes.py


def measured() -> str:
    """Return the table rows of all results whose ratio has a target, and the machine."""
    results = [_result(name) for name in SCRIPTS]
    lines = ["| what | measured | target | script |", "|---|--:|--:|---|"]
    for result in results:
        lines += [_row(result, name, value) for name, value in result["ratios"].items() if result["targets"].get(name)]
    return "\n".join([*lines, "", "Medians, side by side in one run each.", *_machines(results)])


def compared() -> str:
    """Return the table rows of `COMPARED`."""
    lines = ["| what | measured | script |", "|---|--:|---|"]
    for script, names in COMPARED.items():
        ratios = _result(script)["ratios"]
        lines += [f"| {name} | {_number(ratios[name])} | `benchmarks/{script}.py` |" for name in names]
    return "\n".join(lines)


def figures() -> str:
    """Return the README's figures: four of CPUs, two of a GPU."""
    edit, call, lltm, pointwise, gpu = map(_result, ("edit_to_call", "call_overhead", "lltm", "pointwise", "gpu"))
    seconds = {name: timing["median"] for name, timing in edit["timings"].items()}
    step = call["ratios"]["step: opwright / torch.add"]
    eager = [
        lltm["ratios"][f"eager / opwright, whole operator, forward + backward, 16x32x128, {threads}"]
        for threads in ("1 thread", "2 threads")
    ]
    copies = [value for name, value in pointwise["ratios"].items() if name.endswith("64 MiB: copy / ours")]
    rows = [
        (
            "an edited kernel's first right result",
            f"{seconds['opwright, edited']:.2f} s; PyTorch's `load_inline` {seconds['load_inline, edited']:.1f} s",
            "edit_to_call",
        ),
        ("forward and backward of a small operator, beside `torch.add`", f"{step:.2f} of its time", "call_overhead"),
        (
            "LLTM, forward and backward, faster than eager PyTorch",
            f"{min(eager):.2f} to {max(eager):.2f} times (target: 2.5)",
            "lltm",
        ),
        (
            "pointwise kernels, 64 MiB: share of the speed of a copy",
            f"{min(copies):.2f} to {max(copies):.2f}",
            "pointwise",
        ),
    ]
    edits = {name: gpu["timings"][f"edit to call, {name}"]["median"] for name in ("nvcc", "nvrtc", "load_inline")}
    card = gpu["machine"]["gpu"].partition(",")[0]
    rows += [
        (
            f"{card}: an edited CUDA kernel's first right result",
            (
                f"nvcc {edits['nvcc']:.1f} s, NVRTC {edits['nvrtc']:.1f} s; "
                f"PyTorch's `load_inline` {edits['load_inline']:.1f} s"
            ),
            "gpu",
        ),
        (
            f"{card}: a call that launches one small kernel, beside `torch.add`",
            f"{gpu['ratios']['launch, no gradient: opwright / torch.add']:.2f} of its time",
            "gpu",
        ),
    ]
    lines = ["| on two CPU cores; on a GPU where one is named | measured | script |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {what} | {value} | [{name}](benchmarks/{name}.py) |" for what, value, name in rows)]
    )


def on_a_gpu() -> str:
    """Return the table rows of benchmarks/gpu.py that have a target or compare edits or steps, and the machine."""
    result = _result("gpu")
    ours = "opwright, pointers"
    names = [
        name
        for name in result["ratios"]
        if result["targets"].get(name)
        or name.startswith(("launch", "edit to call"))
        or (name.startswith("LLTM, forward + backward") and name.endswith(ours))
    ]
    lines = ["| what | measured | target | script |", "|---|--:|--:|---|"]
    lines += [
        f"| {name} | {_number(result['ratios'][name])} | {result['targets'].get(name, '')} | `benchmarks/gpu.py` |"
        for name in names
    ]
    return "\n".join([*lines, "", *_machines([result])])


def zoo() -> str:
    """Return the counts of tools/zoo.py."""
    result = json.loads((ROOT / "tests/check/zoo/result.json").read_text())
    levels = " and ".join(f"`--{level}`" for level in sorted({row["level"] for row in result["rows"]}))
    return (
        f"Of {result['broken']} operators that are broken in one way each ([the zoo](../tests/check/zoo/members.py)), "
        f"`opwright check` ({levels}) finds {result['found']} and names {result['named']}; "
        f"of their {result['twins']} right twins, {result['passed']} pass."
    )


def derived_others() -> str:
    """Return the table of benchmarks/derived_others.py, and the machine."""
    result = _result("derived_others")
    threads = ("1 thread", "2 threads")
    names = dict.fromkeys(name.rpartition(", ")[0] for name in result["ratios"])
    lines = [f"| derived / PyTorch, forward and backward | {' | '.join(threads)} |", "|---|--:|--:|"]
    for name in names:
        ratios = (_number(result["ratios"][f"{name}, {count}"]) for count in threads)
        lines.append(f"| {name.removeprefix('derived / PyTorch, ')} | {' | '.join(ratios)} |")
    return "\n".join([*lines, "", *_machines([result])])


def features() -> str:
    """Return the table of tools/feature_matrix."""
    document = json.loads((ROOT / "benchmarks/results/feature_matrix.json").read_text())
    results = document["results"]
    names = list(next(iter(results.values())))
    rows = [f"| {name} | {' | '.join(results[kind][name] for kind in results)} |" for name in names]
    counts = [str(sum(value == "yes" for value in rows.values())) for rows in results.values()]
    head = [f"| | {' | '.join(results)} |", f"|---|{'---|' * len(results)}"]
    total = f"| **yes, of {len(names)}** | {' | '.join(f'**{count}**' for count in counts)} |"
    return "\n".join([*head, *rows, total, "", f"PyTorch {document['torch']}, Python {document['python']}."])


def alternatives() -> str:
    """Return the table of benchmarks/peers.py."""
    result = _result("peers")
    fastest = min(result["timings"][f"{name}: 64 MiB"]["median"] for name in result["alternatives"])
    columns = ["lines", "edit, s", "load, s", "call, us", "forward + backward, us", "64 MiB, of the fastest's speed"]
    lines = [
        f"| {' | '.join(['', *columns, 'silently wrong', 'refused'])} |",
        f"|---|{'--:|' * len(columns)}---|---|",
    ]
    for name, label in result["alternatives"].items():
        edit, load, call, step, large = (
            result["timings"][f"{name}: {what}"]["median"]
            for what in ("edit", "load", "call", "forward + backward", "64 MiB")
        )
        probes = result["probes"][name].items()
        wrong = [f"{probe}: a crash" if known == "crash" else probe for probe, known in probes if known in WRONG]
        refused = [probe for probe, known in probes if known == "refused"]
        lines.append(
            f"| {label} | {result['lines'][name]} | {edit:.2f} | {load:.2f} | {call * 1e6:.2f} | {step * 1e6:.1f} "
            f"| {fastest / large:.2f} | {', '.join(wrong) or 'nothing'} | {', '.join(refused) or 'nothing'} |"
        )
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    return "\n".join([*lines, "", f"With {versions}.", *_machines([result])])


def stages() -> str:
    """Return the table of benchmarks/call_profile.py."""
    result = _result("call_profile")
    lines = ["| call | stage | instructions | share |", "|---|---|--:|--:|"]
    for situation, each in result["instructions"].items():
        for name, counts in each.items():
            for stage, count in counts.items():
                what = "**in all**" if stage == "in all" else stage
                lines.append(f"| {situation}, {name} | {what} | {count:.0f} | {count / counts['in all']:.0%} |")
    return "\n".join([*lines, "", *_machines([result])])


def in_parallel() -> str:
    """Return the table of tools/parallel_table.py."""
    document = json.loads((ROOT / "benchmarks/results/parallel.json").read_text())
    lines = [
        "| operator | vmap | forward: sharded along | gathered along | refused | backward | sharded along |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in document["rows"]:
        found, name = row["forward"], Path(row["file"]).name
        sharded, gathered = (
            ", ".join(a for a, kind in found.items() if kind == each) for each in ("sharded", "gathered")
        )
        refusals = dict.fromkeys(
            kind.removeprefix("refused: ") for kind in found.values() if kind.startswith("refused")
        )
        refused = "; ".join(text.partition(":")[0] for text in refusals)
        backward = ", ".join(axis for axis, kind in row["backward"].items() if kind == "sharded")
        label = f"[{row['operator']}](../../{row['file']}) ({name.rpartition('.')[2]})"
        lines.append(f"| {label} | {row['vmap']} | {sharded} | {gathered} | {refused} | {row['kind']} | {backward} |")
    count = len(document["rows"])
    return "\n".join([*lines, "", f"{count} operators, PyTorch {document['torch']}, two processes over gloo."])


def picture() -> str:
    """Return an SVG chart of the time from an edit to the first correct result, on a linear scale."""
    result = _result("edit_to_call")
    rows = [
        ("torch.utils.cpp_extension.load_inline", result["timings"]["load_inline, edited"]["median"], "#8a8f98"),
        ("opwright.load", result["timings"]["opwright, edited"]["median"], "#d9480f"),
    ]
    width, left, bar = 760, 270, 22
    scale = (width - left - 70) / max(seconds for _, seconds, _ in rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 112" font-family="sans-serif" font-size="14">',
        "<title>From an edit to the first right result</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<text x="10" y="20" fill="#333333">From an edit to the first right result, forward and backward</text>',
    ]
    for place, (name, seconds, colour) in enumerate(rows):
        top = 36 + place * (bar + 10)
        length = max(seconds * scale, 1)
        parts += [
            f'<text x="{left - 10}" y="{top + 16}" text-anchor="end" fill="#333333">{name}</text>',
            f'<rect x="{left}" y="{top}" width="{length:.1f}" height="{bar}" fill="{colour}"/>',
            f'<text x="{left + length + 8:.1f}" y="{top + 16}" fill="#333333">{seconds:.2f} s</text>',
        ]
    machine = f"{result['machine']['cpu']}, PyTorch {result['machine']['torch']}; benchmarks/edit_to_call.py"
    return "\n".join([*parts, f'<text x="10" y="106" font-size="11" fill="#777777">{machine}</text>', "</svg>", ""])


def _result(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text())  # type: ignore[no-any-return]


def _machines(results: list[dict[str, Any]]) -> list[str]:
    """Return descriptions of the machines; not all results are from the same machine."""
    scripts: dict[str, list[str]] = {}
    for result in results:
        facts = ", ".join(f"{key} {value}" for key, value in result["machine"].items())
        scripts.setdefault(facts, []).append(f"`{result['name']}`")
    return [f"Machine of {', '.join(names)}: {facts}." for facts, names in scripts.items()]


def _row(result: dict[str, Any], name: str, value: float) -> str:
    return f"| {name} | {_number(value)} | {result['targets'][name]} | `benchmarks/{result['name']}.py` |"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 20 or isinstance(value, int) else f"{value:.2f}"


def between(mark: str, make: Callable[[], str], text: str) -> str:
    """Return `text` with the part between the comments of `mark` replaced by the result of `make`."""
    begin, end = f"<!-- {mark}: begin (tools/write_figures.py) -->", f"<!-- {mark}: end -->"
    before, found, rest = text.partition(begin)
    if not found:
        raise ValueError(f"no {begin}")
    return f"{before}{begin}\n{make()}\n{end}{rest.partition(end)[2]}"


PAGES: dict[str, Callable[[str], str]] = {
    "README.md": lambda text: between("figures", figures, text),
    "docs/measured.md": lambda text: between(
        "gpu",
        on_a_gpu,
        between("zoo", zoo, between("derived others", derived_others, between("measured", measured, text))),
    ),
    "docs/comparison.md": lambda text: between(
        "alternatives", alternatives, between("features", features, between("compared", compared, text))
    ),
    "docs/explanation/runtime.md": lambda text: between("stages", stages, text),
    "docs/how_to/dtensor.md": lambda text: between("parallel", in_parallel, text),
    "docs/edit_to_result.svg": lambda _: picture(),
    "docs/gallery.md": lambda text: between("gallery", lambda: gallery_figures.table(_result("gallery")), text),
    "docs/gallery.svg": lambda _: gallery_figures.picture(_result("gallery")),
}


def main() -> int:
    """Write the files, or check them."""
    stale = False
    for name, update in PAGES.items():
        page = ROOT / name
        text = page.read_text() if page.exists() else ""
        stale |= update(text) != text
        if "--check" not in sys.argv:
            page.write_text(update(text))
    return int("--check" in sys.argv and stale)


if __name__ == "__main__":
    sys.exit(main())
