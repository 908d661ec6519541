"""Two uses of one TempStorage need a barrier between them: found without, silent with it."""

from __future__ import annotations

import re

import pytest
import torch

import opwright
from opwright.cuda import emulation

BLOCK, WARP, PART = "__syncthreads();", "__syncwarp();", "__syncwarp(255u << (threadIdx.x & 24));"
USES = {
    "reduce": ("BlockReduce<float, 96>", "x = s.Sum(x)", BLOCK),
    "raking": ("BlockReduce<float, 96, cub::BLOCK_REDUCE_RAKING>", "x = s.Sum(x)", BLOCK),
    "scan": ("BlockScan<float, 96>", "s.ExclusiveSum(x, x, pair[0])", BLOCK),
    "scan_by_warps": ("BlockScan<float, 96, cub::BLOCK_SCAN_WARP_SCANS>", "s.ExclusiveSum(x, x, pair[0])", BLOCK),
    "scan_after": ("BlockScan<float, 96>", "s.ExclusiveSum(x, x, before)", BLOCK),
    "exchange": ("BlockExchange<float, 96, 2>", "s.StripedToBlocked(pair)", BLOCK),
    "sort": ("BlockRadixSort<float, 96, 2>", "s.Sort(pair)", BLOCK),
    "sort_pairs": ("BlockRadixSort<float, 96, 2, float>", "s.SortDescending(pair, pair)", BLOCK),
    "load": ("BlockLoad<float, 96, 2, cub::BLOCK_LOAD_TRANSPOSE>", "s.Load(given, pair)", BLOCK),
    "load_in_warps": ("BlockLoad<float, 96, 2, cub::BLOCK_LOAD_WARP_TRANSPOSE>", "s.Load(given, pair, 90)", BLOCK),
    "store": ("BlockStore<float, 96, 2, cub::BLOCK_STORE_TRANSPOSE>", "s.Store(into, pair)", BLOCK),
    "store_in_warps": ("BlockStore<float, 96, 2, cub::BLOCK_STORE_WARP_TRANSPOSE>", "s.Store(into, pair)", BLOCK),
    "warp_reduce": ("WarpReduce<float>", "x = s.Sum(x)", WARP),
    "part_reduce": ("WarpReduce<float, 8>", "x = s.Reduce(x, cub::Max(), 5)", PART),
    "warp_scan": ("WarpScan<float>", "s.InclusiveSum(x, x, pair[0])", WARP),
    "warp_scan_before": ("WarpScan<float>", "s.ExclusiveSum(x, x)", WARP),
    "warp_total": ("WarpScan<float>", "s.ExclusiveSum(x, x, pair[0])", WARP),
    "part_scan": ("WarpScan<float, 16>", "s.InclusiveScan(x, x, cub::Max())", WARP),
    "broadcast": ("WarpScan<float>", "x = s.Broadcast(x, 3)", WARP),
}  # fmt: skip
HEAD = """#include <opwright.h>
#include <cub/cub.cuh>
struct Before { __device__ float operator()(float all) const { return all; } };
using Reduce = cub::BlockReduce<float, 96>;
using Sort = cub::BlockRadixSort<float, 96, 2>;
using Warp = cub::WarpReduce<float>;
#define REDUCE(storage) x = Reduce(storage).Sum(x)
#define SUM(storage) x = Warp(storage).Sum(x)
"""
SHARED = """__shared__ typename Reduce::TempStorage other;
      __shared__ union { Reduce::TempStorage reduce; Sort::TempStorage sort; Warp::TempStorage warps[3]; } one;
      const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
      """


def kernel(name: str, body: str, threads: int = 96) -> str:
    """A kernel of 96 threads for 192 numbers, that has `x` and a `pair` of them."""
    return f"""
    OPWRIGHT("{name}(given: f32[192]) -> (into: f32[192]) launch over {threads} threads {threads}")
    __global__ void {name}(const float *given, float *into) {{
      float x = given[threadIdx.x], pair[2] = {{x, given[96 + threadIdx.x]}};
      Before before;
      for (int i = threadIdx.x; i < 192; i += blockDim.x) into[i] = 0;
      __syncthreads();
      {body}
      if (given[0] < 0) into[threadIdx.x] = x + pair[0] + pair[1] + before(0);
    }}
    """


def twice(kind: str, barrier: str) -> str:
    """Two uses; one storage for each warp, or part of one, where warps use them."""
    primitive, use, _ = USES[kind]
    group = re.search(r"Warp\w+<float(?:, (\d+))?>", primitive)
    many, at = ("[12]", f"[threadIdx.x / {group[1] or 32}]") if group else ("", "")
    return f"""using Primitive = cub::{primitive};
      __shared__ typename Primitive::TempStorage storage{many};
      {{ Primitive s(storage{at}); {use}; }} /* first */
      {barrier}
      {{ Primitive s(storage{at}); {use}; }} /* second */"""


def line_of(source: str, name: str, mark: str) -> int:
    """Where a kernel has the mark, counted from 1."""
    return source[: source.index(mark, source.index(f"void {name}("))].count("\n") + 1


@pytest.mark.slow
def test_a_missing_barrier_is_found() -> None:
    right = "".join(kernel(f"{kind}_right", twice(kind, USES[kind][2])) for kind in USES)
    source = HEAD + right + "".join(kernel(f"{kind}_wrong", twice(kind, "")) for kind in USES)
    ops = opwright.load_inline("cub_storage_reused", cuda=source, backend=opwright.emulate(check=True))
    x = torch.ones(192)  # the values don't matter: the same ones again
    for kind, (_, _, barrier) in USES.items():
        for order in "forward", "reverse":
            with emulation.order(order):
                getattr(ops, f"{kind}_right")(x)
                with pytest.raises(opwright.KernelError, match="two uses of one TempStorage without") as caught:
                    getattr(ops, f"{kind}_wrong")(x)
        text = str(caught.value)
        lines = [line_of(source, f"{kind}_wrong", f"/* {mark} */") for mark in ("second", "first")]
        assert [int(each) for each in re.findall(r"\.cu:(\d+)", text)][:2] == lines, text
        fix = "__syncthreads()" if barrier == BLOCK else "__syncwarp()"
        assert f"put a {fix} between the two, or give each a TempStorage of its own" in text, text
        assert re.search(r"uses byte \d+ of .*, which it used at .* without meeting thread \(", text, re.DOTALL), text


FAULTS = {
    "of_a_union": "REDUCE(one.reduce); Sort(one.sort).Sort(pair);",
    "warp_then_block": "SUM(one.warps[warp]); __syncwarp(); REDUCE(one.reduce);",
    "block_then_warp": "REDUCE(one.reduce); __syncwarp(); SUM(one.warps[warp]);",
    "of_all_warps": "SUM(one.warps[0]);",
    "one_warp_after_another": "for (int i = 0; i < 3; ++i) { if (i == warp) SUM(one.warps[0]); }",
    "in_a_loop": "__syncthreads(); for (int i = 0; i < 3; ++i) REDUCE(one.reduce);",
    "cubs_own": "x = Reduce().Sum(x); x = Reduce().Sum(x);",
    "half_a_warp_meets": "SUM(one.warps[warp]); __syncwarp(lane < 16 ? 65535 : ~65535u); SUM(one.warps[warp]);",
    "a_warp_of_a_block": "REDUCE(one.reduce); __syncwarp(); REDUCE(one.reduce);",
}
RIGHT = {
    "of_a_union": "REDUCE(one.reduce); __syncthreads(); Sort(one.sort).Sort(pair);",
    "warps_and_block": """SUM(one.warps[warp]); __syncthreads(); REDUCE(one.reduce); __syncthreads();
      SUM(one.warps[warp]); __syncwarp(); SUM(one.warps[warp]);""",
    "one_warp_after_another": "for (int i = 0; i < 3; ++i) { if (i == warp) SUM(one.warps[0]); __syncthreads(); }",
    "in_a_loop": "for (int i = 0; i < 3; ++i) { __syncthreads(); REDUCE(one.reduce); }",
    "loop_of_two": "for (int i = 0; i < 4; ++i) { REDUCE(i % 2 ? other : one.reduce); if (i % 2) __syncthreads(); }",
    "two": "REDUCE(one.reduce); REDUCE(other);",
    "two_of_cubs_own": "x = Reduce().Sum(x); Sort().Sort(pair);",
    "a_block_of_one_warp": """using Scan = cub::BlockScan<float, 32>; __shared__ typename Scan::TempStorage storage;
      Scan(storage).InclusiveSum(x, x); __syncwarp(); Scan(storage).InclusiveSum(x, x);""",
    "a_block_of_few": """using Scan = cub::BlockScan<float, 20>; __shared__ typename Scan::TempStorage storage;
      Scan(storage).InclusiveSum(x, x); __syncthreads(); Scan(storage).InclusiveSum(x, x);""",
    "voted": "REDUCE(one.reduce); if (__syncthreads_or(x > 1)) REDUCE(one.reduce);",
    "direct": """using Load = cub::BlockLoad<float, 96, 2>; __shared__ typename Load::TempStorage storage;
      Load(storage).Load(given, pair); Load(storage).Load(given, pair);""",
    "by_a_flag": """__shared__ int done;
      if (threadIdx.x == 0) atomicExch(&done, 0);
      __syncthreads();
      if (warp == 0) {
        SUM(one.warps[0]);
        __syncwarp();
        __threadfence_block();
        if (lane == 0) atomicExch(&done, 1);
      } else if (warp == 1) {
        while (!atomicAdd(&done, 0)) __nanosleep(10);
        __threadfence_block();
        __syncwarp();
        SUM(one.warps[0]);
      }""",
    "known": """REDUCE(one.reduce);
      REDUCE(one.reduce);  // opwright: benign race, for a test
      """,
    "known_before": """SUM(one.warps[warp]);  // opwright: benign race, for a test
      SUM(one.warps[warp]);""",
}
THREADS = {"a_block_of_one_warp": 32, "a_block_of_few": 20}


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_storage_that_several_share(order: str) -> None:
    wrong = "".join(kernel(f"{name}_wrong", SHARED + body) for name, body in FAULTS.items())
    right = "".join(kernel(f"{name}_right", SHARED + body, THREADS.get(name, 96)) for name, body in RIGHT.items())
    ops = opwright.load_inline("cub_storage_shared", cuda=HEAD + wrong + right, backend=opwright.emulate(check=True))
    x = torch.ones(192)
    with emulation.order(order):
        for name in RIGHT:
            getattr(ops, f"{name}_right")(x)
        for name in FAULTS:
            with pytest.raises(opwright.KernelError) as caught:
                assert getattr(ops, f"{name}_wrong")(x) is None, name
            assert "two uses of one TempStorage without" in str(caught.value), name
            if name in ("of_all_warps", "one_warp_after_another"):
                assert re.search(r"; thread \(\d+, 0, 0\) of the same block used it at", str(caught.value))
                assert "give each warp a TempStorage of its own" in str(caught.value)
