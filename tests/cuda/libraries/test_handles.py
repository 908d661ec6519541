"""Handles of CUDA's libraries pass from one library of a process to another, as PyTorch's pass to extensions."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from .conftest import Library

SOURCE = Path(__file__).parent / "functions" / "handles_of_another.cu"


def test_two_libraries(tmp_path: Path) -> None:
    one, other = Library(SOURCE), Library(Path(shutil.copy(SOURCE, tmp_path / "handles_of_one.cu")))
    assert one._library._handle != other._library._handle
    blas, sparse, random = (torch.zeros(1, dtype=torch.int64) for _ in range(3))
    one.right("create", blas, sparse, random)
    x = torch.arange(5.0, dtype=torch.float64)
    other.right("scale", blas, 5, x)
    assert x.tolist() == [0, 2, 4, 6, 8]
    other.right("set_mode", sparse)
    drawn = torch.zeros(100)
    other.right("draw", random, 100, drawn)
    assert len(drawn.unique()) > 90
    assert other("confused", sparse, 5, x) == 1  # CUBLAS_STATUS_NOT_INITIALIZED
    other.right("destroy", blas, sparse, random)
    assert (one("scale", blas, 5, x), one("set_mode", sparse)) == (1, 1)
    assert one("draw", random, 100, drawn) == 101  # CURAND_STATUS_NOT_INITIALIZED
    assert x.tolist() == [0, 2, 4, 6, 8]
