"""Programs that call CUDA's libraries: compiled, linked, run; what is wrong in them is said with the line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command, command, files

__all__ = ["command", "files"]
Files = Callable[..., None]

MULTIPLY = r"""
#include <cublas_v2.h>
#include <cstdio>
#include <vector>
void multiply(cublasHandle_t handle, int n, const float *a, const float *b, float *c);
__global__ void fill(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = threadIdx.x; }
int main(int argc, char **argv) {
  const int n = 4, more = argc > 1 ? atoi(argv[1]) : 0, mode = argc > 2 ? atoi(argv[2]) : 0;
  float *a, *b, *c;
  std::vector<float> host(16, 1.f), result(16);
  cudaMalloc(&a, 64), cudaMalloc(&b, 64), cudaMalloc(&c, 64);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cublasHandle_t handle;
  cublasCreate(&handle);
  if (mode != 1) cudaMemcpy(b, host.data(), 64, cudaMemcpyHostToDevice);
  fill<<<1, 32>>>(a, 16);
  if (mode == 2) cublasSetStream(handle, stream);
  else cudaDeviceSynchronize();
  multiply(handle, n + more, mode == 3 ? host.data() : a, b, c);  // here
  cudaStreamSynchronize(stream);
  cudaMemcpy(result.data(), c, 64, cudaMemcpyDeviceToHost);
  printf("%g %g\n", result[0], result[3]);
  return cublasDestroy(handle);
}
"""
OTHER = r"""
#include <cublas_v2.h>
void multiply(cublasHandle_t handle, int n, const float *a, const float *b, float *c) {
  const float one = 1, zero = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}
"""


@pytest.fixture
def program(files: Files) -> tuple[str, ...]:
    """The command line of a program of two sources that call cuBLAS."""
    files(**{"product.cu": MULTIPLY, "other.cpp": OTHER})
    return ("product.cu", "other.cpp", "-lcublas")


def test_a_program(program: tuple[str, ...], command: Command) -> None:
    assert command("emulate", *program) == (0, "24 36\n", "")


def test_objects_and_a_makefile(program: tuple[str, ...], command: Command) -> None:
    for source in program[:2]:
        assert command("nvcc", "-c", source).status == 0
    assert command("nvcc", "-lib", "other.o", "-o", "libother.a").status == 0
    assert command("nvcc", "product.o", "libother.a", "-lcublas", "-lcublasLt", "-o", "product").status == 0
    assert command(program=("./product",)) == (0, "24 36\n", "")


def test_an_operand_that_is_too_small(program: tuple[str, ...], command: Command) -> None:
    status, out, err = command("emulate", *program, "--", "1")
    assert (status, out) == (70, "")
    assert "other.cpp:5: cublasSgemm goes out of bounds" in err
    assert "A: it reads 100 bytes at byte 0 of the memory of cudaMalloc at " in err
    assert "which has 64" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        pytest.param(
            "1",
            ("read of memory that nobody has written", "B of cublasSgemm, byte 0 of the memory of cudaMalloc"),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param("2", ("race between two streams", "cublasSgemm reads", "fill"), marks=pytest.mark.exhaustive),
        ("3", ("a library's call gets memory that isn't the device's", "A of cublasSgemm")),
    ],
)
def test_checked(program: tuple[str, ...], command: Command, mode: str, said: tuple[str, ...]) -> None:
    assert command("emulate", "--check", *program) == (0, "24 36\n", "")
    status, out, err = command("emulate", "--check", *program, "--", "0", mode)
    assert (status, out) == (70, "")
    assert "other.cpp:5" in err
    for each in said:
        assert each in err


MESSAGES = r"""
#include <mpi.h>
#include <nccl.h>
#include <cstdio>
int main(int argc, char **argv) {
  int rank, size, to = argc > 1 ? atoi(argv[1]) : 0, got = 0;
  double sum = 0, mine = 5;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request requests[2];
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, requests);
  MPI_Isend(&argc, 1, MPI_INT, to, 7, MPI_COMM_WORLD, requests + 1);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  printf("%d of %d: %g %d\n", rank, size, sum, got);
  return MPI_Finalize();
}
"""


def test_one_process_of_mpi(files: Files, command: Command) -> None:
    files(**{"messages.cu": MESSAGES})
    assert command("emulate", "messages.cu", "-lmpi", "-lnccl") == (0, "0 of 1: 5 1\n", "")
    status, out, err = command("emulate", "messages.cu", "--", "1")
    assert (status, out) == (1, "")
    assert err == "opwright: error: MPI_Isend: a message to another rank than 0; MPI has one process here\n"


def test_an_mpi_that_is_there_is_taken(files: Files, command: Command) -> None:
    files(**{"messages.cu": "#include <mpi.h>\nint main() { return OURS; }\n", "mpi.h": "#define OURS 3\n"})
    assert command("emulate", "messages.cu", "-I.").status == 3


def test_a_missing_library_is_named(files: Files, command: Command) -> None:
    files(**{"deep.cu": "#include <cudnn.h>\nint main() { return 0; }\n"})
    status, _, err = command("emulate", "deep.cu")
    assert status == 1
    assert "cuDNN isn't emulated\n  likely fix: leave that part out with #ifndef OPWRIGHT_EMULATION" in err
