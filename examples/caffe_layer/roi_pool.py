"""The largest value in each part of regions of an image: the operator of roi_pool.cu as a function and as a layer."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn

import opwright

SOURCE = Path(__file__).with_suffix(".cu")
ops = opwright.load(SOURCE)
emulated = opwright.load(SOURCE, backend="emulate")


def roi_pool(x: Tensor, rois: Tensor, height: int, width: int, scale: float = 1.0) -> Tensor:
    """Divide each region into height x width parts, and return the maximum of each part.

    Args:
        x: images or feature maps, (N, C, H, W), float32 or float64; on the CPU the kernels are emulated.
        rois: (R, 5): the index of the image, then left, top, right and bottom, inclusive.
        height: parts of a region from top to bottom.
        width: parts from left to right.
        scale: pixels of `x` in one unit of the regions' coordinates.

    Returns:
        (R, C, height, width).

    Raises:
        opwright.ArgumentError: shapes, element types or devices don't match.
    """
    y: Tensor = (ops if x.is_cuda else emulated).roi_pool(x, rois, height, width, scale)
    return y


class RoiPool(nn.Module):
    """`roi_pool` as a layer; its constructor takes the parameters of the Caffe layer's prototxt."""

    def __init__(self, height: int, width: int, scale: float = 1.0) -> None:
        super().__init__()
        self.height, self.width, self.scale = height, width, scale

    def forward(self, x: Tensor, rois: Tensor) -> Tensor:
        """See `roi_pool`."""
        return roi_pool(x, rois, self.height, self.width, self.scale)
