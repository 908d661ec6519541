"""Makes calls at random under vmap, and one for each element of the batch; compares results, gradients and errors.

``python -m tests.fuzz.batches --count 1500 --seed 7``; ``--only N`` makes call N alone. Calls fit, and are of the
operators of operators.py, with batch axes at random places of their tensors, under one vmap or two.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.signature import DType

from .calls import limit_process
from .judge import too_long
from .operators import Call, Target, draw, targets

Function = Callable[..., Any]


class Batch:
    """A call's tensors, some of them with batch axes, and what is called with those of one element."""

    def __init__(self, call: Call, rng: random.Random) -> None:
        """Choose which tensors have batch axes, and where."""
        self.call = call
        self.sizes = [rng.choice([1, 2, 3]) for _ in range(rng.choice([1, 1, 1, 2]))]
        self.names = [name for name, value in call.arguments.items() if isinstance(value, torch.Tensor)]
        written = {tensor.name for tensor in call.target.signature.mutated}
        self.dims: list[list[int | None]] = []
        self.tensors = [call.arguments[name] for name in self.names]
        for size in self.sizes:  # the innermost first
            dims = [rng.randint(0, t.dim()) if n in written or rng.random() < 0.6 else None for n, t in self._named()]
            if all(dim is None for dim in dims):
                dims[0] = 0
            self.dims.append(dims)
            self.tensors = [
                t if dim is None else torch.stack([shifted(t, i) for i in range(size)], dim).detach()
                for t, dim in zip(self.tensors, dims, strict=True)
            ]

    def _named(self) -> list[tuple[str, torch.Tensor]]:
        return list(zip(self.names, self.tensors, strict=True))

    def call_one(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Make the call for the tensors of one element: its results, and what it overwrites."""
        given = {**self.call.arguments, **dict(zip(self.names, tensors, strict=True))}
        made = self.call.target.op(*given.values())
        written = [given[tensor.name] for tensor in self.call.target.signature.mutated]
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        return tuple(t for t in [*results, *written] if isinstance(t, torch.Tensor))

    def mapped(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Make the call under vmap."""
        function: Function = self.call_one
        for dims in self.dims:
            function = torch.vmap(function, tuple(dims))
        return tuple(function(*tensors))

    def looped(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Make a call for each element, and stack the results."""
        return self._loop(len(self.sizes), tensors)

    def _loop(self, depth: int, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        if not depth:
            return self.call_one(*tensors)
        dims, size = self.dims[depth - 1], self.sizes[depth - 1]
        rows = [
            self._loop(depth - 1, [t if d is None else t.select(d, i) for t, d in zip(tensors, dims, strict=True)])
            for i in range(size)
        ]
        return tuple(torch.stack(column) for column in zip(*rows, strict=True))


def shifted(tensor: torch.Tensor, by: int) -> torch.Tensor:
    """Return a tensor with the same elements at other places, which keeps them in their domain."""
    return tensor.reshape(-1).roll(by).reshape(tensor.shape)


def outcome(batch: Batch, way: Function, *, gradients: bool) -> list[Any]:
    """Return what came of a way to make the calls: its results and gradients, or the class of its error."""
    tensors = [t.clone() for t in batch.tensors]
    if gradients:
        tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
    try:
        results = way(*tensors)
        ends = [t for t in results if t.requires_grad]
        wanted = [t for t in tensors if t.requires_grad]
        found = [t.detach() for t in results]
        if ends and wanted:
            ones = [torch.ones_like(t) for t in ends]
            gradients_of: Any = torch.autograd.grad(ends, wanted, ones, allow_unused=True)
            found += [torch.zeros(()) if gradient is None else gradient for gradient in gradients_of]
    except Exception as error:
        return [type(error).__name__]
    return found


def same(one: Any, other: Any) -> bool:
    """Return whether two outcomes are equal, up to the rounding of sums that are taken in another order."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return bool((one.numel() == 1 or other.numel() == 1) and not one.any() and not other.any())
        if one.is_floating_point() and one.element_size() == 1:
            one, other = one.view(torch.uint8), other.view(torch.uint8)
        if not (one.is_floating_point() or one.is_complex()):
            return torch.equal(one, other)
        wide = torch.complex128 if one.is_complex() else torch.float64
        tolerance = 64 * torch.finfo(one.dtype).eps
        a, b = one.to(wide), other.to(wide)
        return torch.allclose(a, b, rtol=tolerance, atol=tolerance * 64, equal_nan=True)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_mapped(target: Target) -> bool:
    """Return whether an operator can be called under vmap, and tells the same each time."""
    signature = target.signature
    tensors = signature.tensors + signature.results  # PyTorch stacks no pairs of 4-bit floats
    packed = any(DType.F4X2 in signature.element_types(tensor) for tensor in tensors)
    unlike = any([packed, signature.generator, signature.counts, signature.data_axes, signature.is_factory])
    return not (unlike or any(result.name == "address" for result in signature.results))


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    limit_process()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)  # fills what kernels leave unwritten
    found = [target for target in targets() if is_mapped(target)]
    counts: Counter[str] = Counter()
    wrong = 0
    for number in range(options.count) if options.only is None else [options.only]:
        rng = random.Random(f"{options.seed}:{number}:batches")
        call = draw(rng.choice(found), rng)
        if too_long(call) or not any(isinstance(value, torch.Tensor) for value in call.arguments.values()):
            continue
        batch, gradients = Batch(call, rng), rng.random() < 0.5 and not call.target.signature.mutated
        mapped, looped = (outcome(batch, way, gradients=gradients) for way in (batch.mapped, batch.looped))
        counts["error" if mapped and isinstance(mapped[0], str) else "result"] += 1
        if not same(mapped, looped):
            wrong += 1
            print(
                f"call {number} of seed {options.seed} differs (batch {batch.sizes} at {batch.dims}, {gradients=})\n"
                f"{call.describe()}\n  vmap:    {mapped}\n  a loop:  {looped}",
                flush=True,
            )
    print(f"seed {options.seed}: {counts.total()} calls of {len(found)} operators under vmap; {dict(counts)}")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
