"""The gallery's handwritten backwards, and calls of those that trust what no signature says of their arguments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from opwright.check.calls.example_calls import ExampleCall, with_examples
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.targets import find_operators
from opwright.signature import Sample, Signature

from .examples import Example

_SOURCES = {
    "language": ("causal_conv", "rms_norm", "rotary", "selective_scan"),
    "sets": ("ctc_loss", "embedding_bag", "segment"),
    "vision": ("deform_conv", "roi_align"),
}
_SIZES = ((20, 9, 7), (50, 3, 4), (5, 1, 2), (33, 17, 12), (40, 100, 7), (0, 3, 2), (6, 0, 3))
"""Rows, columns and groups."""
Calls = Mapping[str, list[tuple[Any, ...]]]


class _AsGiven(ExampleCall):
    """A call whose tensors have the values of the example in every draw."""

    def draw(self, signature: Signature, rng: random.Random, **options: Any) -> Sample:
        """Draw one of those that have."""
        while (made := super().draw(signature, rng, **options)).values is None:
            pass
        return made


def _groups() -> Iterator[tuple[torch.Generator, int, int, torch.Tensor]]:
    """Rows in groups whose offsets ascend, as kernels for CUDA trust that they do."""
    generator = torch.Generator().manual_seed(0)
    for rows, columns, groups in _SIZES:
        yield generator, rows, columns, torch.randint(rows + 1, (groups + 1,), generator=generator).sort().values


def _segments() -> Calls:
    calls: list[tuple[Any, ...]] = [
        (torch.rand(rows, columns, generator=g, dtype=torch.float64), offsets)
        for g, rows, columns, offsets in _groups()
    ]
    return {"segment_sum": calls, "segment_softmax": calls}


def _bags() -> Calls:
    calls: list[tuple[Any, ...]] = []
    for g, rows, columns, offsets in _groups():
        table, index = torch.rand(8, columns, generator=g, dtype=torch.float64), torch.randint(8, (rows,), generator=g)
        weight = torch.rand(rows, generator=g, dtype=torch.float64)
        calls += [(table, index, offsets, weight, mode) for mode in ("sum", "mean")]
    return {"embedding_bag": calls}


_CALLS = {"segment": _segments, "embedding_bag": _bags}


def _with_calls(source: Path) -> list[TargetOperator]:
    options = {"backend": "emulate"} if source.suffix == ".cu" else {}
    found = with_examples(find_operators(str(source), load_options=options), _CALLS[source.stem](), "the gallery")
    fixed = [tuple(_AsGiven(each.tensors, each.scalars, each.binding) for each in o.examples) for o in found]
    return [replace(operator, examples=examples) for operator, examples in zip(found, fixed, strict=True)]


def _example(source: str) -> Example:
    inner = Path(*Path(source).parts[1:])
    return Example(source, calling=_with_calls if inner.stem in _CALLS else None)


GALLERY = tuple(
    _example(f"gallery/{folder}/{name}.{suffix}")
    for folder, names in _SOURCES.items()
    for name in names
    for suffix in ("cpp", "cu")
)
