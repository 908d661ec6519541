"""Was the wrong tensor saved? The backward is run with another one in its place."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from opwright.check.compared import Comparison, compare
from opwright.check.jacobian import analytical, numerical
from opwright.check.locate import Fault
from opwright.check.points import Point

_MOST = 12
_EVIDENCE = 3
"""How many numbers of a Jacobian have to agree."""


def wrong_saved(comparisons: Sequence[Comparison]) -> Fault | None:
    """The fault, where another argument or result in place of one that was saved makes all gradients right.

    Args:
        comparisons: in each of which something is wrong.
    """
    largest = sorted(comparisons, key=lambda comparison: -comparison.count)[:_MOST]
    points = [next(iter(comparison.blocks.values())).point for comparison in largest]
    if sum(comparison.count for comparison in largest) < _EVIDENCE:
        return None
    names = list(points[0].tensors)
    for was in names:
        for needed in names:
            if was != needed and all(_right_with(point, was, needed) for point in points):
                return Fault(
                    "wrong-saved-tensor",
                    f"the wrong tensor was saved for it: with {needed} in place of {was} the backward is right",
                )
    return None


def _right_with(point: Point, was: str, needed: str) -> bool:
    one, other = point.tensors.get(was), point.tensors.get(needed)
    if one is None or other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    replaced = 0

    def unpacked(saved: torch.Tensor) -> torch.Tensor:
        nonlocal replaced
        if saved.shape != one.shape or saved.dtype != one.dtype or not torch.equal(saved, one):
            return saved
        replaced += 1
        return other.detach().clone()

    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, unpacked):
        got = analytical(point)
    return replaced > 0 and not compare(point, got, numerical(point)).wrong
