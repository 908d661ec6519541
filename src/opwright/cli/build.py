"""``opwright build``: compiles all kernels of files into the cache that ``load`` reads."""

from __future__ import annotations

import contextlib
import importlib.util
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
from opwright.codegen.providers import compiled_ahead
from opwright.cuda import find_backend
from opwright.errors import CompileError
from opwright.signature import DType
from opwright.signature.derivatives import carries_derivative
from opwright.signature.dtypes import BY_ANY_NAME
from opwright.toolchain import Built, Options, linked
from opwright.toolchain.build.limits import jobs as most_at_once
from opwright.toolchain.build.processes import settled, stop_all, unwound_by_signals
from opwright.toolchain.cache.folder import unwritable
from opwright.toolchain.cache.read_only import VARIABLE, filling


@dataclass(frozen=True)
class Job:
    """A library to compile: the kernels of a file, or a derived kernel.

    Attributes:
        source: the file.
        types: the element types.
        derived: the derived kernel's name.
        wanted: the bit mask of results that the derived kernel computes; 0: those that a call wants.
        device: the device of the tensors.
        some: whether it is for calls that want some results, beside another one for those that want all.
    """

    source: KernelSource
    types: dict[str, DType]
    derived: str = ""
    wanted: int = 0
    device: str = "cpu"
    some: bool = False

    @property
    def label(self) -> str:
        """Return the job's name for the table."""
        return f"{self.source.path.name}: {self.derived}" if self.derived else self.source.path.name

    @property
    def instance(self) -> str:
        """Return the element types for the table, and whether it is for calls that want some of the results."""
        types = instance_name(self.types) or "as written"
        return f"{types} (some)" if self.some else types

    def build(self) -> Built:
        """Compile the library, unless it is in the cache."""
        return self.source.compiled(self.types, self.wanted, derived=self.derived, device=self.device)


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
@click.option(
    "--output",
    "-o",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder to fill in place of the cache, for OPWRIGHT_READ_ONLY_CACHE.",
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
    output: Path | None,
) -> None:
    """Compile every kernel in FILES, for every element type that it allows, with the gradients that are derived.

    What is built goes into the cache, so that a later `opwright.load` in any process compiles nothing. Needs no
    PyTorch.

    With --output it goes into a folder, which other processes, users and hosts read, and never write to, with
    OPWRIGHT_READ_ONLY_CACHE=DIR. Opwright's own runtime is put there too, if PyTorch is installed.
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
        runtime = not output or _has_pytorch()
        with _into(output, with_runtime=runtime):
            results = _build_all(jobs, report)
    for job, built in zip(jobs, results, strict=True):
        table.add_row(job.label, job.instance, _time(built), built.path.name)
    console.print(table)
    if output:
        told = "" if runtime else "; Opwright's runtime isn't in it: there is no PyTorch here"
        click.echo(f"for processes that compile nothing: {VARIABLE}={output.absolute()}{told}")


def _has_pytorch() -> bool:
    return importlib.util.find_spec("torch") is not None


@contextlib.contextmanager
def _into(output: Path | None, *, with_runtime: bool) -> Iterator[None]:
    """Build into the folder `output`, if one is given, and put Opwright's runtime there, too."""
    if output is None:
        yield
        return
    built = _runtime() if with_runtime else None
    try:
        with filling(output):
            if built:
                from opwright.runtime.native.shared import share

                share(built)
            yield
    except OSError as error:
        raise unwritable(output, error) from error


def _runtime() -> Path | None:
    """Return the native runtime, built if necessary; None if every installation brings it."""
    from opwright.runtime.native import prebuilt, runtime

    return None if prebuilt.find() else runtime.library()


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
                several = derived.body.pointwise and wanted.bit_count() > 1  # a tape computes whichever are wanted
                for types in filter(carries_derivative, signature.instances()):
                    if names is None or signature.selects(types, names):
                        yield Job(source, types, name, wanted, device)
                        yield from [Job(source, types, name, 0, device, some=True)] * several


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
