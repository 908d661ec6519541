"""Derived gradients of the tests' kernels that derived.py has not: forward and backward beside PyTorch's operators.

``python benchmarks/derived_others.py [--rounds 11]``. The kernels and the same computations of PyTorch's operators are
those of tests/runtime/derived_cases.py. Where PyTorch has the operator itself (group norm, cross entropy, embeddings,
Cholesky, triangular solve), its backward is handwritten as well. These have no target.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from opwright.bench import Result, interleaved, ratio
from opwright.bench.scripts import parse_rounds

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from tests.runtime.derived_cases import CASES, Results  # noqa: E402 - found on the path above

Arguments = tuple[Tensor, ...]
OPS = {case.name: case for case in CASES}


def _log_probabilities(batch: int, length: int, classes: int, labels: int) -> Arguments:
    return torch.randn(batch, length, classes).log_softmax(-1), torch.randint(1, classes, (batch, labels))


def _boxes(count: int, size: int) -> Tensor:
    corners = torch.rand(count, 2) * size / 2
    return torch.cat([corners, corners + 1 + torch.rand(count, 2) * (size / 2 - 2)], -1)


def _scan(length: int, width: int, states: int) -> Arguments:
    tall, narrow = (length, width), (length, states)
    return torch.rand(tall), torch.rand(tall), -torch.rand(width, states), torch.rand(narrow), torch.rand(narrow)


def _lstm(batch: int, size: int) -> Arguments:
    cell = (torch.randn(batch, size), torch.randn(batch, size), torch.randn(batch, size))
    return *cell, torch.randn(4 * size, 2 * size) / size, torch.randn(4 * size)


def _segments(rows: int, width: int, segments: int) -> Arguments:
    ends = torch.randint(rows, (segments - 1,)).sort().values
    return torch.rand(rows, width), torch.cat([torch.tensor([0]), ends, torch.tensor([rows])])


def _bag(rows: int, width: int, bags: int, each: int) -> Arguments:
    at = torch.randint(rows, (bags, each), dtype=torch.int32)
    return torch.rand(rows, width), at, torch.rand(bags, each)


def _definite(batch: int, n: int) -> Arguments:
    root = torch.rand(batch, n, n)
    return (root @ root.mT + n * torch.eye(n),)


SIZES: dict[str, tuple[tuple[str, Arguments], ...]] = {
    "log_softmax_nll": tuple(
        (f"{rows}x{classes}", (torch.randn(rows, classes), torch.randint(classes, (rows,))))
        for rows, classes in ((256, 100), (4096, 1000))
    ),
    "cumulative_product": tuple((f"{m}x{n}", (torch.rand(m, n) + 0.5,)) for m, n in ((256, 64), (4096, 256))),
    "lorenz_step": tuple((f"{n} states", (torch.rand(n, 3), torch.rand(3))) for n in (256, 65536)),
    "cholesky": tuple((f"{b} of {n}x{n}", _definite(b, n)) for b, n in ((64, 8), (64, 32))),
    "ctc": tuple(
        (f"{b}x{length}x{c}, {s} labels", _log_probabilities(b, length, c, s))
        for b, length, c, s in ((16, 32, 20, 8), (64, 100, 32, 20))
    ),
    "group_norm": tuple(
        (f"{b}x{c}x{n}", (torch.randn(b, c, n), torch.rand(c), torch.rand(c)))
        for b, c, n in ((4, 32, 64), (8, 64, 1024))
    ),
    "sample": tuple(
        (f"{n} points of {size}x{size}", (torch.rand(size, size), torch.rand(n, 2) * (size - 2) + 0.5))
        for n, size in ((1000, 64), (100_000, 512))
    ),
    "roi_align": tuple(
        (f"{n} boxes of {c}x{size}x{size}", (torch.rand(c, size, size), _boxes(n, size)))
        for n, c, size in ((16, 8, 32), (128, 64, 64))
    ),
    "selective_scan": tuple(
        (f"{length}x{d}, {n} states", _scan(length, d, n)) for length, d, n in ((64, 16, 8), (256, 64, 16))
    ),
    "lstm": tuple((f"{b}x{n}", _lstm(b, n)) for b, n in ((16, 32), (64, 256))),
    "segment_sum": tuple(
        (f"{n}x{c}, {m} segments", _segments(n, c, m)) for n, c, m in ((1000, 16, 100), (20_000, 64, 1000))
    ),
    "embedding_bag": tuple(
        (f"{b} bags of {k}, {v}x{c}", _bag(v, c, b, k)) for v, c, b, k in ((1000, 16, 64, 8), (50_000, 64, 256, 32))
    ),
    "forces": tuple((f"{n} bodies", (torch.rand(n, 3), torch.rand(n))) for n in (64, 512)),
    "triangular_solve": tuple(
        (f"{n}x{n}, {m} columns", (torch.rand(n, n) / n + torch.eye(n), torch.rand(n, m)))
        for n, m in ((32, 8), (128, 64))
    ),
}
"""The arguments of each operator, for two sizes."""


def step(function: Callable[..., Results], args: Arguments) -> Callable[[], Arguments]:
    """Return a call of forward and backward for all floating arguments, with random gradients of the results."""
    leaves = tuple(arg.requires_grad_() if arg.is_floating_point() else arg for arg in args)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]

    def forward() -> list[Tensor]:
        results = function(*leaves)
        return [r for r in ((results,) if isinstance(results, Tensor) else results) if r.requires_grad]

    torch.manual_seed(0)
    seeds = [torch.rand(result.shape) for result in forward()]
    return lambda: torch.autograd.grad(forward(), wanted, seeds)


def measure(result: Result, name: str, size: str, args: Arguments, threads: int, rounds: int) -> None:
    """Time one operator at one size with one number of threads, after a comparison of the gradients."""
    torch.set_num_threads(threads)
    case = OPS[name]
    calls = {"PyTorch": step(case.reference, args), "derived": step(case.op, args)}
    for found, expected in zip(calls["derived"](), calls["PyTorch"](), strict=True):
        torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3 * float(expected.abs().max()))
    timings = interleaved(calls, rounds=rounds, seconds=0.01)
    label = f"{name.replace('_', ' ')} {size}, {threads} thread{'s' * (threads > 1)}"
    result.timings.update({f"{way}, {label}": timing for way, timing in timings.items()})
    result.ratios[f"derived / PyTorch, {label}"] = ratio(timings["derived"], timings["PyTorch"])


def main() -> None:
    """Measure, print and save the results."""
    rounds = parse_rounds(__doc__, 11)
    result = Result("derived_others", "forward and backward in float32: derived gradients, PyTorch's operators")
    for name, sizes in SIZES.items():
        for size, args in sizes:
            for threads in (1, 2):
                measure(result, name, size, args, threads, rounds)
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
