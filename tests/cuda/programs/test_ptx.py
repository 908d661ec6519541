"""Inline PTX under the checker: loads and stores are accesses, at the line of the asm statement."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Command

Files = Callable[..., None]

PROGRAM = """
__device__ void add(int *x, int by) { asm volatile("red.global.add.s32 [%0], %1;" ::"l"(x), "r"(by) : "memory"); }
__global__ void right(int *x) {
  __shared__ int s[64];
  const int i = threadIdx.x;
  asm volatile("st.u32 [%0], %1;" ::"l"(s + i), "r"(i) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  int other;
  asm volatile("ld.u32 %0, [%1];" : "=r"(other) : "l"(s + 63 - i) : "memory");
  add(x, other);
}
__device__ void bring(int *to, const int *from) {
  const unsigned at = __cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" ::"r"(at), "l"(from));  // COPY
}
template <int fault>
__global__ void copies(int *x) {
  __shared__ int s[32];
  const int i = threadIdx.x;
  s[i] = 0;
  if (fault != 1) __syncthreads();
  const int before = s[31 - i];
  if (fault != 2) __syncthreads();
  bring(s + i, x + i);
  if (fault != 3) asm volatile("cp.async.wait_group 0;" ::: "memory");
  if (fault != 4) __syncthreads();
  x[i] = before + s[31 - i];  // HERE
}
__global__ void whole(int *x) {
  __shared__ int s[32];
  unsigned long long at = (unsigned long long)(s + threadIdx.x);
  asm volatile("st.shared.u32 [%0], %1;" ::"l"(at), "r"(1) : "memory");
}
__global__ void skewed(int *x) {
  __shared__ int s[33];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(s + 1)), "l"(x));
}
__global__ void races(int *x) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(x), "r"(threadIdx.x) : "memory");  // a race
}
__global__ void leaves(int *x) {
  int value;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(x + 64 + threadIdx.x));  // out of bounds
  if (value == 12345) x[0] = 1;
}
__global__ void askew(int *x) {
  asm volatile("st.v2.u32 [%0], {%1, %1};" ::"l"(x + 1), "r"(7) : "memory");  // misaligned
}
int main(int argc, char **argv) {
  int *x, sum;
  cudaMalloc(&x, 64 * sizeof(int));
  cudaMemset(x, 0, 64 * sizeof(int));
  if (argc == 1) right<<<1, 64>>>(x);
  else if (argv[1][0] == 'e') races<<<1, 64>>>(x);
  else if (argv[1][0] == 'd') askew<<<1, 1>>>(x);
  else if (argv[1][0] == '0') copies<0><<<1, 32>>>(x);
  else if (argv[1][0] == '2') copies<2><<<1, 32>>>(x);
  else if (argv[1][0] == '3') copies<3><<<1, 32>>>(x);
  else if (argv[1][0] == '4') copies<4><<<1, 32>>>(x);
  else if (argv[1][0] == '5') whole<<<1, 32>>>(x);
  else if (argv[1][0] == '6') skewed<<<1, 1>>>(x);
  else leaves<<<1, 32>>>(x);
  cudaMemcpy(&sum, x, sizeof sum, cudaMemcpyDeviceToHost);
  printf("%d\\n", sum);
}
"""


@pytest.mark.slow
def test_accesses_are_checked(files: Files, command: Command) -> None:
    files(**{"ptx.cu": PROGRAM})
    assert command("emulate", "--check", "ptx.cu") == (0, f"{sum(range(64))}\n", "")
    faults = {"a race": "data race in global memory", "out of bounds": "out of bounds read", "misaligned": "misaligned"}
    for which, report in faults.items():
        line = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if f"// {which}" in text)
        status, _, err = command("emulate", "--check", "ptx.cu", "--", which[-1])
        assert status == 70
        assert f"ptx.cu:{line}: {report}" in err


@pytest.mark.slow
def test_what_asynchronous_copies_need(files: Files, command: Command) -> None:
    files(**{"ptx.cu": PROGRAM})
    assert command("emulate", "--check", "ptx.cu", "--", "0") == (0, "0\n", "")
    copy, read, here = (
        next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if mark in text)
        for mark in ("// COPY", "int before", "// HERE")
    )
    awaited = "read of what an asynchronous copy brings, before it is there"
    found = {
        "2": (read, "data race in shared memory", f"ptx.cu:{copy}"),  # others still read what the copy replaces
        "3": (here, awaited, f"ptx.cu:{copy} writes, and its thread hasn't waited for it"),
        "4": (copy, "data race in shared memory", f"ptx.cu:{here}"),  # no barrier behind the wait
    }
    for which, (line, report, other) in found.items():
        status, _, err = command("emulate", "--check", "ptx.cu", "--", which)
        assert status == 70
        assert f"ptx.cu:{line}: {report}" in err
        assert other in err


@pytest.mark.slow
@pytest.mark.parametrize("check", [False, True])
def test_addresses_that_are_wrong(files: Files, command: Command, check: bool) -> None:
    files(**{"ptx.cu": PROGRAM})
    options = ["--check"] * check
    status, _, err = command("emulate", *options, "ptx.cu", "--", "5")
    assert status == 70
    assert "which is none of shared memory\n  likely fix: __cvta_generic_to_shared(pointer)" in err
    status, _, err = command("emulate", *options, "ptx.cu", "--", "6")
    assert status == 70
    assert "cp.async of 8 bytes needs addresses that are multiples of 8" in err


@pytest.mark.slow
def test_as_many_multiprocessors_as_the_device_has(files: Files, command: Command) -> None:
    program = """
__global__ void ask(unsigned *x) { asm("mov.u32 %0, %%nsmid;" : "=r"(*x)); }
int main() {
  unsigned *x, found;
  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0), cudaMalloc(&x, sizeof found);
  ask<<<1, 1>>>(x);
  cudaMemcpy(&found, x, sizeof found, cudaMemcpyDeviceToHost);
  printf("%d\\n", int(found) - device.multiProcessorCount);
}
"""
    files(**{"asks.cu": program})
    assert command("emulate", "asks.cu") == (0, "0\n", "")
