"""References (see references.py) of operators whose names others have, too, by the source's name and the operator's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = torch.Tensor
Results = tuple[Tensor | None, ...]
Reference = Callable[..., Any]


# --- examples/parallel


def _gates_apart(x: Tensor, weights: Tensor, bias: Tensor, old_cell: Tensor) -> Results:
    i, o, c = (torch.einsum("bk,gsk->gbs", x, weights) + bias[:, None]).unbind()
    cell = old_cell + torch.nn.functional.elu(c) * i.sigmoid()
    return cell.tanh() * o.sigmoid(), cell


def _attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (q @ k.mT / torch.tensor(q.shape[-1], dtype=q.dtype).sqrt()).exp()
    return weights @ v / weights.sum(-1, keepdim=True)


# --- tests/runtime/kernels/derived_forms.cpp


def _relaxed(x: Tensor, w: Tensor, n: Tensor, rate: float) -> Results:
    count = n + 1
    new = (x + rate * (w - x * x) * count).cumprod(0)
    return new.square().sum(), new, count


def _scan(x: Tensor, decay: Tensor) -> Tensor:
    rows = x.clone()
    for i in range(1, x.shape[-1]):
        rows[..., i] += decay * rows[..., i - 1]
    return rows


def _rotated(x: Tensor, angle: Tensor) -> Tensor:
    new, pairs = x.clone(), x.shape[1] // 2 * 2
    a, b = x[:, 0:pairs:2], x[:, 1:pairs:2]
    new[:, 0:pairs:2], new[:, 1:pairs:2] = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return new


def _moments(x: Tensor, w: Tensor | None) -> Results:
    mean = x.mean()
    return mean, (x - mean).square().mean(), None if w is None else w * w * x * mean


def _squares_scattered(x: Tensor, at: Tensor, size: int | None) -> Tensor:
    length = size if size is not None else int(at.max()) + 1 if at.numel() else 0
    return x.new_zeros(length).index_add(0, at, x * x)


# --- tests/runtime/kernels/given_ops.cpp, returned_ops.cpp, group_ops.cpp


def _scattered(x: Tensor, at: Tensor, dim: int, dim_size: int | None) -> Results:
    wide, dim = (x, dim) if x.dim() else (x[None], 0)
    if dim_size is None:
        dim_size = int(at.max()) + 1 if at.numel() else 0
    shape = [*wide.shape]
    shape[dim] = dim_size
    return wide.new_zeros(shape).index_add(dim, at, wide), torch.bincount(at, minlength=dim_size)


REFERENCES_BY_SOURCE: dict[str, Reference] = {
    "parallel.lltm": _gates_apart,
    "parallel.attention": _attention,
    "derived_forms.relaxed": _relaxed,
    "derived_forms.scan_": _scan,
    "derived_forms.rotated": _rotated,
    "derived_forms.jittered": lambda: (None,),
    "derived_forms.moments": _moments,
    "derived_forms.positive": lambda x: (x[x > 0].log(), (x > 0).nonzero().squeeze(1)),
    "derived_forms.scattered": _squares_scattered,
    "given_ops.scatter": _scattered,
    "given_ops.count": lambda at, size: torch.bincount(at, minlength=size or 0),
    "returned_ops.sums": lambda x, scale: (scale * x.sum(1), (x * x).sum(0)),
    "returned_ops.made": lambda n, value: (torch.full((n,), value, dtype=torch.float64),) * 2,
    "returned_ops.writes": lambda x: (x, 0 * x),
    "returned_ops.scale_": lambda x, by: x * by,
    "returned_ops.exchange": lambda x, y: (y, x),
    "returned_ops.cumsum": lambda x: x.cumsum(0),
    "group_ops.softmax": lambda x, dim: x.softmax(dim),
    "group_ops.sum": lambda x, dim, keepdim: x.sum(dim, keepdim=keepdim),
    "group_ops.norm": lambda x, dim, keepdim: x.norm(dim=dim, keepdim=keepdim),
}
