/* Captured streams and their graphs. Functions return 0, or the line that went wrong. nvcc compiles it, too. */
#include <cuda_runtime.h>

#include <initializer_list>

#ifndef EXPORT
#define EXPORT extern "C"
#endif
#define EXPECT(condition)              \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (0)
#define DONE(call) EXPECT((call) == cudaSuccess)

__global__ void add(int *x, int by) { x[threadIdx.x] += by; }
template <class T>
__global__ void times(T *x, T by) {
  x[threadIdx.x] *= by;
}
__global__ void sum_of(const int *x, const int *y, int *z) { z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]; }

struct Memory {
  int *x = nullptr, *y = nullptr, *z = nullptr, host[32];
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  Memory() {
    for (int **each : {&x, &y, &z}) cudaMalloc(each, sizeof host), cudaMemset(*each, 0, sizeof host);
    for (int i = 0; i < 32; ++i) host[i] = i;
    cudaStreamCreate(&stream), cudaStreamCreate(&other);
    cudaEventCreate(&fork), cudaEventCreate(&join);
  }
  ~Memory() {
    for (int *each : {x, y, z}) cudaFree(each);
    cudaStreamDestroy(stream), cudaStreamDestroy(other);
    cudaEventDestroy(fork), cudaEventDestroy(join);
    cudaGetLastError();
  }
  /* Whether z holds `by` times the index plus `more`. */
  bool has(const int *memory, int by, int more) {
    int got[32];
    if (cudaMemcpy(got, memory, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    for (int i = 0; i < 32; ++i)
      if (got[i] != by * i + more) return false;
    return true;
  }
};

/* What is captured runs when the graph is launched, on the memory as it is then, with the arguments as they were. */
EXPORT int replayed() {
  Memory m;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int by = 5;
  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  DONE(cudaStreamIsCapturing(m.stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  DONE(cudaStreamIsCapturing(m.other, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  DONE(cudaMemcpyAsync(m.x, m.host, sizeof m.host, cudaMemcpyHostToDevice, m.stream));
  add<<<1, 32, 0, m.stream>>>(m.x, by);
  times<int><<<1, 32, 0, m.stream>>>(m.x, 2);
  by = 100;
  DONE(cudaGetLastError());
  DONE(cudaStreamEndCapture(m.stream, &graph));
  EXPECT(m.has(m.x, 0, 0));
  size_t count = 0;
  DONE(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 3);
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphDestroy(graph));
  DONE(cudaGraphLaunch(exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.x, 2, 10));
  for (int &each : m.host) each *= 10;
  DONE(cudaGraphLaunch(exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.x, 20, 10));
  DONE(cudaGraphExecDestroy(exec));
  return 0;
}

/* Launches whose kernel or arguments are gone when the graph is launched. */
template <class Kernel>
static void launch_any(Kernel kernel, int *x, cudaStream_t stream) {
  int by = 7;
  kernel<<<1, 32, 0, stream>>>(x, by);
}
/* A copy of several slices is one node. */
EXPORT int of_boxes() {
  Memory m;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  DONE(cudaMalloc3DArray(&array, &desc, make_cudaExtent(4, 2, 4)));
  cudaMemcpy3DParms in = {}, out = {};
  in.srcPtr = make_cudaPitchedPtr(m.host, 4 * sizeof(int), 4, 2);
  in.dstArray = out.srcArray = array;
  in.extent = out.extent = make_cudaExtent(4, 2, 4);
  in.kind = cudaMemcpyHostToDevice;
  out.dstPtr = make_cudaPitchedPtr(m.x, 4 * sizeof(int), 4, 2);
  out.kind = cudaMemcpyDeviceToDevice;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
  DONE(cudaMemcpy3DAsync(&in, m.stream));
  DONE(cudaMemcpy3DAsync(&out, m.stream));
  DONE(cudaStreamEndCapture(m.stream, &graph));
  size_t count = 0;
  DONE(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 2);
  in = out = {};
  EXPECT(m.has(m.x, 0, 0));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  for (int &each : m.host) each *= 3;
  DONE(cudaGraphLaunch(exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.x, 3, 0));
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphDestroy(graph));
  return cudaFreeArray(array);
}

struct Chosen {
  void (*kernel)(int *, int);
  void launch(int *x, cudaStream_t stream) { kernel<<<1, 32, 0, stream>>>(x, 11); }
};
static void (*of_the_file)(int *, int) = add;
struct Held { /* has the value that its variable has when it is asked for it */
  const int &variable;
  operator int() const { return variable; }
};
/* The kernel is a member's, a static variable's, one of an array, an expression's; of arguments the values count. */
EXPORT int of_expressions() {
  Memory m;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeRelaxed));
  {
    Chosen chosen{add}, *pointer = &chosen;
    chosen.launch(m.x, m.stream);
    pointer->kernel<<<1, 32, 0, m.stream>>>(m.x, 0);
    of_the_file<<<1, 32, 0, m.stream>>>(m.x, {2});
    void (*table[])(int *, int) = {times<int>, add};
    table[0]<<<1, 32, 0, m.stream>>>(m.x, 10);
    (chosen.kernel == add ? table[1] : nullptr)<<<1, 32, 0, m.stream>>>(m.x, 4);
    int by = 1;
    table[1]<<<1, 32, 0, m.stream>>>(m.x, Held{by});
    chosen.kernel = of_the_file = table[0] = table[1] = nullptr;
    by = 1000;
  }
  DONE(cudaStreamEndCapture(m.stream, &graph));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphLaunch(exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.x, 0, (11 + 0 + 2) * 10 + 4 + 1));
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphDestroy(graph));
  return 0;
}

EXPORT int of_variables() {
  Memory m;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeRelaxed));
  launch_any(add, m.x, m.stream);
  launch_any(&times<int>, m.x, m.stream);
  {
    int by = 3;
    void *arguments[] = {&m.x, &by};
    DONE(cudaLaunchKernel((void *)add, dim3(1), dim3(32), arguments, 0, m.stream));
    void *pointer = (void *)times<int>;
    DONE(cudaLaunchKernel(pointer, dim3(1), dim3(32), arguments, 0, m.stream));
    pointer = (void *)(&add);
    DONE(cudaLaunchKernel(pointer, dim3(1), dim3(32), arguments, 0, m.stream));
    by = 50;
    EXPECT(cudaLaunchKernel((const void *)&by, dim3(1), dim3(32), arguments, 0, 0) == cudaErrorInvalidDeviceFunction);
    cudaGetLastError();
  }
  DONE(cudaStreamEndCapture(m.stream, &graph));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphLaunch(exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.x, 0, (7 * 7 + 3) * 3 + 3));
  DONE(cudaGraphDestroy(graph));
  DONE(cudaGraphExecDestroy(exec));
  return 0;
}

static void CUDART_CB count_up(void *data) { ++*static_cast<int *>(data); }

/* A second stream takes part from an event on; a graph within a graph, by capture. */
EXPORT int forked() {
  Memory m;
  cudaGraph_t graph, outer;
  cudaGraphExec_t exec, outer_exec;
  int called = 0;
  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal));
  DONE(cudaMemsetAsync(m.x, 0, sizeof m.host, m.stream));
  DONE(cudaEventRecord(m.fork, m.stream));
  DONE(cudaStreamWaitEvent(m.other, m.fork, 0));
  cudaStreamCaptureStatus status;
  DONE(cudaStreamIsCapturing(m.other, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  add<<<1, 32, 0, m.stream>>>(m.x, 2);
  DONE(cudaMemcpyAsync(m.y, m.host, sizeof m.host, cudaMemcpyHostToDevice, m.other));
  DONE(cudaLaunchHostFunc(m.other, count_up, &called));
  DONE(cudaEventRecord(m.join, m.other));
  DONE(cudaStreamWaitEvent(m.stream, m.join, 0));
  sum_of<<<1, 32, 0, m.stream>>>(m.x, m.y, m.z);
  DONE(cudaStreamEndCapture(m.stream, &graph));
  EXPECT(called == 0);
  size_t roots = 0;
  DONE(cudaGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT(roots == 1);
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphLaunch(exec, m.other));
  DONE(cudaStreamSynchronize(m.other));
  EXPECT(m.has(m.z, 1, 2) && called == 1);

  DONE(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeGlobal));
  DONE(cudaGraphLaunch(exec, m.stream));
  add<<<1, 32, 0, m.stream>>>(m.z, 1);
  DONE(cudaStreamEndCapture(m.stream, &outer));
  EXPECT(called == 1);
  DONE(cudaGraphInstantiate(&outer_exec, outer, 0));
  DONE(cudaGraphLaunch(outer_exec, m.stream));
  DONE(cudaStreamSynchronize(m.stream));
  EXPECT(m.has(m.z, 1, 3) && called == 2);
  for (cudaGraphExec_t each : {exec, outer_exec}) DONE(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {graph, outer}) DONE(cudaGraphDestroy(each));
  return 0;
}

#define REFUSED(call, error)                                                                       \
  do {                                                                                             \
    EXPECT(cudaStreamBeginCapture(m.stream, mode) == cudaSuccess);                                 \
    add<<<1, 32, 0, m.stream>>>(m.x, 1);                                                           \
    EXPECT((call) == error);                                                                       \
    EXPECT(cudaGetLastError() == error);                                                           \
    EXPECT(cudaStreamIsCapturing(m.stream, &status) == cudaSuccess);                               \
    EXPECT(status == cudaStreamCaptureStatusInvalidated);                                          \
    EXPECT(cudaStreamEndCapture(m.stream, &graph) == cudaErrorStreamCaptureInvalidated && !graph); \
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);                               \
  } while (0)

EXPORT int forbidden() {
  Memory m;
  cudaGraph_t graph;
  cudaStreamCaptureStatus status;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  int *more;
  REFUSED(cudaStreamSynchronize(m.stream), cudaErrorStreamCaptureUnsupported);
  REFUSED(cudaStreamQuery(m.stream), cudaErrorStreamCaptureUnsupported);
  REFUSED(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  REFUSED(cudaMalloc(&more, 4), cudaErrorStreamCaptureUnsupported);
  REFUSED(cudaMemcpy(m.x, m.host, 4, cudaMemcpyHostToDevice), cudaErrorStreamCaptureImplicit);
  REFUSED((add<<<1, 32>>>(m.x, 1), cudaPeekAtLastError()), cudaErrorStreamCaptureImplicit);
  DONE(cudaEventRecord(m.fork, m.other));
  REFUSED(cudaStreamWaitEvent(m.stream, m.fork, 0), cudaErrorStreamCaptureIsolation);
  REFUSED((cudaEventRecord(m.join, m.stream), cudaEventSynchronize(m.join)), cudaErrorCapturedEvent);

  EXPECT(cudaStreamBeginCapture(0, mode) == cudaErrorStreamCaptureUnsupported);
  EXPECT(cudaStreamEndCapture(m.stream, &graph) == cudaErrorIllegalState);
  DONE(cudaStreamBeginCapture(m.stream, mode));
  EXPECT(cudaStreamBeginCapture(m.stream, mode) == cudaErrorIllegalState);
  DONE(cudaEventRecord(m.fork, m.stream));
  DONE(cudaStreamWaitEvent(m.other, m.fork, 0));
  add<<<1, 32, 0, m.other>>>(m.x, 1);
  EXPECT(cudaStreamEndCapture(m.stream, &graph) == cudaErrorStreamCaptureUnjoined && !graph);

  DONE(cudaStreamBeginCapture(m.stream, mode));
  DONE(cudaStreamBeginCapture(m.other, mode));
  DONE(cudaEventRecord(m.fork, m.stream));
  EXPECT(cudaStreamWaitEvent(m.other, m.fork, 0) == cudaErrorStreamCaptureMerge);
  for (cudaStream_t each : {m.stream, m.other})
    EXPECT(cudaStreamEndCapture(each, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  EXPECT(m.has(m.x, 0, 0)); /* nothing has run */

  mode = cudaStreamCaptureModeRelaxed;
  DONE(cudaStreamBeginCapture(m.stream, mode));
  DONE(cudaMalloc(&more, 4)); /* allowed in this mode */
  DONE(cudaStreamEndCapture(m.stream, &graph));
  DONE(cudaFree(more));
  DONE(cudaGraphDestroy(graph));
  return 0;
}
