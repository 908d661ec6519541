"""``opwright demo``: builds and checks the example operators, and times LLTM against pure Python."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

import opwright
from opwright.bench import Timing, interleaved, machine
from opwright.bench.results.measurement import format_seconds
from opwright.cli.build import jobs_of
from opwright.cli.console import Progress, progress
from opwright.codegen.collect import collect
from opwright.signature import DType
from opwright.toolchain import Options
from opwright.toolchain.build.processes import stop_all

if TYPE_CHECKING:
    import torch

EXAMPLES = ("my_op", "sigmoid", "lltm_derived", "lltm_cell", "lltm")


@click.command("demo")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the plot goes; by default opwright-demo.png, or no plot where matplotlib isn't installed.",
)
@click.option("--rounds", default=21, show_default=True, help="Samples for each timing.")
def command(output: Path | None, rounds: int) -> None:
    """Build the example operators from source, check them, time LLTM, show the table and the plot."""
    runtime = importlib.import_module("opwright.runtime")  # before torch, for its message about what to install
    picture = _picture(output)
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine().items()), style="dim")
    folder, started = examples(), time.perf_counter()
    with _built_ahead(folder):
        console.print(f"the {runtime.name()} runtime: {format_seconds(time.perf_counter() - started)}")
    sys.path[:0] = [str(folder / name) for name in ("my_op", "sigmoid", "lltm")]
    modules = {name: importlib.import_module(name) for name in ("my_op", "sigmoid", "lltm")}
    with progress(console) as report:
        table, agreed = _checks(folder, modules, report)
    console.print(table)
    timings = _timings(modules["lltm"], rounds)  # with no bar: drawing it takes time, too
    console.print(_times(timings))
    if picture:
        plot(timings, picture)
        console.print(f"plot: {picture.absolute()}", soft_wrap=True)
    if not agreed:
        raise opwright.OpwrightError("a check failed: see NO in the table of operators")
    console.print(_next(), soft_wrap=True, markup=False, highlight=False)


@contextlib.contextmanager
def _built_ahead(folder: Path) -> Iterator[None]:
    """Compile what the checks will call in the background: the runtime's compiler takes one core only."""
    jobs = [
        job
        for source in collect([next(folder.glob(f"*/{name}.cpp")) for name in EXAMPLES], Options())
        for job in jobs_of(source, None, all_devices=False)
        if {*job.types.values()} <= {DType.F64}
    ]
    with ThreadPoolExecutor(1) as pool:
        built = pool.submit(lambda: [job.build() for job in jobs])
        try:
            yield
        except BaseException:
            stop_all()
            raise
    built.result()


def _picture(output: Path | None) -> Path | None:
    """Return where the plot goes; None if none was asked for and matplotlib is missing.

    Raises:
        ModuleNotFoundError: a plot was asked for, and matplotlib is missing.
    """
    if find_spec("matplotlib"):
        return output or Path("opwright-demo.png")
    if output:
        raise ModuleNotFoundError("the plot needs matplotlib\n  likely fix: pip install opwright[bench]")
    return None


def _next() -> str:
    """Return what to do after the demo, with the command as it can be typed here."""
    beside = Path(sys.executable).with_name("opwright")
    found = shutil.which("opwright")
    typed = "opwright" if found and Path(found) == beside else os.path.relpath(beside)
    return (
        f"next:  {typed} new my-op    a project of your own: kernel, tests, benchmark, wheel\n"
        "       docs/tutorial/index.md: from an operator in Python to a published package"
    )


def examples() -> Path:
    """Return the folder of the examples, in the package or in the repository.

    Raises:
        UnsupportedError: neither exists.
    """
    package = Path(opwright.__file__).parent
    for folder in (package / "_examples", package.parent.parent / "examples"):
        if (folder / "my_op" / "my_op.cpp").exists():
            return folder
    raise opwright.UnsupportedError(
        "the examples aren't installed\n  likely fix: clone the repository and run `make demo` there"
    )


def _checks(folder: Path, modules: dict[str, ModuleType], report: Progress) -> tuple[Table, bool]:
    """Compile and check each example; return the table, and whether all checks passed."""
    agreed = True
    table = Table("operator", "first call", "as PyTorch", "gradcheck", "gradgradcheck", "opcheck")
    for done, name in enumerate(EXAMPLES):
        report(f"building and checking {name}", done, len(EXAMPLES))
        source = next(folder.glob(f"*/{name}.cpp"))
        with tempfile.TemporaryDirectory() as scratch:
            took = _fresh(source, name, Path(scratch))
        passes = _passes(name, modules)
        agreed = agreed and all(passes)
        table.add_row(name, format_seconds(took), *("yes" if passed else "NO" for passed in passes))
    return table, agreed


def _fresh(source: Path, name: str, scratch: Path) -> float:
    """Return the seconds from an uncached source to the operator's first result."""
    copy = scratch / f"{name}_{time.time_ns()}.cpp"
    text = source.read_text() + f"\n// {copy.stem}\n"  # a source that no cache contains
    copy.write_text(text)
    inputs = _inputs(name, float64=False)
    started = time.perf_counter()
    getattr(opwright.load(copy, extra_include_paths=[source.parent]), name)(*inputs)
    return time.perf_counter() - started


def _passes(name: str, modules: dict[str, ModuleType]) -> list[bool]:
    import torch

    operator, reference = _operator(name, modules)
    inputs = _inputs(name, float64=True)
    ours, theirs = operator(*inputs), reference(*inputs)
    results = zip(*((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs)), strict=True)
    return [
        all(torch.allclose(a, b) for a, b in results),
        torch.autograd.gradcheck(operator, inputs, raise_exception=False),
        torch.autograd.gradgradcheck(operator, inputs, raise_exception=False),
        all(outcome == "SUCCESS" for outcome in torch.library.opcheck(operator, inputs).values()),
    ]


def _operator(name: str, modules: dict[str, ModuleType]) -> tuple[Any, Callable[..., Any]]:
    """Return the operator, and the equivalent PyTorch function."""
    import torch

    lltm = modules["lltm"]
    return {
        "my_op": (modules["my_op"].ops.my_op, lambda x, y: 3 * x - y),
        "sigmoid": (modules["sigmoid"].ops.sigmoid, torch.sigmoid),
        "lltm": (lltm.ops.lltm, lltm.lltm_python),
        "lltm_cell": (lltm.cell_ops.lltm_cell, lltm.cell_python),
        "lltm_derived": (
            lltm.derived_ops.lltm_derived,
            lambda *gates_and_cell: lltm.cell_python(torch.cat(gates_and_cell[:3], dim=1), gates_and_cell[3]),
        ),
    }[name]


def _inputs(name: str, *, float64: bool) -> tuple[torch.Tensor, ...]:
    import torch

    shapes = {
        "my_op": ((3, 4), (3, 4)),
        "sigmoid": ((3, 4),),
        "lltm": ((2, 3), (12, 7), (12,), (2, 4), (2, 4)),
        "lltm_cell": ((2, 12), (2, 4)),
        "lltm_derived": ((2, 4),) * 4,
    }[name]
    dtype = torch.float64 if float64 else torch.float32
    return tuple(torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes)


def _timings(lltm: ModuleType, rounds: int) -> dict[str, dict[str, Timing]]:
    """Time LLTM's forward, and forward with backward, for each of its forms."""
    import torch

    torch.set_num_threads(1)  # two threads would wait for each other whenever another process runs
    x = torch.randn(16, 32, requires_grad=True)
    state = (torch.randn(16, 128, requires_grad=True), torch.randn(16, 128, requires_grad=True))
    forms = {
        "pure Python": lltm.LLTM,
        "derived cell": lltm.DerivedLLTM,
        "fused cell": lltm.CellLLTM,
        "whole operator": lltm.WholeLLTM,
    }
    layers = {name: form(32, 128) for name, form in forms.items()}

    def both(layer: torch.nn.Module) -> None:
        for tensor in (x, *state, *layer.parameters()):
            tensor.grad = None
        results = layer(x, state)
        torch.autograd.backward(results, [torch.ones_like(result) for result in results])

    return {
        "forward": interleaved({name: partial(layer, x, state) for name, layer in layers.items()}, rounds=rounds),
        "forward + backward": interleaved(
            {name: partial(both, layer) for name, layer in layers.items()}, rounds=rounds
        ),
    }


def _times(timings: dict[str, dict[str, Timing]]) -> Table:
    title = "LLTM, batch 16, input 32, state 128, one thread: median, times Python's speed"
    table = Table("", *timings, title=title, title_justify="left", min_width=len(title))
    for name in timings["forward"]:
        cells = [(rows[name].median, rows["pure Python"].median / rows[name].median) for rows in timings.values()]
        table.add_row(name, *(f"{format_seconds(median)}  {ratio:.2f}x" for median, ratio in cells))
    return table


def plot(timings: dict[str, dict[str, Timing]], path: Path) -> None:
    """Draw bars of the medians, with the interquartile range of the samples, as a PNG."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for offset, (what, rows) in enumerate(timings.items()):
        places = [index + 0.4 * offset for index in range(len(rows))]
        medians = [row.median * 1e6 for row in rows.values()]
        spread = [[(r.median - r.low) * 1e6 for r in rows.values()], [(r.high - r.median) * 1e6 for r in rows.values()]]
        bars = axes.barh(places, medians, height=0.38, xerr=spread, label=what, hatch="//" * offset, edgecolor="white")
        axes.bar_label(bars, [f"{value:.0f} µs" for value in medians], padding=6)
    axes.set_yticks([index + 0.2 for index in range(len(rows))], list(rows))
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="LLTM, batch 16, input 32, state 128", xlabel="µs a call (median; bars: middle half)")
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
