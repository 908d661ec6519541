"""Non-maximum suppression: the operators of nms.cpp as functions."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

import opwright

ops = opwright.load(Path(__file__).with_name("nms.cpp"))


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The boxes that stay when each one removes what overlaps it and has a lower score: torchvision.ops.nms.

    Of equal scores the first counts as the higher one; NaN counts as higher than any number, as in torch.sort.

    Args:
        boxes: shape (N, 4), each (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2; float32, float64, float16 or bfloat16,
            computed in float32 if it is a half.
        scores: shape (N,), the element type of `boxes`.
        iou_threshold: a box is removed if its intersection with a better one is more than this part of their union.

    Returns:
        The numbers of the boxes that stay, int64, best score first.

    Raises:
        opwright.ArgumentError: the two don't fit together.
    """
    keep: Tensor = ops.nms(boxes, scores, iou_threshold)
    return keep


def detect(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """`nms` where only boxes of the same label remove each other: torchvision.ops.batched_nms, and what it keeps.

    Args:
        boxes: as in `nms`.
        scores: as in `nms`.
        labels: shape (N,), int64.
        iou_threshold: as in `nms`.

    Returns:
        The boxes that stay, best score first; their scores; their numbers, int64. The first two have gradients.

    Raises:
        opwright.ArgumentError: the three don't fit together.
    """
    kept_boxes, kept_scores, keep = ops.detect(boxes, scores, labels, iou_threshold)
    return kept_boxes, kept_scores, keep
