"""``opwright bench``: is an operator fast?"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opwright.cli.asking import STOPPED, progress, usage
from opwright.cli.bench_asked import labelled, refuse_idle, sizes, understood
from opwright.cli.bench_output import Output, read
from opwright.cli.completing import files_and_operators

if TYPE_CHECKING:
    from opwright.bench.report import Report

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("bench")
@click.argument("target", required=False, metavar="FILE | MODULE:OP | REPORT.json", shell_complete=files_and_operators)
@click.option(
    "--against", multiple=True, metavar="[LABEL=]WHAT", help="What to compare with; may be repeated. See below."
)
@click.option("--axis", "axes", multiple=True, metavar="NAME=SIZES", help="B=16, S=128,256, N=10:100:10, B=1:4096:x2.")
@click.option("--dtype", "dtypes", multiple=True, help="An element type, as float64; may be repeated.")
@click.option(
    "--device", "devices", multiple=True, type=click.Choice(["cpu", "cuda", "emulated"]), help="May be repeated."
)
@click.option("--threads", multiple=True, type=click.IntRange(min=1), help="PyTorch's threads; may be repeated.")
@click.option(
    "--phase", "phases", multiple=True, type=click.Choice(["forward", "backward", "both"]), help="May be repeated."
)
@click.option("--cold", is_flag=True, help="Flush the processor's caches before each call.")
@click.option("--operations", metavar="EXPR", help="The forward's floating-point operations: 2*M*N*K.")
@click.option("--signature", multiple=True, help="The signature, where Opwright didn't build the operator.")
@click.option("--rounds", type=click.IntRange(min=2), help="As many samples of each; without, until ratios are known.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="At most so long for each point.")
@click.option(
    "--confidence", type=click.FloatRange(0.5, 1, max_open=True), default=0.99, show_default=True, help="Of intervals."
)
@click.option("--json", "json_", type=_FILE, help="Write the report there; - for the terminal.")
@click.option("--markdown", type=_FILE, help="Write the tables as Markdown; - for the terminal.")
@click.option("--picture", "pictures", multiple=True, type=_FILE, help="Draw it: a .png or .svg file; may be repeated.")
@click.option("--profile", type=_FILE, help="Then write a trace of each call, by torch.profiler.")
@click.option("--compare", nargs=2, type=_FILE, metavar="BEFORE AFTER", help="Measure nothing: compare two reports.")
@click.option(
    "--fail-if-slower", "limit", metavar="5%", help="Status 1 where the operator is slower by more than that."
)
def command(
    target: str | None,
    *,
    against: tuple[str, ...],
    compare: tuple[Path, Path] | None,
    limit: str | None,
    profile: Path | None,
    json_: Path | None,
    markdown: Path | None,
    pictures: tuple[Path, ...],
    cold: bool,
    axes: tuple[str, ...],
    **options: Any,
) -> None:
    """Time operators, and what else computes the same, in turn; say what limits them.

    WHAT is a Python expression of the signature's names, as "torch.nn.functional.gelu(x)"; the same after "compile:",
    for torch.compile of it; a function or module, as module:name or file.py:name; another source file; a git revision
    of this one, as HEAD~1. A LABEL is what tables call it. REPORT.json, of an earlier run, is shown again.

    Exit status: 0 all was measured, and nothing is slower than --fail-if-slower allows; 1 something is, or something
    couldn't be measured; 2 the command can't be understood; 130 Ctrl-C.
    """
    output = Output(json_, markdown, pictures)
    allowed = understood(output.check, profile, limit)
    if compare:
        refuse_idle("--compare measures nothing", "compare", "json_", "markdown", "limit")
        before, after = (read(path) for path in compare)
        sys.exit(output.changes(before, after, allowed))
    if target is None:
        raise click.UsageError("expected a source file, an operator as module:name or file.py:name, or --compare")
    if target.endswith(".json"):
        refuse_idle(f"{target} was measured", "target", "json_", "markdown", "pictures", "limit")
        report = read(Path(target))
        sys.exit(output.report(report, allowed, {each.candidate for each in report.comparisons}))
    if profile:
        os.environ.setdefault("KINETO_LOG_LEVEL", "9")  # of the profiler, which tells of each start and stop otherwise
    alternatives = labelled(against)
    if allowed is not None and not alternatives:
        raise click.UsageError("--fail-if-slower needs something to be slower than: --against or --compare")
    if options["rounds"] is not None and options["seconds"] is not None:
        raise click.UsageError("--rounds is how long it takes: --seconds would do nothing")
    given = {name: value for name, value in options.items() if value not in ((), None)}
    given.update(axes=sizes(axes), against=alternatives, cache="cold" if cold else "warm", profile=profile)
    report = _measured(target, output, **given)
    status = output.report(report, allowed, alternatives)
    if report.stopped:
        sys.exit(STOPPED)
    if profile:
        output.console.print(
            f"{profile}: a trace, for ui.perfetto.dev or chrome://tracing", markup=False, soft_wrap=True
        )
    sys.exit(status)


def _measured(target: str, output: Output, **options: Any) -> Report:
    """The report; of a run that Ctrl-C has ended, what was measured until then."""
    from opwright.bench import bench
    from opwright.bench.refusal import RequestError
    from opwright.bench.run import Interrupted

    try:
        with usage(RequestError), progress(output.console) as told:
            return bench(target, progress=told, **options)
    except Interrupted as stopped:
        return stopped.report
    except KeyboardInterrupt:
        click.echo("stopped by Ctrl-C: nothing was measured", err=True)
        sys.exit(STOPPED)
