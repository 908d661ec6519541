"""The number of elements in each bin, by the CUDA kernels of histogram.cu.

CUDA tensors run on the GPU; CPU tensors run the same kernels under emulation.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

import opwright

SOURCE = Path(__file__).with_name("histogram.cu")
ops = opwright.load(SOURCE)
emulated = opwright.load(SOURCE, backend="emulate")


def histogram(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """Count the elements of `x` in each of `bins` bins of equal width between `low` and `high`.

    Elements outside and NaNs aren't counted; the last bin includes its upper edge, as in `torch.histc`. The counts are
    integers, so nothing is differentiable.

    Args:
        x: any shape; float32, float64, float16 or bfloat16.
        bins: the number of bins.
        low: the lower edge of the first bin.
        high: the upper edge of the last bin, more than `low`.

    Returns:
        The counts, int64, shape (bins,).

    Raises:
        opwright.ArgumentError: `x` has another element type, or `bins` is negative.
        opwright.KernelError: `low` isn't less than `high`.
    """
    counts: Tensor = (ops if x.is_cuda else emulated).histogram(x, bins, low, high)
    return counts
