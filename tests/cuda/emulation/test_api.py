"""The CUDA runtime's API, as code that launches kernels uses it: functions return 0, or the line that went wrong."""

from __future__ import annotations

import ctypes

import pytest

from .conftest import build_at

TEXT = r"""
#include <cstring>
#define EXPECT(condition) do { if (!(condition)) return __LINE__; } while (0)

__global__ void doubled(int *x, int n) { const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }

EXPORT int memory() {
  int host[100], back[100], *device = nullptr;
  for (int i = 0; i < 100; ++i) host[i] = i;
  EXPECT(cudaMalloc(&device, sizeof host) == cudaSuccess);
  EXPECT(reinterpret_cast<size_t>(device) % 256 == 0);
  EXPECT(device[7] == -1);  // whoever reads what nobody wrote notices
  EXPECT(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  doubled<<<4, 32>>>(device, 100);
  EXPECT(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(cudaMemcpyAsync(back, device, sizeof host, cudaMemcpyDeviceToHost, 0) == cudaSuccess);
  for (int i = 0; i < 100; ++i) EXPECT(back[i] == 2 * i);
  EXPECT(cudaMemset(device, 1, 8) == cudaSuccess && device[1] == 0x01010101 && device[2] == 4);
  EXPECT(cudaMemcpy(device + 90, host, 44, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaErrorInvalidValue);
  EXPECT(cudaGetLastError() == cudaSuccess);
  EXPECT(cudaMemset(device, 0, 401) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(device, host, 4, cudaMemcpyKind(7)) == cudaErrorInvalidMemcpyDirection);
  EXPECT(cudaFree(device + 1) == cudaErrorInvalidValue);
  EXPECT(cudaFreeHost(device) == cudaErrorInvalidValue);
  EXPECT(cudaFree(device) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);
  EXPECT(cudaFree(device) == cudaErrorInvalidValue);
  EXPECT(cudaMalloc(&device, size_t(1) << 50) == cudaErrorMemoryAllocation && !device);
  EXPECT(!std::strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorMemoryAllocation"));
  EXPECT(!std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
  return 0;
}

EXPORT int kinds_of_memory() {
  float *device, *host, *managed, local;
  size_t before, after, total;
  EXPECT(cudaMemGetInfo(&before, &total) == cudaSuccess && before <= total);
  EXPECT(cudaMalloc((void **)&device, 1 << 20) == cudaSuccess);
  EXPECT(cudaMemGetInfo(&after, &total) == cudaSuccess && before - after == 1 << 20);
  EXPECT(cudaMallocHost(&host, 64) == cudaSuccess && cudaMallocManaged(&managed, 64) == cudaSuccess);
  cudaPointerAttributes of;
  EXPECT(cudaPointerGetAttributes(&of, device + 5) == cudaSuccess && of.type == cudaMemoryTypeDevice);
  EXPECT(of.devicePointer == device + 5);
  EXPECT(cudaPointerGetAttributes(&of, host) == cudaSuccess && of.type == cudaMemoryTypeHost);
  EXPECT(cudaPointerGetAttributes(&of, managed) == cudaSuccess && of.type == cudaMemoryTypeManaged);
  EXPECT(cudaPointerGetAttributes(&of, &local) == cudaSuccess && of.type == cudaMemoryTypeUnregistered);
  EXPECT(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, 0) == cudaSuccess);
  EXPECT(cudaMemAdvise(managed, 64, cudaMemAdviseSetAccessedBy, {cudaMemLocationTypeDevice, 0}) == cudaSuccess);
  EXPECT(cudaMemPrefetchAsync(managed, 64, 0, 0) == cudaSuccess);
  EXPECT(cudaMemPrefetchAsync(managed, 64, {cudaMemLocationTypeHost, 0}, 0, 0) == cudaSuccess);
  int mode = 5, pageable = 5;
  EXPECT(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0) == cudaSuccess && mode == cudaComputeModeDefault);
  EXPECT(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0) == cudaSuccess && !pageable);
  EXPECT(cudaFreeAsync(device, 0) == cudaSuccess && cudaFreeHost(host) == cudaSuccess);
  EXPECT(cudaFree(managed) == cudaSuccess);
  EXPECT(cudaMemGetInfo(&after, &total) == cudaSuccess && before == after);
  return 0;
}

EXPORT int rows() {
  char *device, host[3][4] = {"abc", "def", "ghi"}, back[3][4];
  size_t pitch;
  EXPECT(cudaMallocPitch(&device, &pitch, 4, 3) == cudaSuccess && pitch >= 4);
  EXPECT(cudaMemcpy2D(device, pitch, host, 4, 4, 3, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMemset2D(device + pitch, pitch, 'x', 2, 2) == cudaSuccess);
  EXPECT(cudaMemcpy2D(back, 4, device, pitch, 4, 3, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(!std::strcmp(back[0], "abc") && !std::strcmp(back[1], "xxf") && !std::strcmp(back[2], "xxi"));
  EXPECT(cudaMemcpy2D(back, 3, device, pitch, 4, 3, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
  EXPECT(cudaMemset2D(device, pitch, 0, 4, 4) == cudaErrorInvalidValue);
  cudaGetLastError();
  return cudaFree(device);
}

__constant__ float table[4];
EXPORT int symbols() {
  const float two[] = {5, 6};
  float back[4];
  void *address;
  size_t bytes;
  EXPECT(cudaMemcpyToSymbol(table, two, sizeof two, 2 * sizeof(float)) == cudaSuccess);
  EXPECT(cudaMemcpyFromSymbol(back, table, sizeof back) == cudaSuccess && back[0] == 0 && back[2] == 5 && back[3] == 6);
  EXPECT(cudaGetSymbolAddress(&address, table) == cudaSuccess && address == table);
  EXPECT(cudaGetSymbolSize(&bytes, table) == cudaSuccess && bytes == 16);
  EXPECT(cudaMemcpyToSymbol(table, two, sizeof two, 12) == cudaErrorInvalidValue);
  cudaGetLastError();
  return 0;
}

EXPORT int streams_and_events() {
  cudaStream_t stream;
  cudaEvent_t first, last, untimed;
  float milliseconds = -1;
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess && stream);
  EXPECT(cudaEventCreate(&first) == cudaSuccess && cudaEventCreate(&last) == cudaSuccess);
  EXPECT(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  EXPECT(cudaEventElapsedTime(&milliseconds, first, last) == cudaErrorInvalidResourceHandle);
  EXPECT(cudaEventRecord(first, stream) == cudaSuccess);
  int x[64] = {3};
  doubled<<<2, 32, 0, stream>>>(x, 64);
  EXPECT(x[0] == 6);
  EXPECT(cudaEventRecord(last, stream) == cudaSuccess && cudaEventSynchronize(last) == cudaSuccess);
  EXPECT(cudaEventElapsedTime(&milliseconds, first, last) == cudaSuccess && milliseconds > 0 && milliseconds < 10000);
  EXPECT(cudaStreamWaitEvent(stream, last, 0) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess);
  EXPECT(cudaEventRecord(untimed) == cudaSuccess && cudaEventElapsedTime(&milliseconds, first, untimed) != cudaSuccess);
  EXPECT(cudaEventDestroy(first) == cudaSuccess && cudaEventDestroy(last) == cudaSuccess);
  EXPECT(cudaEventDestroy(untimed) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
  EXPECT(cudaStreamDestroy(0) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  return 0;
}

EXPORT int pools() {
  cudaMemPool_t usual, own, now;
  EXPECT(cudaDeviceGetDefaultMemPool(&usual, 0) == cudaSuccess);
  unsigned long long threshold = 1 << 20, kept = 0;
  EXPECT(cudaMemPoolSetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &threshold) == cudaSuccess);
  EXPECT(cudaMemPoolGetAttribute(usual, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess && kept == 1 << 20);
  int reuse = 0;
  EXPECT(cudaMemPoolGetAttribute(usual, cudaMemPoolReuseAllowOpportunistic, &reuse) == cudaSuccess && reuse == 1);
  EXPECT(cudaMemPoolGetAttribute(usual, cudaMemPoolAttrUsedMemHigh, &kept) == cudaErrorNotSupported);
  EXPECT(cudaMemPoolSetAttribute(usual, cudaMemPoolAttrUsedMemCurrent, &kept) == cudaErrorInvalidValue);
  unsigned long long none = 0;
  EXPECT(cudaMemPoolSetAttribute(usual, cudaMemPoolAttrUsedMemHigh, &none) == cudaSuccess);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  EXPECT(cudaMemPoolCreate(&own, &properties) == cudaSuccess && own != usual);
  EXPECT(cudaDeviceSetMemPool(0, own) == cudaSuccess && cudaDeviceGetMemPool(&now, 0) == cudaSuccess && now == own);
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  EXPECT(cudaMemPoolSetAccess(own, &access, 1) == cudaErrorInvalidDevice);
  int *first, *second, back[4] = {1, 2, 3, 4};
  EXPECT(cudaMallocFromPoolAsync(&first, sizeof back, own, 0) == cudaSuccess);
  EXPECT(cudaMallocAsync(&second, sizeof back, own, 0) == cudaSuccess && first != second);
  EXPECT(cudaMemcpy(first, back, sizeof back, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMemcpyPeerAsync(second, 0, first, 0, sizeof back) == cudaSuccess);
  EXPECT(cudaMemcpy(back, second, sizeof back, cudaMemcpyDeviceToHost) == cudaSuccess && back[3] == 4);
  EXPECT(cudaFreeAsync(first, 0) == cudaSuccess && cudaFreeAsync(second, 0) == cudaSuccess);
  EXPECT(cudaMemPoolTrimTo(own, 0) == cudaSuccess && cudaMemPoolDestroy(own) == cudaSuccess);
  EXPECT(cudaDeviceGetMemPool(&now, 0) == cudaSuccess && now == usual);
  EXPECT(cudaMemPoolDestroy(usual) == cudaErrorInvalidValue);
  properties.location.id = 1;
  EXPECT(cudaMemPoolCreate(&own, &properties) == cudaErrorInvalidDevice);
  properties.location.id = 0, properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  EXPECT(cudaMemPoolCreate(&own, &properties) == cudaErrorNotSupported);
  cudaIpcMemHandle_t handle;
  EXPECT(cudaIpcGetMemHandle(&handle, back) == cudaErrorNotSupported);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  EXPECT(cudaStreamSetAttribute(0, cudaStreamAttributeAccessPolicyWindow, &value) == cudaSuccess);
  cudaGetLastError();
  return 0;
}

EXPORT int device() {
  int count, current = -1, value, version;
  cudaDeviceProp p;
  EXPECT(cudaGetDeviceCount(&count) == cudaSuccess && count == 1);
  EXPECT(cudaSetDevice(0) == cudaSuccess && cudaGetDevice(&current) == cudaSuccess && current == 0);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice && cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetDeviceProperties(&p, 0) == cudaSuccess && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
  EXPECT(p.maxThreadsDim[2] == 64 && p.maxGridSize[1] == 65535 && p.sharedMemPerBlock == 49152 && p.cooperativeLaunch);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  size_t stack = 0;
  EXPECT(cudaDeviceGetLimit(&stack, cudaLimitStackSize) == cudaSuccess && stack == 1024);
  EXPECT(cudaDeviceGetLimit(&stack, cudaLimit(99)) == cudaErrorInvalidValue && cudaGetLastError());
  EXPECT(value == p.multiProcessorCount);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrEccEnabled, 0) == cudaSuccess && value == p.ECCEnabled);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0) == cudaSuccess && value == 1);
  EXPECT(cudaDeviceGetAttribute(&value, cudaDeviceAttr(9999), 0) == cudaErrorInvalidValue);
  EXPECT(p.maxTexture2DLayered[2] == 2048 && p.surfaceAlignment && p.maxSurface2D[1] && p.deviceOverlap);
  EXPECT(cudaDeviceCanAccessPeer(&value, 0, 1) == cudaSuccess && !value);
  EXPECT(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
  EXPECT(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1) == cudaErrorInvalidDevice);
  unsigned flags = 0;
  EXPECT(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) == cudaSuccess);
  EXPECT(cudaGetDeviceFlags(&flags) == cudaSuccess && flags == cudaDeviceScheduleBlockingSync);
  char bus[16] = "?";
  EXPECT(cudaDeviceGetPCIBusId(bus, 4, 0) == cudaErrorInvalidValue && bus[0] == '?');
  EXPECT(cudaDeviceGetPCIBusId(bus, sizeof bus, 0) == cudaSuccess && !std::strcmp(bus, "0000:00:00.0"));
  EXPECT(cudaDeviceGetByPCIBusId(&value, bus) == cudaSuccess && value == 0);
  cudaGetLastError();
  EXPECT(cudaRuntimeGetVersion(&version) == cudaSuccess && version == CUDART_VERSION);
  return 0;
}

EXPORT int occupancy() {
  int blocks, grid, block;
  cudaFuncAttributes of;
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, doubled, 256, 0) == cudaSuccess && blocks == 8);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, doubled, 64, 80 * 1024) == cudaSuccess && blocks == 2);
  EXPECT(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, doubled, 32, 0) == cudaSuccess && blocks == 32);
  EXPECT(cudaOccupancyMaxPotentialBlockSize(&grid, &block, doubled) == cudaSuccess && block == 1024 && grid > 0);
  EXPECT(cudaFuncGetAttributes(&of, doubled) == cudaSuccess && of.maxThreadsPerBlock == 1024);
  EXPECT(cudaFuncSetAttribute(doubled, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000) == cudaSuccess);
  const void *erased = (const void *)doubled;
  EXPECT(cudaFuncSetAttribute(erased, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaErrorInvalidValue);
  cudaGetLastError();
  return 0;
}

#include <ctime>
__global__ void ticks(long long *out) { const long long from = clock64(); out[threadIdx.x] = clock64() - from; }
__global__ void both(long long *out) { out[0] = clock64(), out[1] = clock(), out[2] = clock64(); }
EXPORT int clocks() {
  long long out[32] = {};
  ticks<<<1, 32>>>(out);
  for (long long each : out) EXPECT(each > 0);
  both<<<1, 1>>>(out);
  EXPECT(out[0] < out[1] && out[1] < out[2]);  // one clock
  const clock_t now = clock();
  EXPECT(now >= 0 && now < 1e10);  // the host's: of its process
  return 0;
}

#include <stdexcept>
__global__ void asserted(int n) { assert(n < 5 && int(threadIdx.x) != n); }
__global__ void trapped() { if (threadIdx.x == 3) __trap(); }
static char said[2000];
template <class F> const char *message(F launch) {
  try {
    launch();
    return "";
  } catch (const opwright::Failure &failure) {
    return std::strcpy(said, failure.message.text());
  }
}
EXPORT const char *assertion(int n) { return message([=] { asserted<<<1, 4>>>(n); }); }
EXPORT const char *trap() { return message([=] { trapped<<<2, 4>>>(); }); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    found = build_at(tmp_path_factory.mktemp("api") / "api.cu", TEXT)
    found.assertion.restype = found.trap.restype = ctypes.c_char_p
    return found


@pytest.mark.parametrize(
    "name",
    ["memory", "kinds_of_memory", "rows", "symbols", "streams_and_events", "pools", "device", "occupancy", "clocks"],
)
def test_every_line_holds(library: ctypes.CDLL, name: str) -> None:
    line = getattr(library, name)()
    assert line == 0, f"line {line}: {TEXT.splitlines()[line - 1]}"


def test_a_failed_assertion_ends_the_launch_and_not_the_process(library: ctypes.CDLL) -> None:
    assert library.assertion(4) == b""
    said = library.assertion(2).decode()
    assert "Assertion `n < 5 && int(threadIdx.x) != n' failed." in said
    assert "api.cu:" in said
    assert "asserted" in said
    assert library.assertion(4) == b""


def test_a_trap_ends_the_launch(library: ctypes.CDLL) -> None:
    assert "__trap() was called" in library.trap().decode()
