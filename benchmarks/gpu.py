"""GPU benchmarks: edit to call, launch overhead, LLTM against alternatives, also with CUDA graphs, and bandwidth.

Every sample includes a synchronization with the GPU. ``python benchmarks/gpu.py [--parts edit lltm]``. Without a GPU,
``--emulate`` runs everything at small sizes, with kernels emulated on the CPU: the times mean nothing for a GPU, and
aren't saved.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from gpu_sources import OPWRIGHT, SCALED, WORKERS

import opwright
from opwright.bench import Result, Timing, interleaved, ratio, write_result
from opwright.bench.scripts import summary
from opwright.cuda import find_backend as find
from opwright.errors import ToolchainError

HERE = Path(__file__).parent
MAIN, SMALL = "16x32x128", "4x8x16"
_OUR_EVENT = re.compile(r"lltm_\w+::lltm_\w+(?<!_backward)|autograd::engine::evaluate_function: Lltm\w+Backward")
"""What PyTorch's profiler calls our operators, and the calls of their gradients by autograd."""


@dataclass
class Run:
    """The settings and results of a run."""

    emulated: bool
    rounds: int
    edits: int
    peers: bool
    result: Result = field(default_factory=lambda: Result("gpu", "Kernels on a GPU; ratios of medians"))

    @property
    def device(self) -> str:
        """The device of the tensors."""
        return "cpu" if self.emulated else "cuda"

    @property
    def backend(self) -> str | None:
        """The default back end."""
        return "emulate" if self.emulated else None

    def backends(self) -> list[str]:
        """Return the back ends that can be used here."""
        return [name for name in (("emulate",) if self.emulated else ("nvcc", "nvrtc")) if self._has(name)]

    def _has(self, name: str) -> bool:
        try:
            find(name)
        except ToolchainError as error:
            self.result.notes.append(f"edit to call, {name}: {str(error).partition(chr(10))[0]}")
            return False
        return True

    def time(self, label: str, calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, Timing]:
        """Time the calls in turn."""
        finish = None if self.emulated else torch.cuda.synchronize
        timings = interleaved(calls, rounds=self.rounds, seconds=seconds, finish=finish)
        self.result.timings.update({f"{label}, {name}": timing for name, timing in timings.items()})
        return timings

    def claim(self, name: str, slow: Timing, fast: Timing, target: str = "") -> None:
        """Add a ratio and its target; the target applies only to a GPU."""
        self.result.ratios[name] = ratio(slow, fast)
        self.result.targets[name] = "" if self.emulated else target


def worker(name: str, factor: int, folder: Path, run: Run, backend: str = "") -> float:
    """Return the seconds that a worker process reports, from a source with that factor to correct results."""
    source = folder / f"my_op_{backend}.cu"
    source.write_text(OPWRIGHT.replace("FACTOR", str(factor)))
    filled = {"FACTOR": str(factor), "SOURCE": repr(str(source)), "BACKEND": repr(backend), "DEVICE": repr(run.device)}
    script = WORKERS[name]
    for word, value in filled.items():
        script = script.replace(word, value)
    environment = dict(os.environ)
    if name == "load_inline":
        environment["TORCH_EXTENSIONS_DIR"] = str(folder / "cache")  # our cache evicts old entries by itself
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users have cached bytecode
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=folder, check=False, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return float(done.stdout.split()[-1])


def edit(run: Run) -> None:
    """Time from an edited source, forward and backward, to the first correct result, after the imports."""
    backends, samples = run.backends(), {}
    inline = run.peers and not run.emulated
    with tempfile.TemporaryDirectory() as name:
        folder, factor = Path(name), time.time_ns() % (1 << 23)  # not in any cache; exact as a float
        for backend in backends:
            worker("opwright", factor, folder, run, backend)  # builds the runtime, once for each PyTorch
        for _ in range(run.edits):
            if inline:
                factor += 1
                samples.setdefault("load_inline", []).append(worker("load_inline", factor, folder, run))
            for backend in backends * 3:
                factor += 1
                samples.setdefault(backend, []).append(worker("opwright", factor, folder, run, backend))
    timings = {name: summary(values) for name, values in samples.items()}
    run.result.timings.update({f"edit to call, {name}": timing for name, timing in timings.items()})
    for backend in backends if inline else ():
        value = timings["load_inline"].median / timings[backend].median
        run.result.ratios[f"edit to call: load_inline / opwright by {backend}"] = value


def launch(run: Run) -> None:
    """Time the overhead of a call, with a kernel that does almost nothing."""
    ops = opwright.load_inline("gpu_launch", cuda=OPWRIGHT.replace("FACTOR", "3"), backend=run.backend)
    x, y, ones = (torch.randn(64, device=run.device) for _ in range(3))
    called = {"opwright": lambda: ops.my_op(x, y), "torch.add": lambda: torch.add(x, y)}
    timings = run.time("launch, no gradient", called, 0.01)
    run.claim("launch, no gradient: opwright / torch.add", timings["opwright"], timings["torch.add"], "<= 1.3")
    a, b = (each.clone().requires_grad_() for each in (x, y))
    both = {
        "opwright": lambda: torch.autograd.grad(ops.my_op(a, b), (a, b), ones),
        "torch.add": lambda: torch.autograd.grad(torch.add(a, b), (a, b), ones),
    }
    timings = run.time("launch, forward + backward", both, 0.01)
    run.claim("launch, forward + backward: opwright / torch.add", timings["opwright"], timings["torch.add"])


def lltm(run: Run, size: str) -> None:
    """Time LLTM at one size, forward and backward, call by call and as a CUDA graph."""
    import gpu_lltm as variants

    batch, features, state = map(int, size.split("x"))
    found = variants.modules(features, state, run.device, run.backend, run.peers, run.result.notes)
    x = torch.randn(batch, features, device=run.device, requires_grad=True)
    before = tuple(torch.randn(batch, state, device=run.device, requires_grad=True) for _ in range(2))
    variants.agree(found, x, before)
    for what, backward in (("forward", False), ("forward + backward", True)):
        calls = {name: variants.step(module, x, before, backward) for name, module in found.items()}
        _compare(run, f"LLTM, {what}, {size}", calls, has_target=backward and size == MAIN)
        if run.emulated:
            continue
        graphs = {name: variants.graphed(call) for name, call in calls.items()}
        _compare(run, f"LLTM, {what}, {size}, CUDA graphs", graphs, has_target=backward and size == MAIN)
    if run.emulated:
        run.result.notes.append(f"LLTM, {size}, CUDA graphs: there is no GPU")


def _compare(run: Run, label: str, calls: dict[str, Callable[[], object]], *, has_target: bool) -> None:
    """Compare each of our forms with each alternative."""
    timings = run.time(label, calls, 0.02)
    for ours in (name for name in timings if name.startswith("opwright")):
        for other in (name for name in timings if not name.startswith("opwright")):
            target = ">= 3" if has_target and other == "eager Python" else ""
            run.claim(f"{label}: {other} / {ours}", timings[other], timings[ours], target)


def profile(run: Run, size: str) -> None:
    """Find the share of Opwright's operators and their gradients in the CPU's time, in a step of LLTM."""
    import gpu_lltm as variants

    batch, features, state = map(int, size.split("x"))
    for name, module in variants.modules(features, state, run.device, run.backend, False, run.result.notes).items():
        if name == variants.EAGER:
            continue
        x = torch.randn(batch, features, device=run.device, requires_grad=True)
        before = tuple(torch.randn(batch, state, device=run.device, requires_grad=True) for _ in range(2))
        call = variants.step(module, x, before, backward=True)
        for _ in range(10):
            call()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
            for _ in range(50):
                call()
        events = found.key_averages()
        whole = sum(event.self_cpu_time_total for event in events)
        ours = sum(event.cpu_time_total for event in events if _OUR_EVENT.fullmatch(event.key))
        run.result.ratios[f"LLTM, forward + backward, {size}, CPU time: operators of {name} / all"] = ours / whole


def bandwidth(run: Run, sizes: list[int]) -> None:
    """Time a pointwise operator that reads and writes one tensor, against a copy; both allocate their result."""
    ops = opwright.load_inline("gpu_bandwidth", cpp=SCALED, backend=run.backend)
    for size in sizes:
        label = f"pointwise, {_bytes(size)}"
        if not run.emulated and torch.cuda.mem_get_info()[0] < 4 * size:
            run.result.notes.append(f"{label}: {_bytes(torch.cuda.mem_get_info()[0])} of memory are free")
            continue
        x = torch.randn(size // 4, device=run.device)
        torch.testing.assert_close(ops.scaled(x), 1.5 * x + 0.5)
        timings = run.time(label, {"opwright": lambda x=x: ops.scaled(x), "copy": lambda x=x: x.clone()}, 0.02)
        run.claim(f"{label}: copy / opwright", timings["copy"], timings["opwright"], ">= 0.9")


def _bytes(count: int) -> str:
    units = {30: "GiB", 20: "MiB", 10: "KiB", 0: "B"}
    bits = next(bits for bits in units if count >> bits)
    return f"{count >> bits} {units[bits]}"


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("edit", "launch", "lltm", "profile", "bandwidth")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    parser.add_argument("--rounds", type=int, default=31, help="samples of each candidate, except of edits")
    parser.add_argument(
        "--edits", type=int, default=3, help="rounds of edits: three by each back end, one by load_inline"
    )
    parser.add_argument("--no-peers", action="store_true", help="without what others make, which takes long to compile")
    parser.add_argument("--emulate", action="store_true", help="without a GPU, small, to try the script itself")
    options = parser.parse_args()
    if not options.emulate and not torch.cuda.is_available():
        sys.exit("there is no GPU here that PyTorch can use; --emulate tries the script itself, at small sizes")
    run = Run(options.emulate, max(2, options.rounds), options.edits, not options.no_peers)
    doing: dict[str, Callable[[], None]] = {
        "edit": lambda: edit(run),
        "launch": lambda: launch(run),
        "lltm": lambda: [lltm(run, size) for size in ((SMALL,) if run.emulated else (MAIN, "64x256x512"))],
        "profile": lambda: profile(run, SMALL if run.emulated else MAIN),
        "bandwidth": lambda: bandwidth(run, [1 << bits for bits in ((10, 16) if run.emulated else range(10, 33, 2))]),
    }
    for part in options.parts:
        doing[part]()
        if not run.emulated:  # after each part, so that what a time limit cuts off is only the rest
            print(f"{part}: {write_result(run.result, HERE / 'results')}", flush=True)
    if run.emulated:
        run.result.what = "Emulated on the CPU, at small sizes: no figures of a GPU"
    run.result.show()


if __name__ == "__main__":
    main()
