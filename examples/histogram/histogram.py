"""How many elements fall into each bin, by the CUDA kernels of histogram.cu.

CUDA tensors go to the GPU; those of the CPU to the same kernels, emulated.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

import opwright

SOURCE = Path(__file__).with_name("histogram.cu")
ops = opwright.load(SOURCE)
emulated = opwright.load(SOURCE, backend="emulate")


def histogram(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """How many elements of `x` there are in each of `bins` bins of one width, between `low` and `high`.

    What lies outside isn't counted, nor are NaNs; the last bin has its upper edge, as in `torch.histc`. The counts are
    whole numbers: nothing can be differentiated.

    Args:
        x: any shape; float32, float64, float16 or bfloat16.
        bins: how many.
        low: where the first bin begins.
        high: where the last bin ends, more than `low`.

    Returns:
        int64, `bins` of them.

    Raises:
        opwright.ArgumentError: `x` has another element type, or `bins` is negative.
        opwright.KernelError: `low` isn't less than `high`.
    """
    counts: Tensor = (ops if x.is_cuda else emulated).histogram(x, bins, low, high)
    return counts
