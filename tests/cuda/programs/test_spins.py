"""A launch that never ends: after the time limit it says where it is. One that another thread ends is let end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cuda.programs.conftest import Command

SPINS = """
#include <utility>
__global__ void on_volatile(volatile int *flag, int *got) {
  while (*flag == 0) {  // 0
  }
  *got = 1;
}
__global__ void on_a_lock(int *lock, int *got) {
  while (atomicCAS(lock, 0, 1) != 0) {  // 1
  }
  *got = 1;
}
__global__ void on_plain_memory(int *flag, int *got) {
  while (*flag == 0) {
    ++*got;  // 2
  }
}
__global__ void on_nothing(int *got) {
  for (unsigned i = 1; i != 0; i += 2) {  // 3
    if (i == 0) *got = 1;
  }
}
__global__ void asleep(volatile int *flag, int *got) {
  while (*flag == 0) __nanosleep(100);  // 4
  *got = 1;
}
__global__ void at_a_barrier(int *flag, int *got) {
  do __syncthreads();  // 5
  while (*flag == 0);
  *got = 1;
}
__global__ void in_a_warp(int *flag, int *got) {
  while (!__any_sync(~0u, *flag)) {  // 6
  }
  *got = 1;
}
__global__ void on_shared(int *got) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  while (flag == 0) {  // 7
  }
  *got = 1;
}
__global__ void by_another(volatile int *flag, int *got) {
  if (threadIdx.x == 0) {
    while (flag[0] == 0 && flag[2] == 0) {
    }
    *got = 7;
  } else if (threadIdx.x == 40) {
    flag[2] = 1;
  }
}
__device__ int seen(int *flag) { return atomicAdd(flag, 0); }
template <int way> __device__ bool is_set(int *flag) {
  if (way == 0) return atomicAdd(flag, 0) != 0;
  if (way == 1) return atomicOr(flag, 0) != 0;
  if (way == 2) return atomicCAS(flag, 0, 0) != 0;
  if (way == 3) return atomicMax(flag, 0) != 0;
  if (way == 4) return atomicAnd(flag, ~0) != 0;
  return seen(flag) != 0;
}
template <int way> __global__ void by_atomics(int *flag, int *got) {
  if (threadIdx.x == 0) {
    while (!is_set<way>(flag)) {
    }
    atomicAdd(got, 1);
  } else if (threadIdx.x == 40) {
    atomicExch(flag, 1);
  }
}
__global__ void without_a_function(int *flag, int *got) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
    atomicAdd(got, 1);
  } else if (threadIdx.x == 40) {
    atomicAdd(flag, 1);
  }
}
template <int... ways> void by_each(int *memory, std::integer_sequence<int, ways...>) {
  ((by_atomics<ways><<<1, 64>>>(memory, memory + 1), cudaMemset(memory, 0, 4)), ...);
}
int main(int argc, char **argv) {
  int *memory, got;
  cudaMalloc(&memory, 12);
  cudaMemset(memory, 0, 12);
  switch (atoi(argv[1])) {
    case 0: on_volatile<<<1, 64>>>(memory, memory + 1); break;
    case 1: on_a_lock<<<1, 64>>>(memory, memory + 1); break;
    case 2: on_plain_memory<<<1, 1>>>(memory, memory + 1); break;
    case 3: on_nothing<<<1, 64>>>(memory + 1); break;
    case 4: asleep<<<1, 64>>>(memory, memory + 1); break;
    case 5: at_a_barrier<<<1, 64>>>(memory, memory + 1); break;
    case 6: in_a_warp<<<1, 64>>>(memory, memory + 1); break;
    case 7: on_shared<<<1, 64>>>(memory + 1); break;
    case 9:
      by_each(memory, std::make_integer_sequence<int, 6>());
      without_a_function<<<1, 64>>>(memory, memory + 1);
      break;
    case 8: by_another<<<1, 64>>>(memory, memory + 1); break;
  }
  cudaMemcpy(&got, memory + 1, 4, cudaMemcpyDeviceToHost);
  printf("%d\\n", got);
  return 0;
}
"""
LATE = "the launch has taken longer than OPWRIGHT_EMULATION_TIMEOUT allows, 1 seconds"


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("which", range(8))
def test_where_a_checked_one_is(
    files: Callable[..., None], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", "1")
    files(**{"spins.cu": SPINS})
    line = next(i for i, text in enumerate(SPINS.splitlines(), 1) if text.endswith(f"// {which}"))
    status, _, err = command("emulate", "--check", "spins.cu", "--", str(which))
    assert status == 70
    assert LATE in err
    assert (found := re.search(rf"\n  it is at {re.escape(str(tmp_path))}/spins.cu:(\d+)\n", err)), err
    assert int(found[1]) in range(line, line + 1 + (which == 5)), err  # or at the loop's condition


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 1])
def test_where_an_unchecked_one_is(
    files: Callable[..., None], command: Command, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    monkeypatch.setenv("OPWRIGHT_EMULATION_TIMEOUT", "1")
    files(**{"spins.cu": SPINS})
    told, atomic = f"{LATE}\n  likely fix: a thread waits", "spins.cu:9\n"
    for _ in range(6):  # the line is known while the thread is in the atomic function
        status, _, err = command("emulate", "spins.cu", "--", str(which))
        assert status == 70
        if atomic in err:
            break
        assert told in err
        assert "a cooperative launch; --check says where\n" in err
    assert (atomic in err) == (which == 1)


def test_a_thread_waits_for_another_one(files: Callable[..., None], command: Command) -> None:
    files(**{"spins.cu": SPINS})
    assert command("emulate", "--check", "spins.cu", "--", "8") == (0, "7\n", "")


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_thread_waits_by_an_atomic_function(
    files: Callable[..., None], command: Command, options: tuple[str, ...]
) -> None:
    """That changes nothing; also in a kernel whose threads could run one after the other but for that."""
    files(**{"spins.cu": SPINS})
    assert command("emulate", *options, "spins.cu", "--", "9") == (0, "7\n", "")
