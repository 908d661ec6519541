"""Work of several streams on one memory: found where nothing orders it, and by CUDA's rules nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command

PROGRAM = """
void copied(float *to, float *from, cudaStream_t s) { cudaMemcpyAsync(to, from, 256, cudaMemcpyDefault, s); }
__global__ void more(float *x) { x[threadIdx.x] += 1; }
__global__ void raise(float *x) { x[1] = 5, __threadfence_system(), *(volatile float *)x = 1; }
void check(void *x) { if (*(float *)x != 1) exit(1); }
void called(cudaStream_t, cudaError_t, void *x) { check(x); }
__global__ void cleared(unsigned char *x) { x[7] = 0; }
int main(int argc, char **argv) {
  float *x, *other, host[64], *pinned, *managed;
  cudaMalloc(&x, 256), cudaMalloc(&other, 256), cudaMallocHost(&pinned, 256), cudaMallocManaged(&managed, 512);
  cudaMemset(x, 0, 256), cudaMemset(other, 0, 256), memset(pinned, 0, 256), memset(managed, 0, 512);
  cudaStream_t a, b, free;
  cudaStreamCreate(&a), cudaStreamCreate(&b), cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking);
  cudaEvent_t e;
  cudaEventCreate(&e);
  more<<<1, 64, 0, a>>>(x);
  SECOND;
  cudaDeviceSynchronize();
  cudaMemcpy(host, x, 4, cudaMemcpyDeviceToHost);
  printf("%g\\n", host[0]);
}
"""
RIGHT = {
    "one stream": ("more<<<1, 64, 0, a>>>(x)", 2),
    "another memory": ("more<<<1, 64, 0, b>>>(other)", 1),
    "another memory after a byte by itself": (  # the shadow with words isn't needed any more, other memory gets it
        "cleared<<<1, 1, 0, a>>>((unsigned char *)x); more<<<1, 64, 0, b>>>(other)", 1
    ),
    "an event": ("cudaEventRecord(e, a), cudaStreamWaitEvent(b, e); more<<<1, 64, 0, b>>>(x)", 2),
    "an event that the host waits for": ("cudaEventRecord(e, a), cudaEventSynchronize(e); more<<<1, 64, 0, b>>>(x)", 2),
    "a stream that the host waits for": ("cudaStreamSynchronize(a); more<<<1, 64, 0, b>>>(x)", 2),
    "the whole device": ("cudaDeviceSynchronize(); more<<<1, 64, 0, free>>>(x)", 2),
    "the default stream": ("more<<<1, 64>>>(x)", 2),
    "the default stream between": ("more<<<1, 64>>>(x); more<<<1, 64, 0, b>>>(x)", 3),
    "a copy that is waited for": ("cudaMemcpy(host, x, 256, cudaMemcpyDefault); more<<<1, 64, 0, b>>>(x)", 2),
    "a copy to pageable memory": ("cudaMemcpyAsync(host, x, 256, cudaMemcpyDefault, a); more<<<1, 64, 0, b>>>(x)", 2),
    "a pinned copy that is waited for": (
        "cudaMemcpyAsync(pinned, x, 256, cudaMemcpyDefault, a); cudaStreamSynchronize(a); if (pinned[0] != 1) return 1",
        1,
    ),
    "a pinned source once it is copied": (
        "cudaMemcpyAsync(x, pinned, 256, cudaMemcpyDefault, a); cudaStreamSynchronize(a); pinned[0] = 5", 0
    ),
    "a source that is read": (
        "pinned[0] = 7; cudaMemcpyAsync(x, pinned, 256, cudaMemcpyDefault, a); if (pinned[0] != 7) return 1", 7
    ),
    "managed memory that is waited for": (
        "more<<<1, 64, 0, b>>>(managed); if (managed[70] != 0) return 1; cudaStreamSynchronize(b); check(managed)", 1
    ),
    "a function of the host": (
        "copied(pinned, x, a); cudaLaunchHostFunc(a, check, pinned); cudaStreamAddCallback(a, called, pinned, 0)", 1
    ),
    "a flag": (
        "raise<<<1, 1, 0, b>>>(managed); while (*(volatile float *)managed == 0) {} if (managed[1] != 5) return 1", 1
    ),
    "memory that is freed in order": (
        "cudaStreamSynchronize(a); cudaFreeAsync(x, b); cudaMalloc(&x, 4); cudaMemset(x, 0, 4)", 0
    ),
    "two readers": ("cudaStreamSynchronize(a); copied(pinned, x, a); copied(other, x, free)", 1),
}  # fmt: skip
RACES = {
    "two streams": ("more<<<1, 64, 0, b>>>(x)", "race between two streams"),
    "a stream that isn't blocking": ("more<<<1, 64>>>(other); more<<<1, 64, 0, free>>>(x)", "race between two streams"),
    "the default stream and one that isn't blocking": (
        "more<<<1, 64>>>(x); more<<<1, 64, 0, free>>>(x)", "race between two streams"
    ),
    "an event of the wrong stream": (
        "cudaEventRecord(e, b), cudaStreamWaitEvent(b, e); more<<<1, 64, 0, b>>>(x)", "race between two streams"
    ),
    "an event that is recorded too late": (
        "cudaStreamWaitEvent(b, e), cudaEventRecord(e, a); more<<<1, 64, 0, b>>>(x)", "race between two streams"
    ),
    "a copy": ("cudaMemcpyAsync(pinned, x, 256, cudaMemcpyDefault, b)", "cudaMemcpyAsync reads byte 0 of"),
    "a memset": ("cudaMemsetAsync(x, 0, 256, b)", "cudaMemsetAsync writes byte 0 of"),
    "a write after a read": (
        "cudaStreamSynchronize(a); cudaMemcpyAsync(pinned, x, 256, cudaMemcpyDefault, a); more<<<1, 64, 0, b>>>(x)",
        "cudaMemcpyAsync at",
    ),
    "the host": (
        "cudaMemcpyAsync(pinned, x, 256, cudaMemcpyDefault, a); if (pinned[0] != 1) return 1",
        "the host is ahead of the device",
    ),
    "the host in the source of a copy": (
        "cudaMemcpyAsync(x, pinned, 256, cudaMemcpyDefault, a); pinned[63] = 1",
        "a write of 4 bytes that cudaMemcpyAsync at",
    ),
    "the host in managed memory": ("more<<<1, 64>>>(managed); if (managed[63] != 1) return 1", "that more at"),
    "the host in mapped memory": (
        "more<<<1, 64, 0, b>>>(pinned); cudaStreamSynchronize(a); if (pinned[63] != 1) return 1", "that more at"
    ),
    "the host's write in what a kernel reads": (
        "cudaMemcpyAsync(x, managed, 256, cudaMemcpyDefault, a); managed[3] = 1", "that cudaMemcpyAsync at"
    ),
    "memory that is freed": ("cudaFreeAsync(x, free)", "cudaFreeAsync writes byte 0 of"),
    "after memory was freed": (
        "more<<<1, 64, 0, a>>>(other); cudaFreeAsync(x, a); more<<<1, 64, 0, b>>>(other)", "race between two streams"
    ),
}  # fmt: skip


PER_THREAD = [
    ("more<<<1, 64>>>(other)", 1),
    ("cudaStreamSynchronize(a); more<<<1, 64>>>(x)", 2),
    ("more<<<1, 64, 0, cudaStreamLegacy>>>(x); more<<<1, 64>>>(x)", 3),
]
# One program, which a process of the tests compiles once: its argument says which case.
CASES = [second for second, _ in (*RIGHT.values(), *RACES.values(), *PER_THREAD)]
SWITCH = "".join(f"case {index}: {second}; break;\n" for index, second in enumerate(CASES))
TEXT = PROGRAM.replace("SECOND;", f"switch (atoi(argv[1])) {{\n{SWITCH}}}")


def case(second: str) -> tuple[str, str]:
    return "--", str(CASES.index(second))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("streams") / "streams.cu"
    path.write_text(TEXT)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_what_is_ordered(program: str, command: Command, name: str) -> None:
    second, result = RIGHT[name]
    assert command("emulate", "--check", program, *case(second)) == (0, f"{result}\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", RACES)
def test_what_isn_t(program: str, command: Command, name: str) -> None:
    second, says = RACES[name]
    status, _, err = command("emulate", "--check", program, *case(second))
    assert status == 70
    assert says in err
    assert "likely fix:" in err
    if name == "two streams":
        line = TEXT[: TEXT.index("more<<<")].count("\n") + 1
        assert f"more at {program}:{line} wrote it, in another stream, and nothing orders the two" in err


@pytest.mark.slow
@pytest.mark.parametrize("how", ["option", "macro"])
def test_a_default_stream_for_each_thread(files: Callable[..., None], command: Command, how: str) -> None:
    option = ("--default-stream", "per-thread") if how == "option" else ()
    define = "" if option else "#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n#include <cuda_runtime.h>\n"
    files(**{"streams.cu": define + TEXT})
    for second, result in PER_THREAD:
        assert command("emulate", "--check", *option, "streams.cu", *case(second)) == (0, f"{result}\n", "")
    status, _, err = command("emulate", "--check", *option, "streams.cu", *case(RIGHT["the default stream"][0]))
    assert status == 70
    assert "race between two streams" in err
