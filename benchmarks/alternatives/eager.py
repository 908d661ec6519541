"""PyTorch's operations, as they are."""

from collections.abc import Callable
from pathlib import Path

import torch


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator."""
    return lambda x: 1.25 * x * torch.sigmoid(x)
