"""One small operator by everything that one can take for it: edits, loads, calls, lines, what is silently wrong.

The operator is y = 1.25 * x * sigmoid(x) of float32 with its gradient, in ``alternatives/``, one module each. An *edit*
changes the 1.25, and is timed in a new process from after ``import torch`` to the first right result; a *load* is the
same without an edit. Calls are timed in turn in one process, on one thread. What is *silently wrong* is found by
``alternatives/probes.py``. ``pip install -r benchmarks/alternatives/requirements.txt``, then
``python benchmarks/peers.py [--rounds 5]``.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import torch

from opwright.bench import Result, interleaved
from opwright.bench.scripts import parse_rounds, summary, write_result

HERE = Path(__file__).parent
ALTERNATIVES = {
    "eager": "PyTorch's operations",
    "opwright_pointwise": "Opwright, pointwise",
    "opwright_views": "Opwright, views",
    "torch_compile": "torch.compile",
    "load_inline": "load_inline",
    "stable_abi": "stable ABI",
    "custom_op": "custom_op, ctypes",
    "pybind11_pointers": "pybind11",
    "nanobind_arrays": "nanobind",
    "tvm_ffi_functions": "tvm-ffi",
    "cffi_module": "cffi",
    "ctypes_library": "ctypes",
    "numba_functions": "Numba",
    "taichi_kernels": "Taichi",
    "warp_kernel": "Warp",
    "jax_ffi": "JAX's FFI",
}
PACKAGES = ("numba", "taichi", "warp-lang", "jax", "apache-tvm-ffi", "nanobind", "pybind11", "cffi")
LARGE = 16 * 2**20  # elements; 64 MiB
CHILD = f"""
import sys, time
sys.path[:0] = [{str(HERE)!r}, {str(HERE.parent)!r}]
import torch
import peers
"""


def module_at(path: Path) -> Any:
    """Import the module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def first_result(path: str, folder: str, scale: float) -> None:
    """Print the seconds until the module's operator has given a right result. Runs in a child."""
    started = time.perf_counter()
    op = module_at(Path(path)).load(Path(folder))
    result = op(torch.full((4,), 2.0))
    took = time.perf_counter() - started
    torch.testing.assert_close(result, scale * 2 * torch.sigmoid(torch.full((4,), 2.0)))
    print("took", took)


def probe(path: str, folder: str, after: str | None) -> None:
    """Print the outcomes of the probes after the one of that name. Runs in a child."""
    from alternatives.probes import outcomes

    op = module_at(Path(path)).load(Path(folder))
    for name, outcome in outcomes(op, after):
        print(f"probe:{name}:{outcome}", flush=True)


class Alternative:
    """A copy of a module in a folder of its own, with caches of its own."""

    def __init__(self, name: str, root: Path) -> None:
        self.text = (HERE / "alternatives" / f"{name}.py").read_text()
        self.path = root / name / f"{name}.py"
        self.folder = root / name / "built"
        self.folder.mkdir(parents=True)
        caches = (
            "TORCHINDUCTOR_CACHE_DIR",
            "NUMBA_CACHE_DIR",
            "WARP_CACHE_PATH",
            "TVM_FFI_CACHE_DIR",
            "TI_OFFLINE_CACHE_FILE_PATH",
        )
        self.environment = os.environ | {cache: str(root / name / cache.lower()) for cache in caches}
        self.write(1.25)

    def write(self, scale: float) -> None:
        """Edit the constant."""
        self.path.write_text(self.text.replace("1.25", repr(scale)))

    def child(self, call: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a function of this module in a process of its own."""
        words = ", ".join(map(repr, (str(self.path), str(self.folder), *arguments)))
        command = [sys.executable, "-c", f"{CHILD}peers.{call}({words})"]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def seconds(self, scale: float) -> float:
        """Return the seconds to the first result in a new process.

        Raises:
            RuntimeError: the child failed.
        """
        done = self.child("first_result", scale)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return float(done.stdout.split("took ")[-1])

    def lines(self) -> int:
        """Return the lines of code, without docstrings, comments and empty lines."""
        tree = ast.parse(self.text)
        documented = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef))]
        texts = [node.body[0] for node in documented if ast.get_docstring(node, clean=False)]
        skipped = {line for text in texts for line in range(text.lineno, (text.end_lineno or 0) + 1)}
        code = [line.strip() for i, line in enumerate(self.text.splitlines(), 1) if i not in skipped]
        return sum(bool(line) and not line.startswith("#") for line in code)

    def probes(self) -> dict[str, str]:
        """Return the outcome of each probe."""
        found: dict[str, str] = {}
        after = None
        while True:
            done = self.child("probe", after)
            for line in done.stdout.splitlines():
                if line.startswith("probe:"):
                    _, name, found[name] = line.split(":")
            started = [name for name, outcome in found.items() if outcome == "starts"]
            if not started:
                if done.returncode and not found:
                    raise RuntimeError(done.stderr)
                return found
            after = started[0]
            found[after] = "crash"


def calls(alternatives: dict[str, Alternative], rounds: int) -> dict[str, dict[str, Any]]:
    """Return the timings of calls, in turn, in this process."""
    ops = {name: module_at(each.path).load(each.folder) for name, each in alternatives.items()}
    x, grad = torch.randn(4), torch.ones(4)
    leaf, large = torch.randn(4, requires_grad=True), torch.randn(LARGE)

    def step(op: Any) -> None:
        leaf.grad = None
        op(leaf).backward(grad)

    return {
        "call": interleaved({name: lambda op=op: op(x) for name, op in ops.items()}, rounds=4 * rounds),  # type: ignore[misc]
        "forward + backward": interleaved(
            {name: lambda op=op: step(op) for name, op in ops.items()},  # type: ignore[misc]
            rounds=4 * rounds,
        ),
        "64 MiB": interleaved({name: lambda op=op: op(large) for name, op in ops.items()}, rounds=rounds),  # type: ignore[misc]
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that are measured."""
    known = {package.metadata["Name"]: package.version for package in distributions()}
    return {name: known[name] for name in PACKAGES if name in known}


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 5)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        alternatives = {name: Alternative(name, Path(folder)) for name in ALTERNATIVES}
        for each in alternatives.values():
            each.seconds(1.25)  # what is built once, for all edits
        edits: dict[str, list[float]] = {name: [] for name in alternatives}
        loads: dict[str, list[float]] = {name: [] for name in alternatives}
        for turn in range(rounds):
            scale = 1.25 if turn == rounds - 1 else 1.5 + turn / 8
            for name, each in alternatives.items():
                each.write(scale)
                edits[name].append(each.seconds(scale))
                loads[name].append(each.seconds(scale))
        timed = calls(alternatives, rounds)
        outcomes = {name: each.probes() for name, each in alternatives.items()}
        lines = {name: each.lines() for name, each in alternatives.items()}
    result = Result("peers", "y = 1.25 * x * sigmoid(x), by each alternative; one thread")
    for name in alternatives:
        result.timings[f"{name}: edit"] = summary(edits[name])
        result.timings[f"{name}: load"] = summary(loads[name])
        result.timings |= {f"{name}: {what}": group[name] for what, group in timed.items()}
    result.show()
    path = write_result(result, HERE / "results")
    document = json.loads(path.read_text())
    document |= {"alternatives": ALTERNATIVES, "lines": lines, "probes": outcomes, "versions": versions()}
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(path)


if __name__ == "__main__":
    main()
