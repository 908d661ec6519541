"""Non-maximum suppression: the operators of nms.cpp as functions."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

import opwright

ops = opwright.load(Path(__file__).with_name("nms.cpp"))


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Keep each box unless it overlaps a kept box with a higher score, as in torchvision.ops.nms.

    If scores are equal, the first counts as higher; NaN counts as higher than any number, as in torch.sort.

    Args:
        boxes: shape (N, 4), each (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2; float32, float64, float16 or bfloat16.
            The last two are computed in float32.
        scores: shape (N,), the element type of `boxes`.
        iou_threshold: a box is removed if its intersection with a better box, divided by their union, exceeds this.

    Returns:
        The indices of the remaining boxes, int64, highest score first.

    Raises:
        opwright.ArgumentError: the shapes or types don't match.
    """
    keep: Tensor = ops.nms(boxes, scores, iou_threshold)
    return keep


def detect(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """Apply `nms` to each label separately, as torchvision.ops.batched_nms, and return the remaining detections.

    Args:
        boxes: as in `nms`.
        scores: as in `nms`.
        labels: shape (N,), int64.
        iou_threshold: as in `nms`.

    Returns:
        The remaining boxes, highest score first; their scores; their indices, int64. The first two have gradients.

    Raises:
        opwright.ArgumentError: the shapes or types don't match.
    """
    kept_boxes, kept_scores, keep = ops.detect(boxes, scores, labels, iou_threshold)
    return kept_boxes, kept_scores, keep
