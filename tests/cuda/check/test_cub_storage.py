"""Two uses of one TempStorage need a barrier between them: found without, silent with it."""

from __future__ import annotations

import pytest
import torch

import opwright

USES = {
    "reduce": ("BlockReduce<float, 96>", "x = s.Sum(x)"),
    "raking": ("BlockReduce<float, 96, cub::BLOCK_REDUCE_RAKING>", "x = s.Sum(x)"),
    "scan": ("BlockScan<float, 96>", "s.ExclusiveSum(x, x, pair[0])"),
    "warp_scan": ("BlockScan<float, 96, cub::BLOCK_SCAN_WARP_SCANS>", "s.ExclusiveSum(x, x, pair[0])"),
    "exchange": ("BlockExchange<float, 96, 2>", "s.StripedToBlocked(pair)"),
    "load": ("BlockLoad<float, 96, 2, cub::BLOCK_LOAD_TRANSPOSE>", "s.Load(given, pair)"),
    "store": ("BlockStore<float, 96, 2, cub::BLOCK_STORE_TRANSPOSE>", "s.Store(into, pair)"),
}


def kernel(name: str, kind: str, barrier: str) -> str:
    """A kernel of two uses."""
    primitive, use = USES[kind]
    return f"""
    OPWRIGHT("{name}(given: f32[192]) -> (into: f32[192]) launch over 96 threads 96")
    __global__ void {name}(const float *given, float *into) {{
      using Primitive = cub::{primitive};
      __shared__ typename Primitive::TempStorage storage;
      float x = given[threadIdx.x], pair[2] = {{x, given[96 + threadIdx.x]}};
      into[threadIdx.x] = into[96 + threadIdx.x] = 0;
      {{ Primitive s(storage); {use}; }}
      {barrier}
      x += 1 + threadIdx.x, pair[0] += 1, pair[1] -= 1;  /* the same values again would be no race */
      {{ Primitive s(storage); {use}; }}
      if (given[0] < 0) into[threadIdx.x] = x + pair[0] + pair[1];
    }}
    """


@pytest.mark.slow
def test_a_missing_barrier_is_found() -> None:
    head = "#include <opwright.h>\n#include <cub/cub.cuh>\n"
    right = "".join(kernel(f"{kind}_right", kind, "__syncthreads();") for kind in USES)
    wrong = "".join(kernel(f"{kind}_wrong", kind, "") for kind in USES)
    ops = opwright.load_inline("cub_storage_reused", cuda=head + right + wrong, backend=opwright.emulate(check=True))
    x = torch.ones(192)
    for kind in USES:
        getattr(ops, f"{kind}_right")(x)
        with pytest.raises(opwright.KernelError, match="race"):
            getattr(ops, f"{kind}_wrong")(x)
