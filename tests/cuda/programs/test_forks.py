"""A process that is forked while another thread is in the emulator: the child may use the device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cuda.programs.conftest import Command

FORKS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

static pthread_mutex_t *known[1000];
static int stops = 0;
static int stopped = 1;
static thread_local bool stopping = false;

#define UNWATCHED __attribute__((no_sanitize("thread", "undefined")))

static UNWATCHED bool is_known(pthread_mutex_t *mutex) {
  for (int i = 0; i < stops; ++i)
    if (known[i] == mutex) return true;
  return false;
}

/* All locks of the process are taken here: a thread that is `stopping` stays a while in the first that is new. */
extern "C" UNWATCHED int pthread_mutex_lock(pthread_mutex_t *mutex) {
  static int (*const real)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
  const int result = real(mutex);
  if (!stopping || __atomic_load_n(&stopped, __ATOMIC_SEQ_CST) || stops == 1000 || is_known(mutex)) return result;
  known[stops++] = mutex;
  __atomic_store_n(&stopped, 1, __ATOMIC_SEQ_CST);
  usleep(30000);
  return result;
}

__global__ void add(int *sum) {
  __shared__ int ones[32];
  ones[threadIdx.x] = 1;
  __syncthreads();
  atomicAdd(sum, ones[31 - threadIdx.x]);
}
__global__ void fetch(cudaTextureObject_t of, int *into) { *into = tex1Dfetch<int>(of, 0); }
__global__ void beyond(int *memory) { memory[1 << 20] = 1; }
__global__ void waits(volatile int *flag) {
  while (!*flag) {
  }
}

static bool works() {
  int *sum, result[2] = {};
  cudaStream_t stream;
  cudaEvent_t event;
  cudaMalloc(&sum, 8);
  cudaMemset(sum, 0, 8);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  cudaDeviceSynchronize();
  add<<<512, 32, 0, stream>>>(sum); /* enough to share with other threads */
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(stream, event);
  cudaGraph_t graph;
  cudaGraphExec_t whole;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  add<<<1, 32, 0, stream>>>(sum);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&whole, graph, 0);
  cudaGraphLaunch(whole, stream);
  cudaStreamSynchronize(stream);
  cudaGraphExecDestroy(whole), cudaGraphDestroy(graph);
  cudaResourceDesc from = {};
  from.resType = cudaResourceTypeLinear;
  from.res.linear.devPtr = sum, from.res.linear.sizeInBytes = 4;
  from.res.linear.desc = cudaCreateChannelDesc<int>();
  cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  cudaCreateTextureObject(&texture, &from, &how, nullptr);
  fetch<<<1, 1>>>(texture, sum + 1);
  cudaDestroyTextureObject(texture);
  cudaArray_t array;
  cudaMallocArray(&array, &from.res.linear.desc, 4);
  cudaFreeArray(array);
  cudaMemcpy(result, sum, 8, cudaMemcpyDeviceToHost);
  cudaEventDestroy(event), cudaStreamDestroy(stream), cudaFree(sum);
  return result[0] == 513 * 32 && result[1] == result[0];
}

/* How a child ends that uses the device: 0 right, 70 a fault found, 1 wrong, beyond 255 a signal. */
static int child(bool faulty) {
  fflush(stdout);
  const pid_t forked = fork();
  if (!forked) {
    alarm(60);
    int *memory;
    if (faulty) cudaMalloc(&memory, 4), beyond<<<1, 1>>>(memory);
    _exit(works() ? 0 : 1);
  }
  int status;
  waitpid(forked, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void in_every_lock() {
  for (bool done = false; !done;) {
    std::atomic<bool> over{false};
    __atomic_store_n(&stopped, 0, __ATOMIC_SEQ_CST);
    std::thread other([&] {
      stopping = true;
      if (!works()) printf("the parent is wrong\n");
      over = true;
    });
    while (!__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) && !over) usleep(100);
    done = !__atomic_load_n(&stopped, __ATOMIC_SEQ_CST);
    if (const int status = done ? 0 : child(false)) printf("lock %d: %d\n", stops, status);
    other.join();
  }
  printf("%s\n", stops >= 8 ? "all" : "too few");
}

static void in_a_launch(bool faulty) {
  int *flag;
  cudaMallocHost(&flag, 4);
  *flag = 0;
  std::thread other([&] { waits<<<1, 1>>>(flag); });
  usleep(200000);
  printf("%d\n", child(faulty));
  *(volatile int *)flag = 1;
  other.join();
  printf("%s\n", works() ? "right" : "wrong");
}

int main(int, char **argv) {
  if (argv[1][0] == 'l') in_every_lock();
  else in_a_launch(argv[1][0] == 'f');
}
"""


@pytest.mark.parametrize("check", [False, True], ids=["unchecked", "checked"])
def test_a_fork_waits_for_whoever_has_a_lock(files: Callable[..., None], command: Command, check: bool) -> None:
    files(**{"forks.cu": FORKS})
    assert command("emulate", *["--check"] * check, "forks.cu", "--", "locks") == (0, "all\n", "")


@pytest.mark.parametrize("check", [False, True], ids=["unchecked", "checked"])
def test_a_fork_during_a_launch(files: Callable[..., None], command: Command, check: bool) -> None:
    files(**{"forks.cu": FORKS})
    assert command("emulate", *["--check"] * check, "forks.cu", "--", "during") == (0, "0\nright\n", "")


def test_the_checker_checks_a_forked_child(files: Callable[..., None], command: Command) -> None:
    files(**{"forks.cu": FORKS})
    status, out, err = command("emulate", "--check", "forks.cu", "--", "faulty")
    assert (status, out) == (0, "70\nright\n")
    assert "in beyond, launched at " in err
