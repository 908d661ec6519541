"""The gallery's operators with arguments: small ones for tests, and those of real models for the benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import references
import torch
from torch import Tensor
from torch.nn import functional

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
WIDE = (torch.float64, torch.float32)


class Draw:
    """Draws arguments, the same in every run.

    Args:
        dtype: the element type of floating-point arguments.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return normal numbers."""
        return torch.randn(shape, dtype=torch.float64, generator=self.generator).to(dtype or self.dtype)

    def uniform(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return numbers between 0 and 1."""
        return torch.rand(shape, dtype=torch.float64, generator=self.generator).to(dtype or self.dtype)

    def below(self, limit: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
        """Return integers from 0 to below a limit."""
        return torch.randint(limit, shape, generator=self.generator, dtype=dtype)

    def different(self, limit: int, count: int) -> Tensor:
        """Return different integers below a limit, in any order."""
        return torch.randperm(limit, generator=self.generator)[:count]

    def offsets(self, count: int, rows: int) -> Tensor:
        """Return the offsets of groups of different lengths, some of them empty, that have all rows together."""
        inner = self.below(rows + 1, count - 1).sort().values
        return torch.cat([torch.tensor([0]), inner, torch.tensor([rows])])

    def boxes(self, count: int, extent: float) -> Tensor:
        """Return boxes (x1, y1, x2, y2) in a square; some reach beyond it."""
        corner, size = self.uniform(count, 2, dtype=torch.float64), self.uniform(count, 2, dtype=torch.float64)
        return (torch.cat([corner, corner + 0.1 + 0.5 * size], 1) * extent).to(self.dtype)


Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One operator.

    Attributes:
        operator: its name.
        source: the name of its file, for `gallery.load`.
        reference: the same in PyTorch.
        small: the arguments of a test, for a `Draw`.
        large: the arguments of the benchmark.
        trained: the arguments that have gradients, by position.
        dtypes: the element types that it takes.
        measured: the element type of the benchmark.
        eager: what the benchmark compares with, where that isn't the reference.
        beside: what that is, in a word.
    """

    operator: str
    source: str
    reference: Callable[..., Any]
    small: Callable[[Draw], Arguments]
    large: Callable[[Draw], Arguments]
    trained: tuple[int, ...] = ()
    dtypes: tuple[torch.dtype, ...] = FLOATS
    measured: torch.dtype = torch.float32
    eager: Callable[..., Any] | None = None
    beside: str = "composed"


def rms_norm(rows: int, size: int, draw: Draw) -> Arguments:
    return draw.normal(2, rows, size), 1 + 0.1 * draw.normal(size), 1e-6


def rotary(batch: int, length: int, heads: int, half: int, draw: Draw) -> Arguments:
    angles = torch.arange(length)[:, None] * 10_000 ** (-torch.arange(half) / half)
    positions = draw.below(length, batch, length)
    return draw.normal(batch, length, heads, 2 * half), positions, angles.cos(), angles.sin(), "halves"


def interleaved(batch: int, length: int, heads: int, half: int, draw: Draw) -> Arguments:
    return *rotary(batch, length, heads, half, draw)[:4], "interleaved"


def swiglu_fp8(rows: int, size: int, draw: Draw) -> Arguments:
    return (draw.normal(rows, 2 * size),)


def kv_cache_write(pages: int, page: int, heads: int, size: int, tokens: int, draw: Draw) -> Arguments:
    slots = draw.different(pages * page, tokens)
    slots[::5] = -1
    caches = (draw.normal(pages, page, heads, size) for _ in range(2))
    return *caches, *(draw.normal(tokens, heads, size) for _ in range(2)), slots


def paged_attention(batch: int, heads: int, shared: int, size: int, page: int, pages: int, draw: Draw) -> Arguments:
    query = draw.normal(batch, heads, shared, size)
    caches = (draw.normal(batch * pages, page, heads, size) for _ in range(2))
    table = draw.different(batch * pages, batch * pages).to(torch.int32).view(batch, pages)
    lengths = draw.below(pages * page + 1, batch, dtype=torch.int32)
    return query, *caches, table, lengths, size**-0.5


def router(tokens: int, groups: int, experts: int, chosen: int, k: int, draw: Draw) -> Arguments:
    # Different in every element type, so that it is the same experts that are chosen.
    logits = draw.different(tokens * groups * experts, tokens * groups * experts).view(tokens, groups, experts)
    logits = (logits % 251 / 50 - 2.5).to(draw.dtype)
    return logits, 0.1 * draw.normal(groups, experts, dtype=torch.float32), chosen, k, 2.5


def top_p(rows: int, tokens: int, draw: Draw) -> Arguments:
    return 3 * draw.normal(rows, tokens), 0.9, 0.8


def selective_scan(batch: int, length: int, channels: int, states: int, draw: Draw) -> Arguments:
    wide = torch.promote_types(draw.dtype, torch.float32)
    u, delta = draw.normal(batch, length, channels), draw.uniform(batch, length, channels)
    a, skip = -2 * draw.uniform(channels, states, dtype=wide), draw.normal(channels, dtype=wide)
    return u, delta, a, draw.normal(batch, length, states), draw.normal(batch, length, states), skip


def causal_conv(batch: int, channels: int, length: int, taps: int, draw: Draw) -> Arguments:
    return draw.normal(batch, channels, length), draw.normal(channels, taps), draw.normal(channels), "silu"


def roi_align(batch: int, channels: int, extent: int, boxes: int, size: int, draw: Draw) -> Arguments:
    rois = draw.boxes(boxes, 1.2 * extent) - 0.1 * extent  # some leave the image
    return draw.normal(batch, channels, extent, extent), rois, draw.below(batch, boxes), [size, size], 1.0, 2, True


def deform_conv(batch: int, channels: int, extent: int, stride: int, draw: Draw) -> Arguments:
    out = (extent - 1) // stride + 1
    offset, mask = 1.5 * draw.normal(batch, 18, out, out), draw.uniform(batch, 9, out, out)
    weight, bias = draw.normal(channels, channels, 3, 3) / 3, draw.normal(channels)
    return draw.normal(batch, channels, extent, extent), offset, mask, weight, bias, [stride, stride], [1, 1], [1, 1]


def soft_nms(boxes: int, method: str, draw: Draw) -> Arguments:
    return draw.boxes(boxes, 10.0), draw.uniform(boxes), method


def focal_loss(rows: int, classes: int, draw: Draw) -> Arguments:
    return 2 * draw.normal(rows, classes), draw.below(2, rows, classes).to(draw.dtype), 0.25, 2.0


def ctc_loss(length: int, batch: int, classes: int, labels: int, draw: Draw) -> Arguments:
    log_probs = draw.normal(length, batch, classes).log_softmax(2)
    targets = 1 + draw.below(classes - 1, batch, labels)
    input_lengths, target_lengths = length - draw.below(3, batch), labels - draw.below(labels, batch)
    return log_probs, targets, input_lengths, target_lengths, 0


def segments(rows: int, columns: int, count: int, draw: Draw) -> Arguments:
    return draw.normal(rows, columns), draw.offsets(count, rows)


def ball_query(batch: int, points: int, centers: int, k: int, draw: Draw) -> Arguments:
    # Whole steps of 1/16, and a radius between two distances: the same points are near in every element type.
    places = (draw.below(17, batch, points, 3) / 16).to(draw.dtype)
    return places, places[:, :centers].clone(), math.sqrt(12.5) / 16, k


def embedding_bag(rows: int, size: int, entries: int, bags: int, mode: str, draw: Draw) -> Arguments:
    table, index = draw.normal(rows, size), draw.below(rows, entries)
    return table, index, draw.offsets(bags, entries), draw.uniform(entries), mode


def case(
    operator: str, make: Callable[..., Arguments], small: tuple[Any, ...], large: tuple[Any, ...], **more: Any
) -> Case:
    """Return a case; `small` and `large` are the sizes that `make` takes."""
    found = {"source": operator, "reference": getattr(references, operator), **more}
    return Case(operator, small=partial(make, *small), large=partial(make, *large), **found)


def lookup(table: Tensor, index: Tensor, offsets: Tensor, weight: Tensor, mode: str) -> Tensor:
    """Call PyTorch's own embedding bag, of which the reference is careful in more cases."""
    return functional.embedding_bag(
        index, table, offsets, mode=mode, per_sample_weights=weight, include_last_offset=True
    )


def reduced(x: Tensor, offsets: Tensor) -> Tensor:
    """Call PyTorch's own sum over segments."""
    return torch.segment_reduce(x, "sum", offsets=offsets, axis=0)


def written(keys: Tensor, values: Tensor, new_keys: Tensor, new_values: Tensor, slots: Tensor) -> None:
    """Write to a cache as if no two tokens had one slot."""
    wanted = slots >= 0
    keys.view(-1, *keys.shape[2:])[slots[wanted]] = new_keys[wanted]
    values.view(-1, *values.shape[2:])[slots[wanted]] = new_values[wanted]


CASES = [
    case("rms_norm", rms_norm, (5, 37), (256, 2048), trained=(0, 1), beside="`rms_norm`"),
    case("rotary", rotary, (2, 5, 3, 9), (1, 512, 16, 64), trained=(0,)),
    case("swiglu_fp8", swiglu_fp8, (7, 37), (256, 4096), dtypes=FLOATS[1:], measured=torch.bfloat16),
    case(
        "kv_cache_write",
        kv_cache_write,
        (6, 4, 2, 5, 9),
        (256, 16, 8, 128, 512),
        source="kv_cache",
        eager=written,
    ),
    case("paged_attention", paged_attention, (5, 2, 3, 9, 4, 5), (4, 8, 4, 128, 16, 32), source="kv_cache"),
    case("router", router, (7, 4, 6, 2, 5), (1024, 8, 32, 4, 8), eager=partial(references.router, stable=False)),
    case("top_p", top_p, (5, 200), (8, 32_000)),
    case(
        "selective_scan",
        selective_scan,
        (2, 5, 6, 4),
        (1, 128, 512, 16),
        trained=(0, 1, 2, 3, 4, 5),
        beside="a loop in Python",
    ),
    case("causal_conv", causal_conv, (2, 3, 21, 4), (1, 1024, 1024, 4), trained=(0, 1, 2), beside="`conv1d`, `silu`"),
    case("roi_align", roi_align, (2, 3, 7, 6, 3), (1, 64, 50, 64, 7), trained=(0,)),
    case("deform_conv", deform_conv, (2, 3, 6, 2), (1, 32, 56, 1), trained=(0, 1, 2, 3, 4), dtypes=WIDE),
    case("soft_nms", soft_nms, (30, "gaussian"), (200, "gaussian"), dtypes=WIDE, beside="a loop in Python"),
    case("focal_loss", focal_loss, (5, 7), (1024, 256), trained=(0,)),
    case("ctc_loss", ctc_loss, (13, 4, 5, 4), (128, 16, 128, 30), trained=(0,), dtypes=WIDE, beside="`ctc_loss`"),
    case(
        "segment_sum",
        segments,
        (40, 5, 7),
        (30_000, 64, 3_000),
        source="segment",
        trained=(0,),
        eager=reduced,
        beside="`segment_reduce`",
    ),
    case("segment_softmax", segments, (40, 5, 7), (30_000, 8, 3_000), source="segment", trained=(0,)),
    case("ball_query", ball_query, (2, 100, 9, 6), (1, 4096, 256, 32)),
    case(
        "embedding_bag",
        embedding_bag,
        (20, 9, 50, 7, "sum"),
        (20_000, 64, 50_000, 5_000, "sum"),
        trained=(0, 3),
        dtypes=WIDE,
        eager=lookup,
        beside="`embedding_bag`",
    ),
]
MORE = [
    case("rotary", interleaved, (2, 5, 3, 9), (2, 512, 16, 64), trained=(0,)),
    case("soft_nms", soft_nms, (30, "linear"), (500, "linear"), dtypes=WIDE),
    case(
        "embedding_bag",
        embedding_bag,
        (20, 9, 50, 7, "mean"),
        (20_000, 64, 50_000, 5_000, "mean"),
        trained=(0, 3),
        dtypes=WIDE,
    ),
]
"""Other choices of some operators; the benchmark leaves them out."""
