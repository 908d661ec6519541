"""The order of elements is TensorIterator's; the loops of a kernel go through every element once, the same for all."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
import torch

import opwright
from opwright.runtime.layouts import Layout, is_contiguous, loops, result_strides


def draw(rng: random.Random, shape: list[int]) -> torch.Tensor:
    """A tensor of the shape: dense, permuted, sliced, expanded, channels last, or with strides that mean nothing."""
    kind, order = rng.choice(["dense", "permuted", "sliced", "expanded", "channels last", "odd"]), [*range(len(shape))]
    rng.shuffle(order)
    dense = torch.empty([shape[axis] for axis in order]).permute([order.index(axis) for axis in range(len(shape))])
    if kind == "channels last" and len(shape) == 4:
        return torch.empty(shape).contiguous(memory_format=torch.channels_last)
    if kind == "sliced" and shape:
        return torch.cat([dense] * 2, order[0]).narrow(order[0], 0, shape[order[0]])
    if kind == "expanded" and shape and shape[order[0]]:
        return dense.narrow(order[0], 0, 1).expand(shape)
    if kind == "odd":
        return torch.empty(4000).as_strided(shape, [rng.choice([0, 1, 2, 3, 6]) for _ in shape])
    return torch.empty(shape) if kind == "dense" else dense


def operands(rng: random.Random) -> list[torch.Tensor]:
    """One to three tensors that broadcast."""
    shape = [rng.choice([0, 1, 2, 3, 4] if rng.random() < 0.2 else [1, 2, 3, 4]) for _ in range(rng.randint(0, 5))]
    tensors = []
    for _ in range(rng.randint(1, 3)):
        own = [1 if rng.random() < 0.4 else size for size in shape] if rng.random() < 0.4 else shape
        tensors.append(draw(rng, own[rng.randint(0, len(own)) :] if rng.random() < 0.2 else own))
    return tensors


def layout(tensor: torch.Tensor) -> Layout:
    return Layout(tuple(tensor.shape), tensor.stride())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_results_lie_as_those_of_pytorch(seed: int) -> None:
    rng, orders = random.Random(seed), set()
    for _ in range(1000):
        tensors = operands(rng)
        like: dict[int, Callable[..., torch.Tensor]] = {1: torch.neg, 2: torch.add, 3: torch.addcmul}
        theirs = like[len(tensors)](*tensors)
        mine = result_strides(tuple(theirs.shape), [layout(tensor) for tensor in tensors])
        assert mine == theirs.stride(), [(tensor.shape, tensor.stride()) for tensor in tensors]
        orders.add(theirs.is_contiguous())
        assert all(is_contiguous(layout(tensor)) == tensor.is_contiguous() for tensor in tensors)
    assert orders == {True, False}


def places(tensor: Layout) -> list[int]:
    """Where each element is, in the order of the axes."""
    return [
        sum(i * stride for i, stride in zip(index, tensor.strides, strict=True))
        for index in itertools.product(*map(range, tensor.sizes))
    ]


@pytest.mark.slow
def test_loops_go_through_every_element() -> None:
    rng, ranks = random.Random(0), set()
    for _ in range(1000):
        tensors = operands(rng)
        shape = tuple(torch.broadcast_shapes(*(tensor.shape for tensor in tensors)))
        expanded = [layout(tensor).expanded(shape) for tensor in tensors]
        assert all(places(e) == places(layout(t.expand(shape))) for e, t in zip(expanded, tensors, strict=True))
        merged = loops(shape, expanded)
        assert len({each.sizes for each in merged}) == 1
        together = sorted(zip(*map(places, expanded), strict=True))
        assert sorted(zip(*map(places, merged), strict=True)) == together
        ranks.add(len(merged[0].sizes))
    assert ranks >= {0, 1, 2, 3}


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_dense_tensors_of_one_format_are_one_loop(memory_format: torch.memory_format) -> None:
    tensor = layout(torch.empty(2, 3, 4, 5).contiguous(memory_format=memory_format))
    assert loops(tensor.sizes, [tensor, tensor]) == [Layout((120,), (1,))] * 2


def test_the_last_axis_is_the_fastest() -> None:
    first = layout(torch.empty(5, 4).t())
    assert loops((4, 5), [first, layout(torch.empty(4, 1)).expanded((4, 5))]) == [
        Layout((5, 4), (4, 1)),
        Layout((5, 4), (0, 1)),
    ]


def test_a_kernel_over_views_sees_any_dense_layout_as_row_major() -> None:
    """A prefix sum over all elements: nothing says that they are independent, so only row-major order is right."""
    ops = opwright.load_inline(
        name="prefix_sums",
        cpp="""
        OPWRIGHT("sums(x: T[...]) -> (y: T[...])")
        template <class T>
        void sums(Tensor<const T> x, Tensor<T> y) {
          T sum = 0;
          for (int64_t i = 0; i < x.numel(); ++i) y[i] = sum += x[i];
        }
        """,
    )
    image = torch.arange(120.0).reshape(2, 3, 4, 5)
    for x in (image.contiguous(memory_format=torch.channels_last), image.permute(3, 0, 2, 1), image.mT):
        y = ops.sums(x)
        assert y.is_contiguous()
        torch.testing.assert_close(y, x.flatten().cumsum(0).reshape(x.shape))
        assert ops.sums(x.to("meta")).stride() == y.stride()
