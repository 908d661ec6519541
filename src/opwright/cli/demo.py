"""``opwright demo``: kernels become operators, are checked, and LLTM is timed against pure Python."""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

import opwright
from opwright.bench import Timing, interleaved, machine
from opwright.bench.result import duration

if TYPE_CHECKING:
    import torch

EXAMPLES = ("my_op", "sigmoid", "lltm_derived", "lltm_cell", "lltm")


@click.command("demo")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("opwright-demo.png"), help="Where the plot goes."
)
@click.option("--rounds", default=21, show_default=True, help="Samples for each timing.")
def command(output: Path, rounds: int) -> None:
    """Build the example operators from source, check them, time LLTM, show the table and the plot."""
    runtime = importlib.import_module("opwright.runtime")  # before torch: it says what to install
    import torch

    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine().items()), style="dim")
    started = time.perf_counter()
    console.print(f"runtime for PyTorch {torch.__version__}: {runtime.name()}", end=", ")
    console.print(duration(time.perf_counter() - started))
    folder = examples()
    sys.path[:0] = [str(folder / name) for name in ("my_op", "sigmoid", "lltm")]
    modules = {name: importlib.import_module(name) for name in ("my_op", "sigmoid", "lltm")}
    table, agreed = _checks(folder, modules)
    console.print(table)
    timings = _timings(modules["lltm"], rounds)
    console.print(_times(timings))
    plot(timings, output)
    console.print(f"plot: {output.absolute()}", soft_wrap=True)
    if not agreed:
        raise opwright.OpwrightError("a check failed: see NO in the table of operators")


def examples() -> Path:
    """The folder with the examples: in the package, or in the repository around it.

    Raises:
        UnsupportedError: neither is there.
    """
    package = Path(opwright.__file__).parent
    for folder in (package / "_examples", package.parent.parent / "examples"):
        if (folder / "my_op" / "my_op.cpp").exists():
            return folder
    raise opwright.UnsupportedError(
        "the examples aren't installed\n  likely fix: clone the repository and run `make demo` there"
    )


def _checks(folder: Path, modules: dict[str, ModuleType]) -> tuple[Table, bool]:
    """Compile each source as if for the first time, and check what came out: the table, and whether all was right."""
    agreed = True
    table = Table("operator", "source to first result", "agrees with PyTorch", "gradcheck", "gradgradcheck", "opcheck")
    for name in EXAMPLES:
        source = next(folder.glob(f"*/{name}.cpp"))
        with tempfile.TemporaryDirectory() as scratch:
            took = _fresh(source, name, Path(scratch))
        passes = _passes(name, modules)
        agreed = agreed and all(passes)
        table.add_row(name, duration(took), *("yes" if passed else "NO" for passed in passes))
    return table, agreed


def _fresh(source: Path, name: str, scratch: Path) -> float:
    """Seconds from a source that nobody has compiled to the operator's first result."""
    copy = scratch / f"{name}_{time.time_ns()}.cpp"
    text = source.read_text() + f"\n// {copy.stem}\n"  # a text that is in no cache
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
    """The operator, and the same in PyTorch."""
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
    """LLTM's forward, and forward with backward, for each of its forms."""
    import torch

    torch.set_num_threads(1)  # two would wait for each other wherever another process runs
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
    title = "LLTM, batch 16, input 32, state 128, one thread: median, and times as fast as Python"
    table = Table("", *timings, title=title, title_justify="left")
    for name in timings["forward"]:
        cells = [(rows[name].median, rows["pure Python"].median / rows[name].median) for rows in timings.values()]
        table.add_row(name, *(f"{duration(median)}  {ratio:.2f}x" for median, ratio in cells))
    return table


def plot(timings: dict[str, dict[str, Timing]], path: Path) -> None:
    """Bars of the medians, with the middle half of the samples, as a PNG."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the plot needs matplotlib; install it with `pip install opwright[bench]`") from error
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
