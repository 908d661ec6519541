"""The gallery's operators in PyTorch: its own ones where it has them, else composed of them.

Each takes the operator's arguments, in its order. Those composed of others are differentiated by autograd.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Language models.


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    return functional.rms_norm(x, weight.shape, weight, eps)


def rotary(x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor, pairs: str = "halves") -> Tensor:
    cos, sin = cos[positions].unsqueeze(2), sin[positions].unsqueeze(2)
    if pairs == "halves":
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2).to(x.dtype)


def swiglu_fp8(x: Tensor) -> tuple[Tensor, Tensor]:
    gate, up = x.float().chunk(2, -1)
    products = functional.silu(gate) * up
    most = products.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    return (products * (448 / most)).clamp(-448, 448).to(torch.float8_e4m3fn), most / 448


def kv_cache_write(keys: Tensor, values: Tensor, new_keys: Tensor, new_values: Tensor, slots: Tensor) -> None:
    wanted = slots >= 0
    slots, tokens = slots[wanted], torch.arange(len(slots), device=slots.device)[wanted]
    last = torch.full((keys[:, :, 0, 0].numel(),), -1, device=slots.device)
    tokens = last.scatter_reduce_(0, slots, tokens, "amax")[slots]  # of two tokens with one slot the last one stays
    keys.view(-1, *keys.shape[2:])[slots] = new_keys[tokens]
    values.view(-1, *values.shape[2:])[slots] = new_values[tokens]


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, lengths: Tensor, scale: float) -> Tensor:
    keys, values = (pages[table.long()].flatten(1, 2).transpose(1, 2) for pages in (keys, values))  # [B, G, M*S, D]
    inside = torch.arange(keys.shape[2], device=q.device) < lengths[:, None]
    weights = (q @ keys.mT * scale).masked_fill(~inside[:, None, None], -torch.inf).softmax(-1)
    return torch.where(lengths[:, None, None, None] > 0, weights, 0) @ values


def router(
    logits: Tensor, bias: Tensor | None, groups: int, k: int, scaling: float = 1.0, *, stable: bool = True
) -> tuple[Tensor, Tensor]:
    """Route as DeepSeek-V3 does. ``stable=False``: of equal scores any may be chosen, which is faster."""

    def largest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
        if not stable:
            return tuple(scores.topk(count, -1))
        values, places = scores.sort(dim=-1, descending=True, stable=True)
        return values[..., :count], places[..., :count]

    gates = logits.float().sigmoid()
    scores = gates if bias is None else gates + bias
    of_groups = largest(scores, min(2, scores.shape[2]))[0].sum(-1)
    closed = torch.ones_like(of_groups, dtype=torch.bool).scatter(1, largest(of_groups, groups)[1], value=False)
    experts = largest(scores.masked_fill(closed[:, :, None], -torch.inf).flatten(1), k)[1]
    weights = gates.flatten(1).gather(1, experts)
    return weights / (weights.sum(1, keepdim=True) + 1e-20) * scaling, experts


def top_p_probabilities(logits: Tensor, p: float = 0.9, temperature: float = 1.0) -> Tensor:
    """Return the probability of each token under top-p sampling."""
    probabilities = (logits / temperature).softmax(-1)
    ordered = probabilities.sort(-1, descending=True).values
    needed = (ordered.cumsum(-1) < p).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    kept = torch.where(probabilities >= ordered.gather(-1, needed), probabilities, 0)
    return kept / kept.sum(-1, keepdim=True)


def top_p(logits: Tensor, p: float = 0.9, temperature: float = 1.0) -> Tensor:
    return top_p_probabilities(logits, p, temperature).multinomial(1).squeeze(1)


def selective_scan(u: Tensor, delta: Tensor, a: Tensor, b: Tensor, c: Tensor, skip: Tensor) -> Tensor:
    h, out = u.new_zeros(u.shape[0], *a.shape, dtype=a.dtype), [u[:, :0]]
    for t in range(u.shape[1]):
        step = delta[:, t, :, None]
        h = torch.exp(step * a) * h + step * u[:, t, :, None] * b[:, t, None, :]
        out.append(((c[:, t, None, :] * h).sum(-1) + skip * u[:, t])[:, None].to(u.dtype))
    return torch.cat(out, 1)


def causal_conv(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "silu") -> Tensor:
    y = functional.conv1d(functional.pad(x, (weight.shape[1] - 1, 0)), weight[:, None], bias, groups=x.shape[1])
    return functional.silu(y) if activation == "silu" else y


# Vision.


def bilinear(x: Tensor, image: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Sample images [B, C, H, W] at fractional places; pixels outside count as zeros. Return [*places, C]."""
    height, width = x.shape[2:]
    top, left = rows.floor(), columns.floor()
    total: Tensor | float = 0.0
    for down in (0, 1):
        for over in (0, 1):
            row, column = (top + down).long(), (left + over).long()
            part = (1 - (rows - row).abs()) * (1 - (columns - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            pixels = x[image, :, row.clamp(0, height - 1), column.clamp(0, width - 1)]
            total = total + torch.where(inside, part, 0).unsqueeze(-1) * pixels
    assert isinstance(total, Tensor)
    return total


def roi_align(
    x: Tensor,
    rois: Tensor,
    image: Tensor,
    size: list[int],
    scale: float = 1.0,
    samples: int = 2,
    aligned: bool = True,
) -> Tensor:
    low, high = (rois * scale - (0.5 if aligned else 0.0)).split(2, 1)
    extent = high - low if aligned else (high - low).clamp(min=1)
    height, width = x.shape[2:]

    def places(axis: int, count: int) -> Tensor:
        steps = (torch.arange(count * samples, dtype=x.dtype, device=x.device) + 0.5) / (count * samples)
        return low[:, axis, None] + steps * extent[:, axis, None]

    rows, columns = torch.broadcast_tensors(places(1, size[0])[:, :, None], places(0, size[1])[:, None, :])
    outside = (rows < -1) | (rows > height) | (columns < -1) | (columns > width)
    rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)  # up to a pixel beyond the edge is the edge
    values = torch.where(outside.unsqueeze(-1), 0, bilinear(x, image[:, None, None], rows, columns))
    bins = values.unflatten(2, (size[1], samples)).unflatten(1, (size[0], samples))
    return bins.mean((2, 4)).permute(0, 3, 1, 2)


def deform_conv(
    x: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
) -> Tensor:
    (_, _, kernel_height, kernel_width), (batch, _, height, width) = weight.shape, offset.shape
    moved = offset.unflatten(1, (-1, 2))  # [B, KH*KW, 2, OH, OW]

    def fixed(count: int, taps: int, axis: int) -> Tensor:
        steps = torch.arange(count, device=x.device) * stride[axis] - padding[axis]
        return torch.arange(taps, device=x.device)[:, None] * dilation[axis] + steps

    rows = fixed(height, kernel_height, 0)[:, None, :, None].expand(-1, kernel_width, -1, width).flatten(0, 1)
    columns = fixed(width, kernel_width, 1)[None, :, None, :].expand(kernel_height, -1, height, -1).flatten(0, 1)
    image = torch.arange(batch, device=x.device)[:, None, None, None]
    values = bilinear(x, image, rows + moved[:, :, 0], columns + moved[:, :, 1])  # [B, KH*KW, OH, OW, C]
    if mask is not None:
        values = values * mask.unsqueeze(-1)
    y = torch.einsum("bkhwc,ock->bohw", values, weight.flatten(2))
    return y if bias is None else y + bias[:, None, None]


def soft_nms(
    boxes: Tensor,
    scores: Tensor,
    method: str = "gaussian",
    sigma: float = 0.5,
    iou_threshold: float = 0.3,
    least_score: float = 0.001,
) -> tuple[Tensor, Tensor]:
    scores, kept, keep = scores.clone(), [scores[:0]], []
    low, high = boxes.split(2, 1)
    area = (high - low).prod(1)
    for _ in range(len(boxes)):
        best = int(scores.argmax())
        if not scores[best] > least_score:
            break
        kept.append(scores[best : best + 1].clone())
        keep.append(best)
        overlap = (torch.minimum(high[best], high) - torch.maximum(low[best], low)).clamp(min=0).prod(1)
        iou = torch.where(overlap > 0, overlap / (area[best] + area - overlap), 0)
        linear = torch.where(iou > iou_threshold, 1 - iou, 1)
        scores *= torch.exp(-iou * iou / sigma) if method == "gaussian" else linear
        scores[best] = -torch.inf
    return torch.cat(kept), torch.tensor(keep, dtype=torch.int64, device=boxes.device)


def focal_loss(logit: Tensor, target: Tensor, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    p = logit.sigmoid()
    entropy = functional.binary_cross_entropy_with_logits(logit, target.expand_as(logit), reduction="none")
    wrong = p * (1 - target) + (1 - p) * target
    return (alpha * target + (1 - alpha) * (1 - target)) * wrong**gamma * entropy


# Sequences and sets.


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0
) -> Tensor:
    return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction="none")


def groups(offsets: Tensor, rows: Tensor) -> Tensor:
    """Return the group of each row of those that have one."""
    return torch.repeat_interleave(torch.arange(len(offsets) - 1, device=rows.device), offsets.diff())


def segment_sum(x: Tensor, offsets: Tensor) -> Tensor:
    rows = x[offsets[0] : offsets[-1]]
    return x.new_zeros(len(offsets) - 1, x.shape[1]).index_add(0, groups(offsets, rows), rows)


def segment_softmax(x: Tensor, offsets: Tensor) -> Tensor:
    first, last = int(offsets[0]), int(offsets[-1])
    group, count = groups(offsets, x), len(offsets) - 1
    rows = x[first:last]
    most = x.new_full((count, x.shape[1]), -torch.inf)
    most = most.scatter_reduce(0, group[:, None].expand_as(rows), rows.detach(), "amax")
    weights = torch.exp(rows - most[group])
    shares = weights / x.new_zeros(count, x.shape[1]).index_add(0, group, weights)[group]
    return torch.cat([torch.zeros_like(x[:first]), shares, torch.zeros_like(x[last:])])


def ball_query(points: Tensor, centers: Tensor, radius: float, k: int) -> tuple[Tensor, Tensor]:
    near = (centers[:, :, None] - points[:, None]).square().sum(-1) < radius**2
    count = points.shape[1]
    places = torch.where(near, torch.arange(count, device=points.device), count).sort(-1).values[..., :k]
    places = functional.pad(places, (0, k - places.shape[-1]), value=count)
    return torch.where(places < count, places, -1), near.sum(-1).clamp(max=k)


def embedding_bag(table: Tensor, index: Tensor, offsets: Tensor, weight: Tensor | None, mode: str = "sum") -> Tensor:
    first, last = int(offsets[0]), int(offsets[-1])
    index, weight = index[first:last].long(), None if weight is None else weight[first:last]
    bags = functional.embedding_bag(
        index, table, offsets - first, mode="sum", per_sample_weights=weight, include_last_offset=True
    )
    return bags / offsets.diff().clamp(min=1)[:, None] if mode == "mean" else bags
