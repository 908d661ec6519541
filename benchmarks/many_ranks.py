"""CPU time of many processes that load the same kernels at once, after ``import torch``.

``python benchmarks/many_ranks.py [--ranks 64]``. The processes are forked when PyTorch has been imported; each imports
Opwright, loads a source that was never compiled before, calls an operator and its derived backward, and compares the
gradient. Cases: all at once; on a file system without locks; with the process that compiles killed while it does; and
with kernels that ``opwright build`` has compiled before. Waiting for each other is all that the processes do together.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

HERE = Path(__file__).parent
SOURCE = HERE.parent / "examples/parallel/parallel.cpp"
PATIENCE = 600.0


class Rank(NamedTuple):
    """What a process has used: CPU seconds of its own, and of the compilers that it started."""

    own: float
    compilers: float


def work(source: Path, result: Path, locks: bool) -> None:
    """Load the source, call an operator and its backward, and write what that has cost."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    if not locks:
        import fcntl

        def refused(*_: object) -> None:
            raise OSError(errno.ENOLCK, "no locks")

        fcntl.flock = refused  # type: ignore[assignment]
    import opwright

    torch.set_num_threads(1)
    ops = opwright.load(source)
    x = torch.ones(1, 1, 2, 3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(ops.attention(x.detach(), x.detach(), x).sum(), x)
    if not torch.equal(gradient, torch.ones_like(x)):  # assert_close would import DTensor and SymPy
        raise RuntimeError(f"the gradient is {gradient}")
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    used = [
        end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime for end, start in zip(after, before, strict=True)
    ]
    result.write_text(json.dumps(used))


def start(source: Path, result: Path, locks: bool = True) -> int:
    """Fork a process that does the work; return its id."""
    sys.stdout.flush()
    if (process := os.fork()) > 0:
        return process
    status = 1
    try:
        work(source, result, locks)
        status = 0
    finally:
        os._exit(status)


def finish(processes: list[int], folder: Path) -> list[Rank]:
    """Wait for processes, and return what each has used; raise RuntimeError if one has failed."""
    for process in processes:
        _, status = os.waitpid(process, 0)
        if status:
            raise RuntimeError(f"a process ended with status {status}")
    return [Rank(*json.loads(told(folder, i).read_text())) for i in range(len(processes))]


def told(folder: Path, number: int) -> Path:
    """Return where a process writes what it has used; a file "12" beside a source could hide a header "12/..."."""
    return folder / f"rank-{number}.json"


def fresh(folder: Path) -> Path:
    """Return a folder with a source that was never compiled before."""
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "parallel.cpp").write_text(f"{SOURCE.read_text()}\n// {time.time_ns()}\n")
    return place


def together(
    folder: Path, count: int, *, locks: bool = True, prepare: Callable[[Path], object] | None = None
) -> list[Rank]:
    """Start `count` processes at once."""
    place = fresh(folder)
    source = place / "parallel.cpp"
    if prepare:
        prepare(source)
    return finish([start(source, told(place, i), locks) for i in range(count)], place)


def one_killed(folder: Path, count: int) -> list[Rank]:
    """Start a process, `count` others while it compiles, and kill it."""
    place = fresh(folder)
    units = Path(os.environ["TORCH_EXTENSIONS_DIR"]) / "opwright/units"
    known = set(units.rglob(".work-*"))
    victim = start(place / "parallel.cpp", place / "victim")
    limit = time.monotonic() + PATIENCE
    while not set(units.rglob(".work-*")) - known:
        if time.monotonic() > limit or os.waitpid(victim, os.WNOHANG)[0]:
            raise RuntimeError("the first process didn't compile")
        time.sleep(0.001)
    os.kill(victim, signal.SIGSTOP)  # it holds the lock, and doesn't finish while the others start
    processes = [start(place / "parallel.cpp", told(place, i)) for i in range(count)]
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    if (place / "victim").exists():
        raise RuntimeError("the first process had finished before it was killed")
    return finish(processes, place)


def built_before(source: Path) -> None:
    """Compile a source's kernels by the command."""
    command = [sys.executable, "-m", "opwright", "build", str(source), "--dtype", "f64"]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=64)
    count = parser.parse_args().ranks
    sys.dont_write_bytecode = False  # users have cached bytecode
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TORCH_EXTENSIONS_DIR", folder)
        place = Path(folder)
        together(place, 1)  # builds the runtime, unless it is there
        compiled = sum(sum(together(place, 1)[0]) for _ in range(3)) / 3
        cached = sum(sum(rank) for rank in together(place, 8, prepare=work_once)) / 8
        measured = {
            "with locks": together(place, count),
            "without locks": together(place, count, locks=False),
            "one killed": one_killed(place, count),
            "built before": together(place, count, prepare=built_before),
        }
    from opwright.bench import Result

    result = Result(
        "many_ranks", f"{count} processes that load the same kernels at once; CPU seconds after import torch"
    )
    limit = 1.2 * compiled + count * cached
    for name, ranks in measured.items():
        total, builders = sum(sum(rank) for rank in ranks), sum(rank.compilers > 0 for rank in ranks)
        result.notes.append(f"{name}: {total:.1f} s, {builders} of {count} started a compiler")
        result.claim(
            f"{name}: CPU time / (1.2 compilations + {count} cached loads)",
            total / limit,
            "" if name == "without locks" else "<= 1",
        )
    result.notes.append(f"one compilation and its load: {compiled:.2f} s; one cached load: {cached:.2f} s")
    result.finish(HERE / "results")


def work_once(source: Path) -> None:
    """Let one process compile a source."""
    finish([start(source, told(source.parent, 0))], source.parent)


if __name__ == "__main__":
    main()
