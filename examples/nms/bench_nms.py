"""nms against a composition of PyTorch's operators; the median of each form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from nms import nms
from torch import Tensor
from torch.utils.benchmark import Compare, Measurement, Timer


def python(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Compute all overlaps at once, then visit the boxes in one pass."""
    order = scores.argsort(descending=True, stable=True)
    low, high = boxes[order].split(2, 1)
    area = (high - low).prod(1)
    overlap = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0).prod(2)
    removes = overlap / (area[:, None] + area - overlap) > iou_threshold
    stays = torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if stays[i]:
            stays[i + 1 :] &= ~removes[i, i + 1 :]
    return order[stays]


def measure(name: str, step: Callable[[Tensor, Tensor, float], Tensor], count: int) -> Measurement:
    """Time `step` on `count` boxes that overlap their neighbours."""
    corner = torch.rand(count, 2) * count**0.5
    timer = Timer(
        "step(boxes, scores, 0.5)",
        globals={
            "step": step,
            "boxes": torch.cat([corner, corner + torch.rand(count, 2) * 4], 1),
            "scores": torch.rand(count),
        },
        label="nms",
        sub_label=f"{count} boxes",
        description=name,
        num_threads=torch.get_num_threads(),
    )
    return timer.blocked_autorange(min_run_time=0.5)


if __name__ == "__main__":
    forms = {"PyTorch's operators": python, "ours": nms}
    Compare([measure(name, step, count) for count in (10, 100, 2_000) for name, step in forms.items()]).print()
