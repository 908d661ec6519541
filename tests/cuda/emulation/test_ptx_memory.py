"""Inline PTX beyond single instructions: memory, barriers, carries, asynchronous copies."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import pytest

from .conftest import build_at

KERNELS = """
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void copies(const unsigned *x, unsigned *y, unsigned char *bytes, int *sum) {
  const int i = threadIdx.x;
  unsigned a, b, c, d;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4+16];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(x + 4 * i) : "memory");
  asm volatile("st.global.cs.v2.b32 [%0], {%1, %2};\\n\\tst.global.cg.u32 [%0 + 8], %3;"
               ::"l"(y + 4 * i), "r"(b), "r"(a), "r"(c));
  asm("ld.global.acquire.gpu.u32 %[out], [%[at]];" : [out] "+r"(d) : [at] "l"(x + i));
  asm("st.release.gpu.u32 [%0+12], %1;" ::"l"(y + 4 * i), "r"(d));
  int sign;
  asm("ld.global.s8 %0, [%1];" : "=r"(sign) : "l"(bytes + i));
  asm("st.global.u8 [%0], %1;" ::"l"(bytes + i), "r"(sign + 1));
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(sum), "r"(sign) : "memory");
  unsigned before;
  if (i == 0) asm volatile("atom.cas.release.gpu.b32 %0, [%1], 5, 9;" : "=r"(before) : "l"(sum + 1)); else before = 5;
  if (before != 5) sum[2] = 1;
}
EXPORT void memory(const unsigned *x, unsigned *y, unsigned char *bytes, int *sum) {
  copies<<<1, 32>>>(x, y, bytes, sum);
}
__global__ void turned(int *x) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  asm volatile("membar.gl; bar.sync 0;" ::: "memory");
  int found = s[63 - threadIdx.x], back, first;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(back) : "r"(found));
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, -1;" : "=r"(first) : "r"(found), "n"(1));
  if (back != (found ^ 1) || (threadIdx.x % 32 && first != found + 1)) found = -1;
  x[threadIdx.x] = found;
}
EXPORT void barrier(int *x) { turned<<<1, 64>>>(x); }

/* Big numbers, a statement for each instruction; the carry goes from one to the next. */
__device__ unsigned first(unsigned a, unsigned b) {
  unsigned r;
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ unsigned next(unsigned a, unsigned b) {
  unsigned r;
  asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__global__ void sums(const unsigned *a, const unsigned *b, unsigned *c, int words) {
  const int at = threadIdx.x * words;
  c[at] = first(a[at], b[at]);
  for (int i = 1; i < words; ++i) c[at + i] = next(a[at + i], b[at + i]);
}
EXPORT void big(const unsigned *a, const unsigned *b, unsigned *c, int words) { sums<<<1, 16>>>(a, b, c, words); }

__global__ void by_address(int *x) {
  __shared__ __align__(16) int s[64];
  const unsigned base = __cvta_generic_to_shared(s), mine = base + 4 * threadIdx.x;
  unsigned same;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(same) : "l"(s));
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(mine), "r"(x[threadIdx.x]) : "memory");
  __syncthreads();
  int old = 0, low, high;
  if (threadIdx.x < 8) asm volatile("atom.shared.add.s32 %0, [%1+252], 1;" : "=r"(old) : "r"(base) : "memory");
  __syncthreads();
  asm volatile("ld.shared.v2.s32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "r"(base + 8 * (threadIdx.x / 2)));
  const bool right = same == base && __cvta_shared_to_generic(mine) == s + threadIdx.x && old <= x[63] + 7;
  __syncthreads();
  x[threadIdx.x] = right ? 1000 * high + low : -1;
}
EXPORT void shared(int *x) { by_address<<<1, 64>>>(x); }

/* Two stages: the next tile is under way while one is added. `bytes` of the last tile's vectors are there. */
__global__ void tiles(const int *x, int *y, int count, int bytes) {
  __shared__ __align__(16) int s[2][128];
  const int i = threadIdx.x;
  const auto bring = [&](int tile) {
    const unsigned to = __cvta_generic_to_shared(&s[tile % 2][4 * i]);
    if (tile + 1 < count)
      asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(x + 128 * tile + 4 * i));
    else if (tile < count)
      asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(x + 128 * tile + 4 * i), "r"(bytes));
    asm volatile("cp.async.commit_group;");
  };
  bring(0);
  int sum = 0;
  for (int tile = 0; tile < count; ++tile) {
    bring(tile + 1);
    asm volatile("cp.async.wait_group %0;" ::"n"(1));
    __syncthreads();
    for (int j = 0; j < 4; ++j) sum += s[tile % 2][4 * (31 - i) + j];
    __syncthreads();
  }
  y[i] = sum;
}
EXPORT void pipeline(const int *x, int *y, int count, int bytes) { tiles<<<1, 32>>>(x, y, count, bytes); }

__global__ void early(const int *x, int *y) {
  __shared__ int s[32];
  s[threadIdx.x] = 5;
  const unsigned to = __cvta_generic_to_shared(s + threadIdx.x);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(x + threadIdx.x));
  y[threadIdx.x] = s[threadIdx.x];
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[threadIdx.x + 32] = s[threadIdx.x];
}
EXPORT void awaited(const int *x, int *y) { early<<<1, 32>>>(x, y); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build_at(tmp_path_factory.mktemp("ptx_memory") / "ptx_memory.cu", KERNELS)


def test_memory(library: ctypes.CDLL) -> None:
    x = (ctypes.c_uint32 * 144)(*range(100, 244))
    y, total = (ctypes.c_uint32 * 128)(), (ctypes.c_int32 * 3)(1000, 5, 0)
    data = (ctypes.c_uint8 * 32)(*range(112, 144))
    library.memory(x, y, data, total)
    expected = []
    for i in range(32):
        a = 100 + 4 * i + 4
        expected += [a + 1, a, a + 2, 100 + i]
    assert list(y) == expected
    assert list(data) == list(range(113, 145))
    assert list(total) == [1000 + sum(b - 256 * (b > 127) for b in range(112, 144)), 9, 0]


def test_a_carry_goes_from_statement_to_statement(library: ctypes.CDLL) -> None:
    draw, words = random.Random(1), 9
    a, b = ([draw.choice([0, 2**32 - 1, draw.getrandbits(32)]) for _ in range(16 * words)] for _ in "ab")
    c = (ctypes.c_uint32 * (16 * words))()
    library.big((ctypes.c_uint32 * len(a))(*a), (ctypes.c_uint32 * len(b))(*b), c, words)

    def number(of: Any, which: int) -> int:
        return sum(word << 32 * i for i, word in enumerate(of[which * words : (which + 1) * words]))

    for i in range(16):
        assert number(c, i) == (number(a, i) + number(b, i)) % 2 ** (32 * words)


def test_addresses_of_shared_memory(library: ctypes.CDLL) -> None:
    x = (ctypes.c_int32 * 64)(*range(64))
    library.shared(x)
    held = [*range(63), 63 + 8]
    assert list(x) == [1000 * held[i // 2 * 2 + 1] + held[i // 2 * 2] for i in range(64)]


@pytest.mark.parametrize("count", range(1, 5))
@pytest.mark.parametrize("there", [0, 1, 3, 4])
def test_asynchronous_copies(library: ctypes.CDLL, count: int, there: int) -> None:
    x, y = list(range(7, 7 + 128 * count)), (ctypes.c_int32 * 32)()
    library.pipeline((ctypes.c_int32 * len(x))(*x), y, count, 4 * there)
    known = [v if i < 128 * (count - 1) or i % 4 < there else 0 for i, v in enumerate(x)]
    expected = [sum(sum(known[128 * tile + 4 * (31 - i) :][:4]) for tile in range(count)) for i in range(32)]
    assert list(y) == expected


def test_a_copy_isnt_there_before_the_wait(library: ctypes.CDLL) -> None:
    y = (ctypes.c_int32 * 64)()
    library.awaited((ctypes.c_int32 * 32)(*range(32)), y)
    assert list(y) == [-1] * 32 + list(range(32))


def test_a_barrier(library: ctypes.CDLL) -> None:
    x = (ctypes.c_int32 * 64)(*range(64))
    library.barrier(x)
    assert list(x) == list(range(63, -1, -1))
