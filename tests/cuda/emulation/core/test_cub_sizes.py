"""The size and the alignment of cub's TempStorage are those that nvcc gives.

kernels/cub_sizes.txt was printed by a program of nvcc 13.0.88 with CCCL 3.0.1 for sm_80: size, alignment, type.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tests.cuda.emulation.conftest import build_at

TABLE = [line.split(" ", 2) for line in (Path(__file__).parent / "kernels/cub_sizes.txt").read_text().splitlines()]
HEAD = """
#include <cub/cub.cuh>
using namespace cub;
struct Three { float x, y, z; };
EXPORT void sizes(int *into) {
"""


def test_sizes(tmp_path: Path) -> None:
    lines = (f"  *into++ = sizeof({n}::TempStorage), *into++ = alignof({n}::TempStorage);\n" for *_, n in TABLE)
    library = build_at(tmp_path / "cub_sizes.cu", f"{HEAD}{''.join(lines)}}}\n")
    got = np.zeros((len(TABLE), 2), np.int32)
    library.sizes(got.ctypes.data_as(ctypes.c_void_p))
    assert len(TABLE) > 500
    for (size, alignment, name), (our_size, our_alignment) in zip(TABLE, got.tolist(), strict=True):
        assert our_alignment == int(alignment), name
        larger = name.startswith("BlockRadixSort") and our_size > int(size)  # it keeps keys, values and their order
        assert our_size == int(size) or larger, name
