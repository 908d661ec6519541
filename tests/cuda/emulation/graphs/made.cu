/* Graphs that are made node by node. Functions return 0, or the line that went wrong. nvcc compiles it, too. */
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

namespace kernels {
__global__ void add_to(int *x, int by) { x[threadIdx.x] += by; }
}  // namespace kernels
template <class T>
__global__ void multiply(T *x, T by) {
  x[threadIdx.x] *= by;
}

#if CUDART_VERSION >= 13000
#define EDGES nullptr,
#else
#define EDGES
#endif

static void CUDART_CB count_calls(void *data) { ++*static_cast<int *>(data); }
static bool all_are(const int *memory, int value) {
  int got[32];
  if (cudaMemcpy(got, memory, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess) return false;
  for (int each : got)
    if (each != value) return false;
  return true;
}

/* In the order of their dependencies, not that in which they were made; then with other parameters. */
EXPORT int nodes() {
  int *x, called = 0, by = 4, times = 3, back[32];
  DONE(cudaMalloc(&x, sizeof back));
  cudaGraph_t graph;
  cudaGraphNode_t set, add, multiplied, host, copied, empty;
  DONE(cudaGraphCreate(&graph, 0));
  void *of_multiply[] = {&x, &times}, *of_add[] = {&x, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void *)multiply<int>;
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = of_multiply;
  DONE(cudaGraphAddKernelNode(&multiplied, graph, nullptr, 0, &kernel));
  kernel.func = reinterpret_cast<void *>(&kernels::add_to);
  kernel.kernelParams = of_add;
  DONE(cudaGraphAddKernelNode(&add, graph, nullptr, 0, &kernel));
  by = times = 1000; /* the arguments were copied */
  cudaMemsetParams value = {};
  value.dst = x;
  value.value = 0x00010002;
  value.elementSize = 4;
  value.width = 32;
  value.height = 1;
  DONE(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &value));
  cudaHostNodeParams function = {};
  function.fn = count_calls;
  function.userData = &called;
  const cudaGraphNode_t before_host[] = {multiplied};
  DONE(cudaGraphAddHostNode(&host, graph, before_host, 1, &function));
  DONE(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
  DONE(cudaGraphAddMemcpyNode1D(&copied, graph, &empty, 1, back, x, sizeof back, cudaMemcpyDeviceToHost));
  const cudaGraphNode_t from[] = {set, add}, to[] = {add, multiplied};
  DONE(cudaGraphAddDependencies(graph, from, to, EDGES 2));
  size_t count = 0;
  DONE(cudaGraphGetEdges(graph, nullptr, nullptr, EDGES & count));
  EXPECT(count == 5);
#ifdef OPWRIGHT_EMULATION /* which has CUDA 13's functions, too */
  cudaGraphEdgeData edges[5] = {{1}};
  cudaGraphNode_t starts[5], ends[5];
  EXPECT(cudaGraphAddDependencies(graph, &set, &host, edges, 1) == cudaErrorNotSupported && cudaGetLastError());
  DONE(cudaGraphGetEdges(graph, starts, ends, edges, &count));
  EXPECT(count == 5 && !edges[0].from_port);
#endif
  cudaGraphNodeType type;
  DONE(cudaGraphNodeGetType(host, &type));
  EXPECT(type == cudaGraphNodeTypeHost);

  cudaGraphExec_t exec;
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphLaunch(exec, 0));
  DONE(cudaDeviceSynchronize());
  EXPECT(back[0] == (0x00010002 + 4) * 3 && back[31] == back[0] && called == 1);

  by = 6;
  DONE(cudaGraphExecKernelNodeSetParams(exec, add, &kernel));
  value.value = 1;
  DONE(cudaGraphExecMemsetNodeSetParams(exec, set, &value));
  DONE(cudaGraphLaunch(exec, 0));
  DONE(cudaDeviceSynchronize());
  EXPECT(back[7] == (1 + 6) * 3 && called == 2);

  /* The graph has kept the old ones; its clone's nodes are found by its own. */
  cudaGraph_t clone;
  cudaGraphNode_t in_clone;
  DONE(cudaGraphClone(&clone, graph));
  DONE(cudaGraphNodeFindInClone(&in_clone, set, clone));
  DONE(cudaGraphMemsetNodeSetParams(in_clone, &value));
  cudaGraphExec_t of_clone;
  DONE(cudaGraphInstantiate(&of_clone, clone, 0));
  DONE(cudaGraphLaunch(of_clone, 0));
  DONE(cudaDeviceSynchronize());
  EXPECT(back[7] == (1 + 4) * 3);

  /* As a whole, into what is instantiated, and as a node. */
  cudaGraphExecUpdateResultInfo info;
  DONE(cudaGraphExecUpdate(exec, clone, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  DONE(cudaGraphLaunch(exec, 0));
  DONE(cudaDeviceSynchronize());
  EXPECT(back[7] == (1 + 4) * 3 && called == 4);
  cudaGraph_t outer;
  cudaGraphNode_t within;
  cudaGraphExec_t of_outer;
  DONE(cudaGraphCreate(&outer, 0));
  DONE(cudaGraphAddChildGraphNode(&within, outer, nullptr, 0, graph));
  kernel.kernelParams = of_add;
  by = 1;
  DONE(cudaGraphAddKernelNode(&add, outer, &within, 1, &kernel));
  DONE(cudaGraphInstantiate(&of_outer, outer, 0));
  DONE(cudaGraphLaunch(of_outer, 0));
  DONE(cudaDeviceSynchronize());
  EXPECT(all_are(x, (0x00010002 + 4) * 3 + 1) && called == 5);
  EXPECT(cudaGraphExecUpdate(exec, outer, &info) == cudaErrorGraphExecUpdateFailure);
  EXPECT(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
  for (cudaGraphExec_t each : {exec, of_clone, of_outer}) DONE(cudaGraphExecDestroy(each));
  for (cudaGraph_t each : {graph, clone, outer}) DONE(cudaGraphDestroy(each));
  return cudaFree(x);
}

/* Copies of boxes: to an array, between two, back; against loops. The parameters are kept, the memory is read at the launch. */
EXPORT int boxes() {
  const int w = 4, h = 3, d = 5, bw = 2, bh = 2, bd = 3;
  int image[w * h * d], back[w * h * d];
  for (int i = 0; i < w * h * d; ++i) image[i] = i, back[i] = -1;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t one, other;
  DONE(cudaMalloc3DArray(&one, &desc, make_cudaExtent(w, h, d)));
  DONE(cudaMalloc3DArray(&other, &desc, make_cudaExtent(w, h, d)));
  cudaMemcpy3DParms in = {}, part = {}, out = {};
  in.srcPtr = make_cudaPitchedPtr(image, w * sizeof(int), w, h);
  in.dstArray = one;
  in.extent = make_cudaExtent(w, h, d);
  in.kind = cudaMemcpyHostToDevice;
  DONE(cudaMemcpy3D(&in)); /* so that all of the other one is set */
  in.dstArray = other;
  part.srcArray = one;
  part.srcPos = make_cudaPos(1, 1, 2);
  part.dstArray = other;
  part.dstPos = make_cudaPos(2, 0, 1);
  part.extent = make_cudaExtent(bw, bh, bd);
  part.kind = cudaMemcpyDeviceToDevice;
  out.srcArray = other;
  out.dstPtr = make_cudaPitchedPtr(back, w * sizeof(int), w, h);
  out.extent = in.extent;
  out.kind = cudaMemcpyDeviceToHost;
  cudaGraph_t graph;
  cudaGraphNode_t first, second, third;
  DONE(cudaGraphCreate(&graph, 0));
  DONE(cudaGraphAddMemcpyNode(&third, graph, nullptr, 0, &out));
  DONE(cudaGraphAddMemcpyNode(&second, graph, nullptr, 0, &part));
  DONE(cudaGraphAddMemcpyNode(&first, graph, nullptr, 0, &in));
  DONE(cudaGraphAddDependencies(graph, &second, &third, EDGES 1));
  DONE(cudaGraphAddDependencies(graph, &first, &second, EDGES 1));
  cudaGraphNodeType type;
  DONE(cudaGraphNodeGetType(second, &type));
  EXPECT(type == cudaGraphNodeTypeMemcpy);
  for (int moved : {0, 1}) {
    part.dstPos.z = 1 + moved;
    DONE(cudaGraphMemcpyNodeSetParams(second, &part));
    cudaGraphExec_t exec;
    DONE(cudaGraphInstantiate(&exec, graph, 0));
    for (int &each : image) each += 100;
    DONE(cudaGraphLaunch(exec, 0));
    DONE(cudaDeviceSynchronize());
    DONE(cudaGraphExecDestroy(exec));
    for (int z = 0; z < d; ++z)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x) {
          const int at = (z * h + y) * w + x, bz = z - 1 - moved;
          const bool inside = x >= 2 && x < 2 + bw && y < bh && bz >= 0 && bz < bd;
          EXPECT(back[at] == (inside ? ((bz + 2) * h + y + 1) * w + x - 1 : at + 100 * (moved + 1)));
        }
  }
  /* What doesn't lie within an array is refused at once. */
  part.dstPos.z = 3;
  EXPECT(cudaGraphAddMemcpyNode(&first, graph, nullptr, 0, &part) == cudaErrorInvalidValue);
  EXPECT(cudaGraphMemcpyNodeSetParams(second, &part) == cudaErrorInvalidValue);
  EXPECT(cudaGraphAddMemcpyNode(&first, graph, nullptr, 0, nullptr) == cudaErrorInvalidValue);
  cudaGetLastError();
  DONE(cudaGraphDestroy(graph));
  DONE(cudaFreeArray(one));
  return cudaFreeArray(other);
}

EXPORT int wrong_nodes() {
  cudaGraph_t graph, other;
  cudaGraphNode_t one, two, elsewhere;
  cudaGraphExec_t exec;
  DONE(cudaGraphCreate(&graph, 0));
  DONE(cudaGraphCreate(&other, 0));
  DONE(cudaGraphAddEmptyNode(&elsewhere, other, nullptr, 0));
  EXPECT(cudaGraphAddEmptyNode(&one, graph, &elsewhere, 1) == cudaErrorInvalidValue);
  DONE(cudaGraphAddEmptyNode(&one, graph, nullptr, 0));
  DONE(cudaGraphAddEmptyNode(&two, graph, &one, 1));
  EXPECT(cudaGraphAddDependencies(graph, &one, &two, EDGES 1) == cudaErrorInvalidValue);
  EXPECT(cudaGraphAddDependencies(graph, &one, &elsewhere, EDGES 1) == cudaErrorInvalidValue);
  cudaMemsetParams value = {};
  EXPECT(cudaGraphAddMemsetNode(&elsewhere, graph, nullptr, 0, &value) == cudaErrorInvalidValue);
  cudaGetLastError();
  DONE(cudaGraphAddDependencies(graph, &two, &one, EDGES 1));
  EXPECT(cudaGraphInstantiate(&exec, graph, 0) == cudaErrorInvalidValue); /* a circle */
  cudaGetLastError();
  DONE(cudaGraphRemoveDependencies(graph, &two, &one, EDGES 1));
  DONE(cudaGraphInstantiate(&exec, graph, 0));
  DONE(cudaGraphExecDestroy(exec));
  DONE(cudaGraphDestroy(graph));
  return cudaGraphDestroy(other);
}
