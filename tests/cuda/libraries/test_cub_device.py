"""cub's device-wide algorithms over runs, keys, segments and bins, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .conftest import Library


@pytest.fixture(scope="module")
def cub(built: Callable[[str], Library]) -> Library:
    """Its functions."""
    return built("cub_functions")


def integers(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int32)


@pytest.mark.parametrize("count", [0, 1, 200])
def test_runs_and_keys(cub: Library, count: int) -> None:
    x, values = torch.randint(0, 3, (count,), dtype=torch.int32), torch.randn(count)
    unique, counts, found = integers(count), integers(count), integers(1)
    expected, lengths = torch.unique_consecutive(x, return_counts=True)
    cub.right("runs", x, unique, counts, found, count)
    assert torch.equal(unique[: int(found)], expected)
    assert torch.equal(counts[: int(found)].long(), lengths)
    cub.right("long_runs", x, unique, counts, found, count)
    assert torch.equal(counts[: int(found)].long(), lengths[lengths > 1])
    assert torch.equal(unique[: int(found)].long(), (lengths.cumsum(0) - lengths)[lengths > 1])
    totals = torch.zeros(count)
    cub.right("by_key", x, values, unique, totals, found, count)
    pieces = values.split(lengths.tolist()) if count else []
    assert totals[: int(found)].tolist() == [float(piece.max()) for piece in pieces]


def test_segments(cub: Library) -> None:
    x, offsets = torch.randn(50), torch.tensor([0, 7, 7, 30, 50], dtype=torch.int32)
    sums, most, least = torch.zeros(4), torch.zeros(4), torch.zeros(4)
    cub.right("segments", x, sums, most, least, offsets, 4)
    pieces = x.split(offsets.diff().tolist())
    torch.testing.assert_close(sums, torch.stack([piece.sum() for piece in pieces]))
    assert most.tolist() == [float(piece.max()) if len(piece) else 0 for piece in pieces]
    assert least.tolist() == [float(piece.min()) if len(piece) else 0 for piece in pieces]


def test_histograms(cub: Library) -> None:
    x, whole = torch.randn(500), torch.randint(-5, 12, (500,), dtype=torch.int32)
    bounds = torch.tensor([-2.0, -0.5, 0.0, 0.1, 3.0])
    even, ranged, bins = integers(5), integers(4), integers(3)
    cub.right("histograms", x, even, ranged, bounds, whole, bins, 500)
    assert torch.equal(even.float(), torch.histc(x[(x >= -1) & (x < 1.5)], 5, -1, 1.5))
    assert torch.equal(ranged.float(), torch.histogram(x[x < 3], bounds).hist)
    assert bins.tolist() == [int(((whole >= low) & (whole < low + 4)).sum()) for low in (-3, 1, 5)]
