"""``opwright build``: compiles all kernels of files into the cache that ``load`` reads."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table

from opwright.cli.completion import backends
from opwright.cli.console import DTYPES, WIDTH, Progress, console_beside, progress
from opwright.codegen import KernelSource, instance_name
from opwright.codegen.collect import collect
from opwright.codegen.source import compiled_ahead
from opwright.cuda import find_backend
from opwright.errors import CompileError
from opwright.signature import DType
from opwright.signature.derivatives import carries_derivative
from opwright.signature.dtypes import BY_ANY_NAME
from opwright.toolchain import Built, Options, build, linked
from opwright.toolchain.build.limits import jobs as most_at_once
from opwright.toolchain.build.processes import settled, stop_all, unwound_by_signals


@dataclass(frozen=True)
class Job:
    """A library to compile: the kernels of a file, or a derived kernel."""

    source: KernelSource
    types: dict[str, DType]
    derived: str = ""
    wanted: int = 0
    device: str = "cpu"

    @property
    def label(self) -> str:
        """Return the job's name for the table."""
        return f"{self.source.path.name}: {self.derived}" if self.derived else self.source.path.name

    def build(self) -> Built:
        """Compile the library, unless it is in the cache."""
        if self.source.is_cuda(self.device):
            started = time.perf_counter()
            path = self.source.library(self.types, self.wanted, derived=self.derived, device=self.device)
            return Built(Path(path), time.perf_counter() - started, cached=False)
        source = self.source
        unit = source.derived_unit(self.derived, self.types, self.wanted) if self.derived else source.unit(self.types)
        return build(unit, source.options)


@click.command("build")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@DTYPES
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
    names = {BY_ANY_NAME[name].torch_name for name in dtypes} or None
    sources = collect(files, options, ops or None, None, find_backend(backend) if backend else None, find_backend)
    jobs = [job for source in sources for job in jobs_of(source, names, backend is not None)]
    console = console_beside(WIDTH)
    table = Table("source", "element types", "time", "library")
    with unwound_by_signals(), progress(console) as report:
        results = _build_all(jobs, report)
    for job, built in zip(jobs, results, strict=True):
        table.add_row(job.label, instance_name(job.types) or "as written", _time(built), built.path.name)
    console.print(table)


def jobs_of(source: KernelSource, names: Collection[str] | None, all_devices: bool) -> Iterator[Job]:
    """Yield the libraries of a file; CUDA kernels of a C++ file, which few machines compile, only for `all_devices`.

    `names`: PyTorch's names of the element types to choose from; None: all.
    """
    devices = source.devices if all_devices or source.source.language == "cuda" else ("cpu",)
    for device in devices:
        served = {kernel.signature.name for kernel in source.kernels(device)}
        for types in source.assignments(device, names):
            yield Job(source, types, device=device)
        for name, derived in source.derivatives().items():
            wanted = compiled_ahead(derived)
            if wanted is not None and derived.body.name in served:
                signature = derived.signature
                chosen = (t for t in signature.instances() if names is None or signature.selects(t, names))
                yield from (Job(source, types, name, wanted, device) for types in filter(carries_derivative, chosen))


def _build_all(jobs: Sequence[Job], report: Progress) -> list[Built]:
    """Compile the libraries, and return them in the order of `jobs`; an error prevents further jobs from starting."""
    finished: list[Built] = []

    def one(job: Job) -> Built:
        report(f"{job.label} {instance_name(job.types)}", len(finished), len(jobs))
        built = _build(job, jobs)
        finished.append(built)
        return built

    with ThreadPoolExecutor(most_at_once()) as pool:
        try:
            futures = [pool.submit(one, job) for job in jobs]
            settled(futures)
        except BaseException:  # also for Ctrl-C: don't wait for compilers
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in sorted(futures, key=Future.cancelled)]


def _build(job: Job, jobs: Sequence[Job]) -> Built:
    try:
        return job.build()
    except CompileError as error:
        if not job.types:
            raise
        advice = "" if "\n  likely fix: " in str(error) else _other_types(job, jobs)
        raise CompileError(f"for {instance_name(job.types)}: {error}{advice}") from None


def _other_types(job: Job, jobs: Sequence[Job]) -> str:
    """Return the advice to list the element types of a kernel that compiles for others than those of `job`, or ""."""
    what = job.source, job.derived, job.device
    others = (each for each in jobs if each.types != job.types)
    other = next((each for each in others if (each.source, each.derived, each.device) == what), None)
    if other is None:
        return ""
    try:
        other.build()
    except CompileError:
        return ""
    return (
        f"\n  likely fix: it compiles for {instance_name(other.types)}; if it isn't meant for "
        f"{instance_name(job.types)}, list its types: where T in (f32, f64)"
    )


def _time(built: Built) -> str:
    return "cached" if built.cached else f"{built.seconds * 1e3:.0f} ms"
