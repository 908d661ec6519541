"""Opwright: a kernel over views, with a handwritten backward."""

from collections.abc import Callable
from pathlib import Path

import torch

import opwright

SOURCE = """
OPWRIGHT("silu(x: f32[...]) -> (y: f32[...])")
void silu(Tensor<const float> x, Tensor<float> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = 1.25f * x[i] / (1 + exp(-x[i]));
}

OPWRIGHT("silu_backward(grad_y: f32[...], x: f32[...]) -> (grad_x: f32[...])")
void silu_backward(Tensor<const float> grad_y, Tensor<const float> x, Tensor<float> grad_x) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    const float s = 1 / (1 + exp(-x[i]));
    grad_x[i] = grad_y[i] * 1.25f * s * (1 + x[i] * (1 - s));
  }
}
"""


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    path = folder / "alternative_views.cpp"
    path.write_text(SOURCE)
    return opwright.load(path).silu
