"""``opwright bench``: measures the speed of operators."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from opwright.cli import STOPPED
from opwright.cli.completion import files_and_operators
from opwright.cli.console import console_beside, progress, require_folders, usage, write_text

if TYPE_CHECKING:
    from opwright.bench.request import Size
    from opwright.bench.results.report import Report

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
    of this one, as HEAD~1; derived, the operator with a derived gradient in place of its handwritten one. A LABEL is
    what tables call it. REPORT.json, of an earlier run, is shown again.

    Exit status: 0 all was measured, and nothing is slower than --fail-if-slower allows; 1 something is, or something
    couldn't be measured; 2 the command can't be understood; 130 Ctrl-C.
    """
    output = Output(json_, markdown, pictures)
    allowed = check_options(output.check, profile, limit)
    if compare:
        refuse_unused("--compare measures nothing", "compare", "json_", "markdown", "limit")
        before, after = (read_report(path) for path in compare)
        sys.exit(output.changes(before, after, allowed))
    if target is None:
        raise click.UsageError("expected a source file, an operator as module:name or file.py:name, or --compare")
    if target.endswith(".json"):
        refuse_unused(f"{target} was measured", "target", "json_", "markdown", "pictures", "limit")
        report = read_report(Path(target))
        sys.exit(output.report(report, allowed, {each.candidate for each in report.comparisons}))
    if profile:
        os.environ.setdefault("KINETO_LOG_LEVEL", "9")  # otherwise the profiler logs each start and stop
    alternatives = parse_alternatives(against)
    if allowed is not None and not alternatives:
        raise click.UsageError("--fail-if-slower needs something to be slower than: --against or --compare")
    if options["rounds"] is not None and options["seconds"] is not None:
        raise click.UsageError("--rounds is how long it takes: --seconds would do nothing")
    arguments = {name: value for name, value in options.items() if value not in ((), None)}
    arguments.update(axes=parse_axes(axes), against=alternatives, cache="cold" if cold else "warm", profile=profile)
    report = _measure(target, output, **arguments)
    status = output.report(report, allowed, alternatives)
    if report.stopped:
        sys.exit(STOPPED)
    if profile:
        output.console.print(
            f"{profile}: a trace, for ui.perfetto.dev or chrome://tracing", markup=False, soft_wrap=True
        )
    sys.exit(status)


def _measure(target: str, output: Output, **options: Any) -> Report:
    """Measure; after Ctrl-C, return the results so far."""
    from opwright.bench import bench
    from opwright.bench.request import RequestError
    from opwright.bench.run import Interrupted

    try:
        with usage(RequestError), progress(output.console) as report_progress:
            return bench(target, progress=report_progress, **options)
    except Interrupted as stopped:
        return stopped.report
    except KeyboardInterrupt:
        click.echo("stopped by Ctrl-C: nothing was measured", err=True)
        sys.exit(STOPPED)


# A label, then an expression: no Python expression begins with words and a single equals sign.
_LABEL = re.compile(r"\s*([A-Za-z][\w+ ,.-]*?)\s*=(?!=)\s*(.+)", re.DOTALL)


def check_options(check: Callable[[], None], profile: Path | None, limit: str | None) -> float | None:
    """Check the options before anything is measured, and return the limit."""
    from opwright.bench.regression import parse_percentage

    check()
    require_folders(profile)
    try:
        return None if limit is None else parse_percentage(limit)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--fail-if-slower") from error


def refuse_unused(why: str, *used: str) -> None:
    """Raise a usage error for options that would have no effect.

    Args:
        why: the reason why they have no effect.
        used: the names of the parameters that have an effect.

    Raises:
        click.UsageError: other parameters are on the command line.
    """
    context = click.get_current_context()
    unused = [p for p in context.command.params if _is_on_command_line(context, p) and p.name not in used]
    if unused:
        names = (p.opts[0] if isinstance(p, click.Option) else repr(context.params["target"]) for p in unused)
        raise click.UsageError(f"{why}: {', '.join(names)} would do nothing")


def _is_on_command_line(context: click.Context, parameter: click.Parameter) -> bool:
    name = parameter.name or ""
    is_set = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    return is_set and context.params.get(name) is not None


def parse_axes(texts: Collection[str]) -> dict[str, tuple[Size, ...]]:
    """Parse the values of ``--axis``; return the sizes of each axis."""
    from opwright.bench.request import parse_axis

    axes: dict[str, tuple[Size, ...]] = {}
    for text in texts:
        try:
            name, sizes = parse_axis(text)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--axis") from error
        if name in axes:
            raise click.UsageError(f"--axis {name} is there twice; several sizes are written {name}=16,32")
        axes[name] = sizes
    return axes


def parse_alternatives(against: Collection[str]) -> dict[str, str]:
    """Parse the alternatives to compare with; return them by label."""
    alternatives: dict[str, str] = {}
    for text in against:
        match = _LABEL.fullmatch(text)
        label, what = (match[1], match[2]) if match else (text, text)
        if label in alternatives:
            raise click.UsageError(f"two alternatives are called {label!r}; a label goes before: LABEL=WHAT")
        alternatives[label] = what
    return alternatives


def read_report(path: Path) -> Report:
    """Read the report of an earlier run."""
    from opwright.bench.results.report import Report

    try:
        return Report.read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error
    except ValueError as error:  # includes UnicodeDecodeError
        raise click.FileError(str(path), f"{error}\n  likely fix: name a file that --json has written") from error


@dataclass
class Output:
    """The output files; ``-`` is stdout, in which case the tables go to stderr."""

    json: Path | None
    markdown: Path | None
    pictures: tuple[Path, ...]

    def __post_init__(self) -> None:
        """Choose the stream for the tables."""
        from opwright.bench.results.tables import WIDTH

        self.console = console_beside(WIDTH, json=self.json, markdown=self.markdown)

    def check(self) -> None:
        """Check before the measurement that the files can be written."""
        from opwright.bench.results.picture import SUFFIXES, require_matplotlib

        require_folders(self.json, self.markdown, *self.pictures)
        for path in self.pictures:
            if path.suffix not in SUFFIXES:
                raise click.BadParameter(f"{path}: expected a name that ends in {' or '.join(SUFFIXES)}")
        if self.pictures:
            require_matplotlib()

    def report(self, report: Report, limit: float | None, against: Collection[str]) -> int:
        """Write and show a report; return the exit status."""
        from opwright.bench import regression
        from opwright.bench.results import tables
        from opwright.bench.results.picture import draw

        if report.measurements or not report.stopped:
            write_text(self.json, report.to_json())
            write_text(self.markdown, tables.report_markdown(report))
        tables.show_report(report, self.console)
        if self.pictures and report.measurements and not report.stopped:
            draw(report, *self.pictures)
        measured = {each.candidate for each in report.measurements}
        failures = [f"{name} wasn't measured" for name in against if name not in measured]
        if report.crashes:
            failures.append(f"calls that end the process: {len(report.crashes)}")
        if report.stopped:
            failures.append("the report isn't whole" + (": no picture is drawn of it" if self.pictures else ""))
        if not report.measurements:
            failures.append("nothing was measured")
        if limit is None:
            return self._status(failures)
        self._warn_unclear(regression.count_unclear(regression.ratios_to_alternatives(report), limit), limit)
        return self._status([*failures, *regression.regressions_against_alternatives(report, limit)])

    def changes(self, before: Report, after: Report, limit: float | None) -> int:
        """Write and show the changes between two reports; return the exit status."""
        from opwright.bench import regression
        from opwright.bench.results import tables

        comparison = regression.compare_reports(before, after)
        write_text(self.json, comparison.to_json())
        write_text(self.markdown, tables.changes_markdown(comparison))
        tables.show_changes(comparison, self.console)
        if limit is None:
            return 0
        own = [each.ratio for each in comparison.changes if each.candidate == each.point.operator]
        self._warn_unclear(regression.count_unclear(own, limit), limit)
        missing = [] if own else ["the reports have no measurement of the operator in common"]
        return self._status([*missing, *regression.regressions_since(comparison, limit)])

    def _warn_unclear(self, count: int, limit: float) -> None:
        if count:
            text = f"ratios too uncertain to exclude that the operator is slower by {100 * limit:g}%: {count}"
            self.console.print(text, style="yellow", soft_wrap=True)

    def _status(self, failures: Sequence[str]) -> int:
        for line in failures:
            self.console.print(line, style="bold red", markup=False, highlight=False, soft_wrap=True)
        return 1 if failures else 0
