"""The part of an axis that a rank has, and what happens where PyTorch has no place for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributed.tensor import Replicate, Shard

from opwright.runtime.register.sharding import global_sizes
from opwright.runtime.torch_internals import ShardingTables


def parts(size: int, counts: tuple[int, ...]) -> list[int]:
    """Return the lengths that `torch.chunk` gives, along one dimension of a mesh after the other, of all ranks."""
    found = [size]
    for count in counts:
        chunks = [torch.arange(each).chunk(count) if each else () for each in found]
        found = [len(each[i]) if i < len(each) else 0 for each in chunks for i in range(count)]
    return found


@pytest.mark.parametrize("counts", [(2,), (4,), (2, 2), (3, 2)])
@pytest.mark.parametrize("size", [0, 1, 4, 5, 7, 12, 13])
def test_sizes_are_those_of_chunks(counts: tuple[int, ...], size: int) -> None:
    found = []
    for number in range(torch.Size(counts).numel()):
        ranks = [number // torch.Size(counts[i + 1 :]).numel() % count for i, count in enumerate(counts)]
        mesh = SimpleNamespace(size=counts.__getitem__, get_local_rank=ranks.__getitem__)
        spec = SimpleNamespace(shape=(3, size), placements=[Shard(1)] * len(counts), mesh=mesh)
        found.append(global_sizes.local_size(spec, 1))
        spec.placements = [Shard(0)] + [Replicate()] * (len(counts) - 1)
        assert global_sizes.local_size(spec, 1) == size
    assert found == parts(size, counts)


def test_without_a_table_nothing_is_localised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(global_sizes, "sharding_tables", lambda: ShardingTables({}, {}, None))
    op: Any = None
    assert not global_sizes.localise(op, op, ("N",))
