"""Writes benchmarks/results/parallel.json: what vmap and DTensor do with each example operator, forward and backward.

Two processes call every operator of examples/ over gloo, with arguments that fit its signature. One axis after the
other is sharded, in all arguments that have it; collectives are counted, and results are compared with those of whole
tensors. ``tools/write_figures.py`` makes the table of it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

import opwright
from opwright.check.calls.cases import Case, positional
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.targets import registered_operators
from opwright.errors import ArgumentError, KernelError
from opwright.signature import DType, Signature
from opwright.signature.clauses.independent import from_last
from opwright.signature.samples import sample

ROOT = Path(__file__).parent.parent
RESULT = ROOT / "benchmarks/results/parallel.json"
FILES = sorted(
    path
    for path in (ROOT / "examples").rglob("*.c*")
    if path.suffix in (".c", ".cpp", ".cu") and "OPWRIGHT(" in path.read_text()
)
BATCH, SIZES = 3, (4, 2, 6, 8)


class Call(NamedTuple):
    """Arguments of an operator by name, and where each of its axes is: by argument, counted from the last."""

    target: TargetOperator
    arguments: Mapping[str, Any]
    axes: Mapping[str, Mapping[str, int]]

    def __call__(self, change: Callable[[str, torch.Tensor], torch.Tensor]) -> list[Any]:
        """Return what the operator returns for changed tensors."""
        changed = {n: change(n, v) if isinstance(v, torch.Tensor) else v for n, v in self.arguments.items()}
        found = self.target.function(*positional(self.target.signature, changed))
        return list(found) if isinstance(found, tuple | list) else [found]


def call_of(target: TargetOperator) -> Call:
    """Return a call of an operator with float64 where it takes that, and sizes that two processes can divide."""
    signature = target.signature
    types = {v: DType.F64 for v in signature.type_variables if DType.F64 in signature.allowed(v)}
    for seed in range(1000):
        rng = random.Random(seed)  # noqa: S311 - no secret
        made = sample(signature, rng, types=types, sizes=SIZES, contiguous=True)
        arguments = Case(made).arguments()
        tensors = {t: arguments[t.name] for t in signature.tensors if arguments.get(t.name) is not None}
        leading = [value.dim() - len(t.dims) for t, value in tensors.items() if signature.has_leading(t)]
        if (not leading or max(leading) == min(leading) > 0) and all(v.numel() for v in tensors.values()):
            call = Call(target, arguments, axes_of(signature, arguments))
            with contextlib.suppress(KernelError):  # values that the kernel refuses, such as offsets that descend
                call(lambda _, value: value.clone())
                return call
    raise ArgumentError(f"{signature.name}(): no call was found")


def axes_of(signature: Signature, arguments: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the axes of a call that can be divided, with their places; of leading ones the last, as ``...``."""
    found: dict[str, dict[str, int]] = {}
    for tensor in signature.tensors:
        value = arguments.get(tensor.name)
        if not isinstance(value, torch.Tensor):
            continue
        for axis in signature.free_axes:
            place = from_last(tensor, axis)
            if place and value.shape[-place] > 1:
                found.setdefault(axis, {})[tensor.name] = place
        place = len(tensor.dims) + 1
        if signature.has_leading(tensor) and value.dim() >= place and value.shape[-place] > 1:
            found.setdefault("...", {})[tensor.name] = place
    return found


def mapped(call: Call) -> str:
    """Return how vmap calls the kernel, by what a profile shows: a fold is a call within the call."""
    names = [name for name, value in call.arguments.items() if isinstance(value, torch.Tensor)]

    def one(*tensors: torch.Tensor) -> list[Any]:
        given = dict(zip(names, tensors, strict=True))
        return [each for each in call(lambda name, _: given[name]) if each is not None]

    stacked = [torch.stack([call.arguments[name]] * BATCH) for name in names]
    try:
        torch.vmap(one, randomness="different")(*stacked)
    except Exception as error:  # noqa: BLE001 - whatever PyTorch makes of it
        return f"refused: {reason(call, error)}"
    with torch.profiler.profile() as profile:
        torch.vmap(one, randomness="different")(*stacked)
    op = call.target.op
    assert op is not None  # noqa: S101 - of a file that was loaded
    count = sum(event.name == op.name().partition(".")[0] for event in profile.events())
    return {1: "one call, the kernel for each element", 2: "folded"}.get(count, "a call for each element")


def sharded(call: Call, axis: str) -> tuple[str, str]:
    """Return what DTensor does with an axis in the forward and in the backward; raise if a value is wrong."""
    mesh, places = init_device_mesh("cpu", (2,)), call.axes[axis]

    overwritten = {tensor.name for tensor in call.target.signature.mutated}

    def recorded(name: str, value: torch.Tensor) -> bool:
        return differentiable and value.is_floating_point() and name not in overwritten

    def part(name: str, value: torch.Tensor) -> torch.Tensor:
        at = Shard(value.dim() - places[name]) if name in places else Replicate()
        made = distribute_tensor(value.clone(), mesh, [at]).detach()
        return made.requires_grad_(recorded(name, value))

    def whole(name: str, value: torch.Tensor) -> torch.Tensor:
        return value.clone().requires_grad_(recorded(name, value))

    differentiable = call.target.backward is not None
    tensors = {name: value for name, value in call.arguments.items() if isinstance(value, torch.Tensor)}
    parts = {name: part(name, value) for name, value in tensors.items()}
    wholes = {name: whole(name, value) for name, value in tensors.items()}
    try:
        with CommDebugMode() as counted:
            got = call(lambda name, _: parts[name])
    except Exception as error:  # noqa: BLE001 - whatever PyTorch makes of it
        return f"refused: {reason(call, error)}", ""
    expected = call(lambda name, _: wholes[name])
    same(got, expected)
    forward = "sharded" if not counted.get_total_counts() else "gathered"
    chosen = next((i for i, y in enumerate(expected) if isinstance(y, torch.Tensor) and y.requires_grad), None)
    if chosen is None:
        return forward, ""
    with CommDebugMode() as counted:
        gradients = torch.autograd.grad(got[chosen], asked(parts), torch.ones_like(got[chosen]), allow_unused=True)
    incoming = torch.ones_like(expected[chosen])
    same(gradients, torch.autograd.grad(expected[chosen], asked(wholes), incoming, allow_unused=True))
    return forward, "sharded" if forward == "sharded" and not counted.get_total_counts() else "gathered"


def asked(tensors: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Return the tensors whose gradients are asked for."""
    return [tensor for tensor in tensors.values() if tensor.requires_grad]


def same(got: Any, expected: Any) -> None:
    """Raise AssertionError if results of parts aren't those of wholes."""
    for one, other in zip(got, expected, strict=True):
        if isinstance(one, DTensor):
            torch.testing.assert_close(one.full_tensor(), other)
        else:
            assert one is None and other is None  # noqa: S101, PT018


def reason(call: Call, error: Exception) -> str:
    """Return the first line of an error without the operator's name."""
    return str(error).partition("\n")[0].removeprefix(f"{call.target.signature.shown_name}(): ")


def row(file: Path, target: TargetOperator, derived: bool) -> dict[str, Any]:
    """Return what the table says of an operator."""
    call = call_of(target)
    along = {axis: sharded(call, axis) for axis in call.axes}
    signature = target.signature
    kind = "none" if target.backward is None else "derived" if derived or signature.pointwise else "handwritten"
    return {
        "file": str(file.relative_to(ROOT)),
        "operator": signature.shown_name,
        "vmap": mapped(call),
        "forward": {axis: each[0] for axis, each in along.items()},
        "backward": {axis: each[1] for axis, each in along.items() if each[1]},
        "kind": kind,
    }


def rows() -> Iterator[dict[str, Any]]:
    """Yield what the table says of each example operator."""
    for file in FILES:
        namespace = "_".join(["parallel", *file.relative_to(ROOT / "examples").with_suffix("").parts, file.suffix[1:]])
        options = {"backend": "emulate"} if file.suffix == ".cu" else {}
        loaded = opwright.load(file, namespace=namespace, **options)
        for target in registered_operators(loaded):
            yield row(file, target, f"{target.name}_backward" in loaded.__loaded__.derived)
            sys.stderr.write(f"{target.name}\n") if dist.get_rank() == 0 else None


def worker(rank: int, store: str) -> None:
    """Call all operators as one of two processes; the first one prints what the table says."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    found = list(rows())
    if rank == 0:
        sys.stdout.write(json.dumps(found))
    dist.destroy_process_group()


def main() -> int:
    """Start both processes, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, default=RESULT)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--store")
    options = parser.parse_args()
    if options.rank is not None:
        worker(options.rank, options.store)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", __file__, "--store", f"{folder}/store", "--rank"]
        processes = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(2)]
        try:
            texts = [process.communicate(timeout=1800)[0] for process in processes]
        finally:
            for process in processes:
                process.kill()
        if any(process.returncode for process in processes):
            return 1
    found = json.loads(texts[0])
    options.json.write_text(json.dumps({"torch": torch.__version__, "rows": found}, indent=1) + "\n")
    for each in found:
        sys.stdout.write(f"{each['operator']}: {each['vmap']}; {dict(Counter(each['forward'].values()))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
