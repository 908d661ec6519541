/* CUDA graphs: their types, and the runtime's part (csrc/graph*.cpp, csrc/capture.cpp). The functions are in cuda_graph_api.h. */
#ifndef OPWRIGHT_EMULATION_CUDA_GRAPH_H
#define OPWRIGHT_EMULATION_CUDA_GRAPH_H

#include "cuda_api.h"
#include "launch_pointer.h"

typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
struct cudaMemcpy3DParms; /* textures/types.h */

enum cudaGraphNodeType {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5
};
#pragma push_macro("gridDim") /* which C++ that isn't rewritten has */
#pragma push_macro("blockDim")
#undef gridDim
#undef blockDim
struct cudaKernelNodeParams {
  void *func;
  dim3 gridDim;
  dim3 blockDim;
  unsigned sharedMemBytes;
  void **kernelParams, **extra;
};
#pragma pop_macro("gridDim")
#pragma pop_macro("blockDim")
struct cudaMemsetParams {
  void *dst;
  size_t pitch;
  unsigned value, elementSize;
  size_t width, height;
};
struct cudaHostNodeParams {
  cudaHostFn_t fn;
  void *userData;
};
/* Of dependencies on a part of a kernel, which aren't emulated: zeroes. */
struct cudaGraphEdgeData { unsigned char from_port, to_port, type, reserved[5]; };
enum cudaGraphExecUpdateResult {
  cudaGraphExecUpdateSuccess = 0,
  cudaGraphExecUpdateError = 1,
  cudaGraphExecUpdateErrorTopologyChanged = 2,
  cudaGraphExecUpdateErrorNodeTypeChanged = 3
};
struct cudaGraphExecUpdateResultInfo {
  enum cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode, errorFromNode;
};
enum cudaGraphInstantiateFlags {
  cudaGraphInstantiateFlagAutoFreeOnLaunch = 1,
  cudaGraphInstantiateFlagUpload = 2,
  cudaGraphInstantiateFlagUseNodePriority = 8
};
enum cudaStreamUpdateCaptureDependenciesFlags {
  cudaStreamAddCaptureDependencies = 0,
  cudaStreamSetCaptureDependencies = 1
};

namespace opwright {
namespace emulation {

/* Of a stream's capture. */
struct CaptureState {
  cudaStreamCaptureStatus status;
  unsigned long long id;
  cudaGraph_t graph;
  const cudaGraphNode_t *needed; /* by what is given to the stream next */
  size_t count;
};
OPWRIGHT_EMULATION_API cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t capture_state(cudaStream_t stream, CaptureState *state, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t change_needed(cudaStream_t stream, const cudaGraphNode_t *needed, size_t count,
                                                 bool adds, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t exchange_capture_mode(cudaStreamCaptureMode *mode);
OPWRIGHT_EMULATION_API cudaError_t launch_host(cudaHostFn_t function, void *data, const Called &called);

/* Where a node goes: into a graph, behind others. */
struct NodePlace {
  cudaGraphNode_t *node;
  cudaGraph_t graph;
  const cudaGraphNode_t *needed;
  size_t count;
};
/* Which one's work is replaced: a graph's, or, where `exec` isn't null, what was instantiated from it. */
struct NodeKept {
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
};
struct NodeCopy {
  void *to;
  const void *from;
  size_t bytes;
  cudaMemcpyKind kind;
};
OPWRIGHT_EMULATION_API cudaError_t create_graph(cudaGraph_t *graph, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t destroy_graph(cudaGraph_t graph, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t clone_graph(cudaGraph_t *clone, cudaGraph_t graph, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t destroy_exec(cudaGraphExec_t exec, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t update_exec(cudaGraphExec_t exec, cudaGraph_t graph,
                                               cudaGraphExecUpdateResultInfo *info, const Called &called);
/* `failure`: what went wrong in a kernel, else null. */
OPWRIGHT_EMULATION_API cudaError_t launch_graph(cudaGraphExec_t exec, const Called &called, const char **failure);
OPWRIGHT_EMULATION_API cudaError_t add_kernel(const NodePlace &place, const cudaKernelNodeParams *how,
                                              const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_copy(const NodePlace &place, const NodeCopy &how, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_copy(const NodePlace &place, const cudaMemcpy3DParms *how, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_set(const NodePlace &place, const cudaMemsetParams *how, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_host(const NodePlace &place, const cudaHostNodeParams *how,
                                            const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_child(const NodePlace &place, cudaGraph_t child, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_empty(const NodePlace &place, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t replace_kernel(const NodeKept &kept, const cudaKernelNodeParams *how,
                                                  const Called &called);
OPWRIGHT_EMULATION_API cudaError_t replace_copy(const NodeKept &kept, const NodeCopy &how, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t replace_copy(const NodeKept &kept, const cudaMemcpy3DParms *how,
                                                const Called &called);
OPWRIGHT_EMULATION_API cudaError_t replace_set(const NodeKept &kept, const cudaMemsetParams *how, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t replace_host(const NodeKept &kept, const cudaHostNodeParams *how,
                                                const Called &called);
OPWRIGHT_EMULATION_API cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                             size_t count, bool adds, const cudaGraphEdgeData *how,
                                             const Called &called);
/* Up to *count of them into `nodes`; how many there are into *count. `roots`: those that need no other. */
OPWRIGHT_EMULATION_API cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count, bool roots,
                                              const Called &called);
OPWRIGHT_EMULATION_API cudaError_t list_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                              size_t *count, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t list_needed(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count,
                                               const Called &called);
OPWRIGHT_EMULATION_API cudaError_t type_of_node(cudaGraphNode_t node, cudaGraphNodeType *type, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t find_in_clone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone,
                                                 const Called &called);

}  // namespace emulation
}  // namespace opwright

#endif
