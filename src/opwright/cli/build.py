"""``opwright build``: compile all of a file's kernels, into the cache that ``load`` reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import opwright.cuda  # noqa: F401 - its back ends are found
from opwright.cli.asking import WIDTH, console_beside
from opwright.cli.completing import backends
from opwright.codegen import DerivedSource, KernelSource, instance_name
from opwright.codegen.backends import find_backend
from opwright.codegen.collect import collect
from opwright.errors import CompileError
from opwright.signature import DType
from opwright.toolchain import Built, Options, build, linked
from opwright.toolchain.interrupts import unwound_by_signals
from opwright.toolchain.process import jobs as most_at_once
from opwright.toolchain.process import settled, stop_all


@dataclass(frozen=True)
class Job:
    """A library: of the kernels that a file holds, or of one that is derived."""

    source: KernelSource
    types: dict[str, DType]
    derived: DerivedSource | None = None
    device: str = "cpu"

    @property
    def label(self) -> str:
        """What it is, for the table."""
        return f"{self.source.path.name}: {self.derived.name}" if self.derived else self.source.path.name

    def build(self) -> Built:
        """Compile it, unless the cache has it."""
        if self.source.is_cuda(self.device):
            started = time.perf_counter()
            wanted = (self.derived.ahead or 0) if self.derived else 0
            path = (self.derived or self.source).library(self.types, wanted, device=self.device)
            return Built(Path(path), time.perf_counter() - started, cached=False)
        unit = self.derived.unit(self.types, self.derived.ahead or 0) if self.derived else self.source.unit(self.types)
        return build(unit, self.source.options)


@click.command("build")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--dtype", "dtypes", multiple=True, type=click.Choice([d.value for d in DType]), help="Only these element types."
)
@click.option("--debug", is_flag=True, help="Compile with -g -O0.")
@click.option("--baseline", is_flag=True, help="For any processor of this architecture, not just this one.")
@click.option("--cflag", "cflags", multiple=True, help="A word for the compiler; may be repeated.")
@click.option("-I", "includes", multiple=True, type=click.Path(file_okay=False), help="A folder with headers.")
@click.option("-L", "folders", multiple=True, type=click.Path(file_okay=False), help="A folder with libraries.")
@click.option("-l", "libraries", multiple=True, help="A library to link with.")
@click.option("--ops", multiple=True, help="The signature of a function without a mark; may be repeated.")
@click.option(
    "--backend",
    shell_complete=backends,
    help="What compiles CUDA code: nvcc, nvrtc or emulate; of C++ files, what is pointwise, then too.",
)
def command(
    files: tuple[Path, ...],
    dtypes: tuple[str, ...],
    debug: bool,
    baseline: bool,
    cflags: tuple[str, ...],
    includes: tuple[str, ...],
    folders: tuple[str, ...],
    libraries: tuple[str, ...],
    ops: tuple[str, ...],
    backend: str | None,
) -> None:
    """Compile every kernel in FILES, for every element type that it allows, with the gradients that are derived.

    What is built goes into the cache, so that a later `opwright.load` in any process compiles nothing. Needs no
    PyTorch.
    """
    options = Options(debug=debug, native=not baseline, extra_cflags=cflags, include_dirs=includes)
    if folders or libraries:
        options = linked(options, libraries, folders)
    wanted = [d for d in DType if d.value in dtypes]
    sources = collect(files, options, ops or None, backend=find_backend(backend) if backend else None)
    jobs = [job for source in sources for job in _jobs(source, backend is not None) if _wanted(job.types, wanted)]
    console = console_beside(WIDTH)
    table = Table("source", "element types", "time", "library")
    with unwound_by_signals(), _progress(console) as progress:
        results = _build_all(jobs, progress)
    for job, built in zip(jobs, results, strict=True):
        table.add_row(job.label, instance_name(job.types) or "as written", _time(built), built.path.name)
    console.print(table)


def _jobs(source: KernelSource, asked: bool) -> Iterator[Job]:
    """`asked`: whether CUDA kernels of C++ files are wanted, too, which most machines can't compile."""
    devices = source.devices if asked or source.source.language == "cuda" else ("cpu",)
    for device in devices:
        served = {kernel.signature.name for kernel in source.kernels(device)}
        for types in source.assignments(device):
            yield Job(source, types, device=device)
        for derived in source.derivatives():
            if derived.ahead is not None and source.derived[derived.name].body.name in served:
                yield from (Job(source, types, derived, device) for types in derived.signature.instances())


def _build_all(jobs: Sequence[Job], progress: Progress) -> list[Built]:
    """The libraries, in the order of `jobs`; after an error nothing more is begun, and the first one is raised."""
    task = progress.add_task("", total=len(jobs))

    def one(job: Job) -> Built:
        progress.update(task, description=f"{job.label} {instance_name(job.types)}")
        built = _build(job)
        progress.advance(task)
        return built

    with ThreadPoolExecutor(most_at_once()) as pool:
        try:
            futures = [pool.submit(one, job) for job in jobs]
            settled(futures)
        except BaseException:  # Ctrl-C: nobody waits for compilers then
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in sorted(futures, key=Future.cancelled)]


def _build(job: Job) -> Built:
    try:
        return job.build()
    except CompileError as error:
        if not job.types:
            raise
        chosen = instance_name(job.types)
        hint = f"\n  likely fix: if the kernel isn't meant for {chosen}, list its types: where T in (f32, f64)"
        raise CompileError(f"for {chosen}: {error}{hint}") from None


def _wanted(types: dict[str, DType], wanted: list[DType]) -> bool:
    return not wanted or all(dtype in wanted for dtype in types.values())


def _time(built: Built) -> str:
    return "cached" if built.cached else f"{built.seconds * 1e3:.0f} ms"


def _progress(console: Console) -> Progress:
    columns = SpinnerColumn(), TextColumn("{task.completed}/{task.total} {task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=console, transient=True)
