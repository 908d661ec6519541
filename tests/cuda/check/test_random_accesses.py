"""Races of random accesses: the checker's verdict against all pairs of accesses, by CUDA's rules."""

from __future__ import annotations

import itertools
import random
from typing import NamedTuple

import pytest
import torch

import opwright

BLOCKS, THREADS, STEPS, WORDS = 3, 64, 6, 4
ACTIVE = (0, 1, 2, 33)  # threads of two warps
READ, WRITE, READ_BYTE, WRITE_BYTE, ATOMIC = range(1, 6)
WRITES = (WRITE, WRITE_BYTE, ATOMIC)
BARRIER, WARP_BARRIER = 1, 2

# A thread's access of each step and the barrier after it, both from tables.
SOURCE = """
#include <opwright.h>
__device__ int play(const int *accesses, const int *values, const int *barriers, int *data) {
  int sum = 0;
  unsigned char *bytes = (unsigned char *)data;
  for (int step = 0; step < 6; ++step) {
    const int at = (step * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x, access = accesses[at];
    const int kind = access & 7, where = access >> 3;
    if (kind == 1) sum += data[where];
    if (kind == 2) data[where] = values[at];
    if (kind == 3) sum += bytes[where];
    if (kind == 4) bytes[where] = values[at];
    if (kind == 5) atomicAdd(data + where, 1);
    if (barriers[step] == 1) __syncthreads();
    if (barriers[step] == 2) __syncwarp();
  }
  return sum;
}
__global__ void in_global(const int *accesses, const int *values, const int *barriers, int *data, int *sums) {
  sums[blockIdx.x * blockDim.x + threadIdx.x] = play(accesses, values, barriers, data);
}
__global__ void in_shared(const int *accesses, const int *values, const int *barriers, int *, int *sums) {
  __shared__ int data[4];
  if (threadIdx.x < 4) data[threadIdx.x] = 0;
  __syncthreads();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = play(accesses, values, barriers, data);
}
"""
LAUNCH = """
OPWRIGHT("%s_played(accesses: i32[S, B, T], values: i32[S, B, T], barriers: i32[S], data: i32[W]!)"
         " -> (sums: i32[B, T])")
void %s_played(Tensor<const int, 3> accesses, Tensor<const int, 3> values, Tensor<const int, 1> barriers,
               Tensor<int, 1> data, Tensor<int, 2> sums, cudaStream_t stream) {
  %s<<<accesses.size(1), accesses.size(2), 0, stream>>>(accesses.data(), values.data(), barriers.data(), data.data(),
                                                        sums.data());
}
"""
KERNELS = ("in_global", "in_shared")


class Access(NamedTuple):
    """One access of a thread. `where`: the word, or the byte of an access of one byte."""

    step: int
    block: int
    thread: int
    kind: int
    where: int

    @property
    def bytes(self) -> set[int]:
        """The bytes that it touches."""
        return {self.where} if self.kind in {READ_BYTE, WRITE_BYTE} else set(range(4 * self.where, 4 * self.where + 4))


def drawn(draw: random.Random) -> tuple[list[Access], list[int]]:
    """Draw a kernel's accesses and the barriers after its steps."""
    kinds = draw.choice(
        [
            (READ, WRITE),
            (READ, READ, READ, WRITE),
            (READ, WRITE, ATOMIC),
            (READ, READ_BYTE, WRITE_BYTE),
            (*[READ] * 12, WRITE),
        ]
    )
    most = 30 if kinds.count(READ) > 3 else 9  # words that many threads read, before one writes
    places = draw.sample(list(itertools.product(range(STEPS), range(BLOCKS), ACTIVE)), draw.randint(2, most))
    one_block = draw.random() < 0.5
    accesses = set()
    for step, block, thread in places:
        kind = draw.choice(kinds)
        words = WORDS if kind not in {READ_BYTE, WRITE_BYTE} else 4 * WORDS
        accesses.add(Access(step, 0 if one_block else block, thread, kind, draw.randrange(draw.choice([1, words]))))
    unique = {(each.step, each.block, each.thread): each for each in sorted(accesses)}
    return list(unique.values()), [draw.choice([0, 0, BARRIER, WARP_BARRIER]) for _ in range(STEPS)]


def ordered(one: Access, other: Access, barriers: list[int]) -> bool:
    """Whether CUDA orders the two, of which `one` stands in an earlier step or in the same."""
    between = barriers[one.step : other.step]
    if one.block != other.block:
        return False
    if one.thread == other.thread or BARRIER in between:
        return True
    return one.thread // 32 == other.thread // 32 and WARP_BARRIER in between


def races(accesses: list[Access], barriers: list[int], *, shared: bool) -> list[tuple[Access, Access]]:
    """Return the pairs that race."""
    found = []
    for one, other in itertools.combinations(sorted(accesses), 2):
        apart = (one.block, one.thread) != (other.block, other.thread) and not (shared and one.block != other.block)
        changes = any(each.kind in WRITES for each in (one, other))
        atomic = one.kind == other.kind == ATOMIC
        if apart and changes and not atomic and one.bytes & other.bytes and not ordered(one, other, barriers):
            found.append((one, other))
    return found


def hidden(pair: tuple[Access, Access], accesses: list[Access]) -> bool:
    """Whether another atomic operation may have taken the place of the pair's: the checker remembers the last one."""
    return any(
        each.kind == ATOMIC and each.where == one.where and each not in pair
        for one in pair
        if one.kind == ATOMIC
        for each in accesses
    )


def tables(accesses: list[Access]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the kernel's tables: each write has a value of its own, which differs in each of its bytes."""
    kinds, values = (torch.zeros(STEPS, BLOCKS, THREADS, dtype=torch.int32) for _ in range(2))
    for number, each in enumerate(accesses, 1):
        kinds[each.step, each.block, each.thread] = each.kind | each.where << 3
        values[each.step, each.block, each.thread] = number if each.kind == WRITE_BYTE else number * 0x01010101
    return kinds, values


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("random") / "played.cu"
    path.write_text(SOURCE + "".join(LAUNCH % (name, name, name) for name in KERNELS))
    return opwright.load(path, backend=opwright.emulate(check=True))


@pytest.mark.slow
@pytest.mark.parametrize("where", KERNELS)
def test_random_accesses(ops: opwright.Operators, where: str) -> None:
    draw = random.Random(0)
    operator = getattr(ops, f"{where}_played")
    data = torch.zeros(WORDS, dtype=torch.int32)  # of all kernels: an earlier one's accesses race with none
    raced = 0
    for _ in range(600):
        accesses, barriers = drawn(draw)
        pairs = races(accesses, barriers, shared=where == "in_shared")
        data.zero_()
        text = ""
        try:
            operator(*tables(accesses), torch.tensor(barriers, dtype=torch.int32), data)
        except opwright.KernelError as error:
            text = str(error)
            assert "data race" in text
        assert pairs or not text, (accesses, barriers, text)
        assert text or all(hidden(pair, accesses) for pair in pairs), (accesses, barriers)
        raced += bool(text)
    assert 100 < raced < 500
