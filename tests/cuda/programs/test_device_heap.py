"""The heap of the device: what kernels allocate by malloc and new, with and without the checker."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cuda.emulation.identifiers import LIBRARY_CALLS, ours
from opwright.toolchain.binary.elf import symbols
from tests.cuda.programs.conftest import Command

RIGHT = r"""
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  float side;
  __device__ Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct alignas(64) Wide {
  float value[16];
};
struct Node {
  int value;
  Node *next;
};

__global__ void make(Shape **all, int n) {
  const int i = threadIdx.x;
  if (i < n) all[i] = new Square(i);
}
__global__ void use(Shape **all, float *sum, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) total += all[i]->area();
  *sum = total;
}
__global__ void drop(Shape **all, int n) {  /* by another thread of another kernel */
  const int i = n - 1 - threadIdx.x;
  if (i >= 0) delete all[i];
}
__global__ void list(int *out) {
  Node *head = nullptr;
  for (int i = 0; i < 10; ++i) head = new (std::nothrow) Node{i, head};
  int sum = 0;
  for (Node *at = head; at;) {
    Node *next = at->next;
    sum += at->value;
    delete at;
    at = next;
  }
  out[threadIdx.x] = sum;
}
__global__ void shared(int *out) {
  __shared__ int *block;
  if (threadIdx.x == 0) block = (int *)malloc(32 * sizeof(int));
  __syncthreads();
  block[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = block[31 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 5) free(block);
}
__global__ void last_frees(int *out) {
  __shared__ int *block;
  if (threadIdx.x == 0) {
    block = new int[33];
    block[32] = 32;
  }
  __syncthreads();
  int *mine = block;
  mine[threadIdx.x] = 1;
  __threadfence();
  if (atomicSub(&mine[32], 1) == 1) {
    __threadfence();
    int sum = 0;
    for (int i = 0; i < 32; ++i) sum += mine[i];
    out[0] = sum;
    delete[] mine;
  }
}
__global__ void others(unsigned long long *out) {
  Wide *wide = new Wide;
  out[0] = (unsigned long long)wide % 64;
  delete wide;
  char *zeros = (char *)malloc(100);
  memset(zeros, 0, 100);
  out[1] = zeros[77];
  free(zeros);
  out[2] = (unsigned long long)malloc(8) % 16;
  int *none = nullptr;
  delete none;
  free(none);
  int *empty = new int[0];
  out[3] = empty == nullptr;
  delete[] empty;
}
__global__ void too_much(int *out) {
  out[0] = malloc(9 << 20) == nullptr;
  char *large = new char[9 << 20];
  out[1] = large == nullptr;
  for (int i = 0; i < 100; ++i) free(malloc(1 << 20)); /* what is freed is there again */
  void *half = malloc(5 << 20);
  out[2] = half != nullptr && malloc(5 << 20) == nullptr;
  free(half);
}

template <class T> void print(const T *of, int n) {
  std::unique_ptr<T[]> host(new T[n]);
  cudaMemcpy(host.get(), of, n * sizeof(T), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) printf("%g ", double(host[i]));
}
int main() {
  std::vector<std::string> words;
  for (int i = 0; i < 100; ++i) words.push_back(std::string(100, 'x'));
  void *raw = malloc(10);
  raw = realloc(raw, 1000);
  free(raw);
  free(strdup("text"));
  Shape **shapes;
  float *sum;
  int *out;
  unsigned long long *longs;
  cudaMalloc(&shapes, 8 * sizeof *shapes);
  cudaMalloc(&sum, sizeof *sum);
  cudaMalloc(&out, 32 * sizeof *out);
  cudaMalloc(&longs, 4 * sizeof *longs);
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  printf("%zu ", limit >> 20);
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * limit);
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  printf("%zu ", limit >> 20);
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, limit / 2);
  make<<<1, 32>>>(shapes, 5);
  use<<<1, 1>>>(shapes, sum, 5);
  drop<<<1, 32>>>(shapes, 5);
  print(sum, 1);
  list<<<1, 4>>>(out);
  print(out, 2);
  shared<<<1, 32>>>(out);
  print(out, 2);
  last_frees<<<1, 32>>>(out);
  print(out, 1);
  others<<<1, 1>>>(longs);
  print(longs, 4);
  too_much<<<1, 1>>>(out);
  print(out, 3);
  printf("%d\n", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20) == cudaErrorInvalidValue);
}
"""
FAULTS = r"""
#include <cstdio>
#include <cstdlib>
__global__ void unwritten(int **all, int *out) {
  int *p = (int *)malloc(16); all[0] = p;
  out[0] = p[2];  // unwritten
}
__global__ void past(int **all, int *out) {
  int *p = new int[4]; all[0] = p;
  p[4] = 1;  // past
}
__global__ void before(int **all, int *out) {
  int *p = new int[4](); all[0] = p;
  out[0] = p[-1];  // before
}
__global__ void after(int **all, int *out) {
  int *p = new int[4](); all[0] = p;
  delete[] p;
  out[0] = p[1];  // after
}
__global__ void twice(int **all, int *out) {
  int *p = new int; all[0] = p;
  for (int i = 0; i < 2; ++i) delete p;  // twice
}
__global__ void inside(int **all, int *out) {
  int *p = (int *)malloc(16); all[0] = p;
  free(p + 1);  // inside
}
__global__ void not_ours(int **, int *out) { free(out); }  // not_ours
__global__ void race(int **all, int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(16);
  __syncthreads();
  p[0] = threadIdx.x;  // race
}
__global__ void raced_free(int **all, int *out) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = new int(3);
  __syncthreads();
  out[threadIdx.x] = *p;
  if (threadIdx.x == 1) delete p;  // raced_free
}
__global__ void keep(int **all, int *out) { all[0] = new int[4](); }
__global__ void host(int **all, int *out) { all[0] = out; }
__global__ void of_host(int **all, int *out) { free(all); }  // of_host
int main(int, char **arguments) {
  const int which = atoi(arguments[1]);
  void (*kernels[])(int **, int *) = {unwritten, past, before, after, twice, inside, not_ours, race, raced_free};
  int **all, *out, *p;
  cudaMallocManaged(&all, sizeof *all);
  cudaMalloc(&out, 128);
  if (which < 9) {
    kernels[which]<<<1, 2>>>(all, out);
  } else if (which == 9) {
    of_host<<<1, 1>>>((int **)malloc(8), out);
  } else {
    keep<<<1, 1>>>(all, out);
    cudaDeviceSynchronize();
    p = all[0];
    if (which == 10) printf("%d\n", cudaFree(p));
    if (which == 11) printf("%d\n", cudaMemcpy(&out, p, 4, cudaMemcpyDeviceToHost));
    if (which == 12) free(p);  // freed_by_host
    if (which == 13) printf("%d\n", *p);  // read_by_host
  }
  cudaDeviceSynchronize();
  printf("done\n");
}
"""
NEW = "the memory of new in a kernel at .*faults.cu:"
MALLOC = "the memory of malloc in a kernel at .*faults.cu:"
# Of each: the line's mark, what the report says with the checker, and without; None: nothing.
WRONG = [
    ("unwritten", f"read of memory that nobody has written.*byte 8 of {MALLOC}5,", None),
    ("past", rf"out of bounds write.*4 bytes at byte 16 of {NEW}9, which has 16 bytes", None),
    ("before", rf"out of bounds read.*4 bytes, 4 bytes before {NEW}13, which", None),
    ("after", rf"read of freed memory.*byte 4 of {NEW}17, which has 16 bytes and was freed at .*:18\n", None),
    ("twice", "memory is freed twice.*4 bytes of new that was freed before at .*:23\n", "memory is freed twice"),
    ("inside", "free of a pointer that malloc hasn't returned.*byte 4 of 16 bytes of malloc at .*:26", "byte 4 of 16"),
    ("not_ours", "free of memory that no kernel.*memory of cudaMalloc at .*faults.cu:", "memory of cudaMalloc at"),
    ("race", f"data race in global memory.*byte 0 of {MALLOC}32; thread", None),
    ("raced_free", f"data race in global memory.*frees 4 bytes, byte 0 of {NEW}38; thread .* read it", None),
    ("of_host", "free of memory that no kernel has allocated.*the host's memory", "skip"),
]


@pytest.mark.parametrize(
    "check", [(), pytest.param(("--check",), marks=pytest.mark.slow)], ids=["unchecked", "checked"]
)
def test_kernels_allocate(command: Command, files: Callable[..., None], check: tuple[str, ...]) -> None:
    files(**{"right.cu": RIGHT})
    ended = command("emulate", *check, "right.cu")
    assert (ended.status, ended.out) == (0, "8 16 30 45 45 31 30 32 0 0 0 0 1 1 1 1\n")
    assert ended.err.count("\n") == bool(check)
    assert ("a kernel has called malloc or new: set the heap's size before" in ended.err) == bool(check)


@pytest.mark.parametrize("check", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["unchecked", "checked"])
def test_what_is_wrong_with_it_is_named(
    command: Command, files: Callable[..., None], tmp_path: Path, check: bool
) -> None:
    files(**{"faults.cu": FAULTS})
    flags = ("--check",) * check
    assert command("nvcc", *flags, "faults.cu", "-o", "faults").status == 0
    for which, (mark, checked, unchecked) in enumerate(WRONG):
        says = checked if check else unchecked
        if says == "skip":
            continue
        ended = command(str(which), program=(str(tmp_path / "faults"),))
        if says is None:
            assert (ended.status, ended.out) == (0, "done\n"), mark
            continue
        assert ended.status == 70, mark
        assert re.search(says, ended.err, re.DOTALL), (mark, ended.err)
        if check:
            line = 1 + next(i for i, text in enumerate(FAULTS.splitlines()) if text.endswith(f"// {mark}"))
            assert f"faults.cu:{line}: " in ended.err, mark


@pytest.mark.parametrize("check", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["unchecked", "checked"])
def test_the_hosts_calls_refuse_it(command: Command, files: Callable[..., None], tmp_path: Path, check: bool) -> None:
    files(**{"faults.cu": FAULTS})
    assert command("nvcc", *("--check",) * check, "faults.cu", "-o", "faults").status == 0

    def run(which: int) -> tuple[int, str, str]:
        return command(str(which), program=(str(tmp_path / "faults"),))

    for which, says in [(10, "the pointer is of malloc or new in a kernel"), (11, "isn't for the host's calls")]:
        status, out, err = run(which)
        assert (status, out) == (0, "1\ndone\n")
        assert (says in err) == check
    status, _, err = run(12)
    assert status == 70
    assert "the host frees memory that a kernel has allocated" in err
    status, out, err = run(13)
    assert (status, out) == ((70, "") if check else (0, "0\ndone\n"))
    assert ("the host touches memory of the device" in err) == check


OWN = r"""
#include <cstdio>
#include <cstdlib>
#include <new>
static int made = 0;
void *operator new(size_t bytes) {
  ++made;
  return malloc(bytes);
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
__global__ void k(int *out) {
  int *p = (int *)malloc(4);
  *p = 3;
  *out = *p;
  free(p);
}
int main() {
  int *volatile one = new int(1);
  delete one;
  int *out, host;
  cudaMalloc(&out, 4);
  k<<<1, 1>>>(out);
  cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost);
  printf("%d %d\n", host, made > 0);
}
"""


def test_a_program_may_have_an_operator_new_of_its_own(command: Command, files: Callable[..., None]) -> None:
    files(**{"own.cu": OWN})
    ended = command("emulate", "own.cu")
    assert (ended.status, ended.out, ended.err) == (0, "3 1\n", "")


def test_objects_and_libraries_share_the_heap(command: Command, files: Callable[..., None], tmp_path: Path) -> None:
    files(**{
        "make.cu": "__global__ void make(int **p) { *p = new int(7); }\n"
        "void start(int **p) { make<<<1, 1>>>(p); }\n",
        "drop.cu": "__global__ void drop(int **p, int *o) { *o = **p; delete *p; }\n"
        "void end(int **p, int *o) { drop<<<1, 1>>>(p, o); }\n",
        "main.cpp": "#include <cuda_runtime.h>\n#include <cstdio>\n#include <vector>\n"
        "void start(int **p); void end(int **p, int *o);\n"
        "int main() { int **p, *o, h; cudaMalloc(&p, 8); cudaMalloc(&o, 4); start(p); end(p, o);\n"
        'cudaMemcpy(&h, o, 4, cudaMemcpyDeviceToHost); std::vector<int> v(3, h); printf("%d\\n", v[2]); }\n',
    })  # fmt: skip
    assert command("nvcc", "-shared", "make.cu", "-o", "libmake.so").status == 0
    for name in ("drop.cu", "main.cpp"):
        assert command("nvcc", "-c", name).status == 0
    assert command("nvcc", "main.o", "drop.o", "libmake.so", "-o", "all").status == 0
    assert not {*LIBRARY_CALLS} & {*symbols(tmp_path / "drop.o").undefined}
    ended = command(program=(str(tmp_path / "all"),))
    assert (ended.status, ended.out, ended.err) == (0, "7\n", "")


def test_all_functions_that_kernels_have_their_own_of_are_known(
    tmp_path: Path, command: Command, files: Callable[..., None]
) -> None:
    every = """
    #include <new>
    #include <cstdlib>
    #include <ctime>
    #include <sched.h>
    std::nothrow_t n; std::align_val_t a{64};
    void *use(void *p, size_t s) {
      operator delete(operator new(s)); operator delete[](operator new[](s));
      operator delete(operator new(s, n), n); operator delete[](operator new[](s, n), n);
      operator delete(operator new(s, a), a); operator delete[](operator new[](s, a), a);
      operator delete(operator new(s, a, n), a, n); operator delete[](operator new[](s, a, n), a, n);
      operator delete(p, s); operator delete[](p, s); operator delete(p, s, a); operator delete[](p, s, a);
      free(p); free(calloc(s, s)), clock(), sched_yield(), nanosleep(0, 0);
      return malloc(s);
    }
    """
    files(**{"every.cu": every})
    assert command("nvcc", "-O0", "-c", "every.cu").status == 0
    called = {*symbols(tmp_path / "every.o").undefined}
    assert {ours(name) for name in LIBRARY_CALLS} <= called
    assert not {*LIBRARY_CALLS} & called
