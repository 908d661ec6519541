"""What is overwritten overlaps neither itself nor another argument: what certainly does is refused, the rest works."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

import opwright
from opwright import ArgumentError, Operators

ITSELF = "y is overwritten, but several of its elements share one place"
ANOTHER = "y is overwritten, but it shares memory with x"


def shares_places(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether two elements lie in one place, by looking at all."""
    places = [
        sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*map(range, sizes))
    ]
    return len(set(places)) < len(places)


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    path = tmp_path_factory.mktemp("overlap") / "overlapping.cpp"
    path.write_text(
        '#include <opwright.h>\nOPWRIGHT("fill(v: float, y: f32[...]!)")\n'
        "void fill(float v, Tensor<float> y) { for (int64_t i = 0; i < y.numel(); ++i) y[i] = v; }\n"
    )
    fill: Callable[..., None] = opwright.load(path).fill
    return fill


def assert_judged(fill: Callable[..., None], y: torch.Tensor) -> None:
    """It is refused exactly if two elements lie in one place."""
    if shares_places(tuple(y.shape), y.stride()):
        with pytest.raises(ArgumentError, match=ITSELF):
            fill(3.0, y)
    else:
        fill(3.0, y)
        assert torch.equal(y, torch.full_like(y, 3.0))


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [
        ((3, 3), (1, 1)),  # a Hankel matrix
        ((5, 3), (2, 1)),  # windows of 3, every 2
        ((5, 3), (3, 1)),
        ((5, 3), (4, 1)),
        ((3, 2), (2, 3)),  # interwoven, and apart
        ((4, 3), (2, 3)),
        ((2, 2, 2), (1, 2, 3)),  # together alone: 1 + 2 = 3
        ((2, 2, 2), (1, 2, 4)),
        ((1, 4), (0, 1)),
        ((0, 4), (0, 0)),
        ((2,), (0,)),
        ((3, 2), (5, 0)),
    ],
)
def test_itself(fill: Callable[..., None], sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    assert_judged(fill, torch.zeros(64).as_strided(sizes, strides))


def test_itself_at_random(fill: Callable[..., None]) -> None:
    rng, verdicts = random.Random(0), set()
    for _ in range(300):
        rank = rng.randint(1, 4)
        sizes, strides = tuple(rng.randint(1, 4) for _ in range(rank)), tuple(rng.randint(1, 12) for _ in range(rank))
        assert_judged(fill, torch.zeros(200).as_strided(sizes, strides))
        verdicts.add(shares_places(sizes, strides))
    assert verdicts == {False, True}


def test_a_search_of_hundreds_of_steps(fill: Callable[..., None]) -> None:
    """Conway's and Guy's numbers, no two sums of which are the same: nothing overlaps, and nothing shows that early."""
    assert_judged(fill, torch.zeros(1000).as_strided([2] * 8, [40, 60, 71, 77, 80, 82, 83, 84]))


def test_two_storages(notation: Operators) -> None:
    memory = np.zeros(8, np.float32)
    x, y = torch.from_numpy(memory[:5]), torch.from_numpy(memory[3:])
    assert x.untyped_storage().data_ptr() != y.untyped_storage().data_ptr()
    with pytest.raises(ArgumentError, match=ANOTHER):
        notation.add_scaled(1.0, x, y)
    with pytest.raises(ArgumentError, match=ANOTHER):
        notation.add_scaled(1.0, torch.utils.dlpack.from_dlpack(memory[3:]), y)
    notation.add_scaled(1.0, torch.from_numpy(memory[:3]), y[:3])
    apart = torch.from_numpy(memory[::2]), torch.from_numpy(memory[1::2])  # interleaved
    notation.add_scaled(1.0, *apart)


def test_a_pointwise_operator_may_be_given_what_it_overwrites(pointwise: Operators) -> None:
    memory = np.ones(4, np.float32)
    total = torch.from_numpy(memory)
    pointwise.accumulate(torch.utils.dlpack.from_dlpack(memory), total)
    assert total.tolist() == [2] * 4
    with pytest.raises(ArgumentError, match="shares memory with"):
        pointwise.accumulate(torch.from_numpy(memory[:3]), torch.from_numpy(memory[1:]))


def test_interleaved_views(notation: Operators) -> None:
    memory = torch.arange(8.0)
    notation.add_scaled(1.0, memory[::2], memory[1::2])
    square = memory.reshape(4, 2)
    notation.add_scaled(1.0, square[:, 0], square[:, 1])
    assert memory.tolist() == [0, 1, 2, 7, 4, 13, 6, 19]


def test_lazy_copies_lie_in_one_place_and_share_nothing(notation: Operators) -> None:
    x = torch.ones(4)
    y = torch._lazy_clone(x)
    notation.add_scaled(1.0, x, y)
    assert (x.tolist(), y.tolist()) == ([1] * 4, [2] * 4)
