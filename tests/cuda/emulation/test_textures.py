"""Texture fetches against formulas of the CUDA programming guide and PyTorch's `grid_sample`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import grid_sample

import opwright

WRAP, CLAMP, MIRROR, BORDER = range(4)
SOURCE = Path(__file__).parent / "textures" / "sampled.cu"
equal = torch.testing.assert_close


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["plain", "checked"])
def ops(request: pytest.FixtureRequest) -> opwright.Operators:
    name = f"textures_{'checked' if request.param else 'plain'}"
    return opwright.load(SOURCE, namespace=name, backend=opwright.emulate(check=request.param))


def places(count: int, *sizes: int) -> torch.Tensor:
    """Places (x, y, z) in and around a texture, in texels, whose weights of 8 bits are exact."""
    generator = torch.Generator().manual_seed(0)
    columns = [torch.randint(-256 * size, 512 * size, (count,), generator=generator) / 256.0 for size in sizes]
    return torch.stack(columns[::-1], 1)


def sampled(image: torch.Tensor, at: torch.Tensor, linear: bool, mode: int, border: float = 0.0) -> torch.Tensor:
    """PyTorch's answer, of the image repeated where it wraps, and less the border's colour where that isn't 0."""
    axes = image.dim()
    sizes = torch.tensor(image.shape[::-1])
    if mode == WRAP:  # in the middle of five
        image, at, sizes = image.repeat(*[5] * axes), at + 2 * sizes, 5 * sizes
    grid = (2 * at.double() / sizes - 1).reshape(1, *[1] * (axes - 1), -1, axes)
    shift = border if mode == BORDER else 0.0
    how = {WRAP: "border", CLAMP: "border", MIRROR: "reflection", BORDER: "zeros"}[mode]
    if (
        not linear
    ):  # grid_sample rounds to the nearest centre; a fetch takes the texel that x lies in, by the guide's formulas
        index, outside = [], torch.zeros(len(at), dtype=torch.bool)
        for d, size in enumerate(image.shape):
            x = at[:, axes - 1 - d].double()
            outside |= (x < 0) | (x >= size)
            period = torch.floor(x / size)
            turned = torch.where(period % 2 == 0, x - period * size, (period + 1) * size - x)
            index.append(torch.floor(turned if mode == MIRROR else x).long().clamp(0, size - 1))
        values = image[tuple(index)]
        return torch.where(outside, torch.full_like(values, border), values) if mode == BORDER else values
    if axes == 1:
        grid = torch.stack([grid[..., 0], torch.zeros_like(grid[..., 0])], -1).reshape(1, 1, -1, 2)
        image = image[None]
    found = grid_sample(
        (image.double() - shift)[None, None], grid, mode="bilinear", padding_mode=how, align_corners=False
    )
    return (found.flatten() + shift).float()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("linear", [False, True], ids=["point", "linear"])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER], ids=["wrap", "clamp", "mirror", "border"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_address_modes(ops: opwright.Operators, axes: int, mode: int, linear: bool) -> None:
    sizes = (4, 8, 16)[-axes:]  # powers of two: their inverses are exact
    image = torch.rand(sizes, generator=torch.Generator().manual_seed(1))
    at = places(300, *sizes)
    border = 2.5 if mode == BORDER and axes > 1 else 0.0  # PyTorch has no border of the second axis that isn't there
    expected = sampled(image, at, linear, mode, border)
    op = getattr(ops, f"sampled{axes}")
    equal(op(image, at / torch.tensor(sizes[::-1]), linear, mode, True, border), expected)
    if mode in (CLAMP, BORDER):
        equal(op(image, at, linear, mode, False, border), expected)
        if axes == 2:
            equal(ops.pitched(image, at, linear, mode, False, border), expected)


def test_what_wraps_needs_normalized_coordinates(ops: opwright.Operators) -> None:
    image, at = torch.rand(8, 16), places(200, 8, 16)
    for mode in (WRAP, MIRROR):
        equal(ops.sampled2(image, at, True, mode, False, 0.0), ops.sampled2(image, at, True, CLAMP, False, 0.0))


def test_weights_have_eight_bits(ops: opwright.Operators) -> None:
    """Between texels of 0 and 1 the fetch is the weight: a multiple of 1/256, the nearest one."""
    x = torch.rand(1000, 1, generator=torch.Generator().manual_seed(2))
    weight = ops.sampled1(torch.tensor([0.0, 1.0]), x + 0.5, True, CLAMP, False, 0.0)
    equal(weight * 256, (weight * 256).round(), rtol=0, atol=0)
    assert (weight - x[:, 0]).abs().max() <= 1 / 512 + 1e-6
    assert (weight == 1).any()


def test_places_that_are_no_numbers(ops: opwright.Operators) -> None:
    image = torch.tensor([1.0, 2.0, 3.0])
    at = torch.tensor([[float("inf")], [-float("inf")], [1e30], [-1e30]])
    for linear in (False, True):
        equal(ops.sampled1(image, at, linear, CLAMP, False, 0.0), torch.tensor([3.0, 1.0, 3.0, 1.0]))
        equal(ops.sampled1(image, at, linear, BORDER, False, 7.0), torch.full((4,), 7.0))
        for mode in range(4):
            assert torch.isfinite(ops.sampled1(image, at * float("nan"), linear, mode, True, 0.0)).all()


def test_linear_memory_gives_zero_beyond_its_end(ops: opwright.Operators) -> None:
    values, at = torch.rand(50) + 1, torch.randint(-60, 120, (500,), dtype=torch.int32)
    inside = (at >= 0) & (at < 50)
    equal(ops.linear(values, at), torch.where(inside, values[at.clamp(0, 49).long()], torch.zeros(())))


@pytest.mark.parametrize("signs", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("bits", [8, 16])
def test_whole_numbers(ops: opwright.Operators, bits: int, signs: bool) -> None:
    kind = np.dtype(f"{'i' if signs else 'u'}{bits // 8}")
    values = np.linspace(np.iinfo(kind).min, np.iinfo(kind).max, 200).astype(kind)
    given = torch.from_numpy(values.view(np.uint8 if bits == 8 else np.int16))
    as_is, scaled = (ops.whole if bits == 8 else ops.whole16)(given, signs)
    expected = torch.from_numpy(values.astype(np.float64))
    equal(as_is.double(), expected)
    equal(scaled.double(), (expected / np.iinfo(kind).max).clamp(min=-1), rtol=1e-6, atol=0)


def test_half_precision(ops: opwright.Operators) -> None:
    x = torch.randn(100, 2).half()
    equal(ops.halves(x), x.float())


def test_four_channels_are_filtered_as_fractions(ops: opwright.Operators) -> None:
    image, at = torch.randint(0, 256, (8, 16, 4), dtype=torch.uint8), places(300, 8, 16)
    channels = [sampled(image[..., i].float() / 255, at, True, CLAMP) for i in range(4)]
    equal(ops.colours(image, at), torch.stack(channels, 1))


@pytest.mark.parametrize("rows", [1, 8])
def test_layers_are_not_filtered(ops: opwright.Operators, rows: int) -> None:
    image, at = torch.rand(5, rows, 16), places(300, 5, rows, 16)
    expected = torch.stack([sampled(each, at[:, :2], True, CLAMP) for each in image])
    layer = at[:, 2].trunc().long().clamp(0, 4)
    equal(ops.layered(image, at), expected.gather(0, layer[None])[0])


def test_the_four_texels_of_a_place(ops: opwright.Operators) -> None:
    image, at = torch.rand(8, 16, 2), places(300, 8, 16)
    left, upper = torch.floor(at[:, 0] - 0.5).long(), torch.floor(at[:, 1] - 0.5).long()

    def texels(right: int, down: int) -> torch.Tensor:
        return image[(upper + down).clamp(0, 7), (left + right).clamp(0, 15), 1]

    equal(ops.gathered(image, at), torch.stack([texels(0, 1), texels(1, 1), texels(1, 0), texels(0, 0)], 1))
