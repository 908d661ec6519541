/* CUDA graphs and the capture of streams: the functions. */
#ifndef OPWRIGHT_EMULATION_CUDA_GRAPH_API_H
#define OPWRIGHT_EMULATION_CUDA_GRAPH_API_H

#include "cuda_graph.h"

/* Capture. */
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::begin_capture(stream, mode, {"cudaStreamBeginCapture", file, line});
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::end_capture(stream, graph, {"cudaStreamEndCapture", file, line});
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                         OPWRIGHT_EMULATION_HERE) {
  ::opwright::emulation::CaptureState state;
  const cudaError_t error = ::opwright::emulation::capture_state(stream, &state, {"cudaStreamIsCapturing", file, line});
  *status = state.status;
  return error;
}
inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                               unsigned long long *id = nullptr, cudaGraph_t *graph = nullptr,
                                               const cudaGraphNode_t **needed = nullptr, size_t *count = nullptr,
                                               OPWRIGHT_EMULATION_HERE) {
  ::opwright::emulation::CaptureState state;
  const cudaError_t error =
      ::opwright::emulation::capture_state(stream, &state, {"cudaStreamGetCaptureInfo", file, line});
  *status = state.status;
  if (id) *id = state.id;
  if (graph) *graph = state.graph;
  if (needed) *needed = state.needed;
  if (count) *count = state.count;
  return error;
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                            unsigned long long *id = nullptr, OPWRIGHT_EMULATION_HERE) {
  return cudaStreamGetCaptureInfo_v2(stream, status, id, nullptr, nullptr, nullptr, file, line);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *needed, size_t count,
                                                       unsigned flags = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::change_needed(stream, needed, count, flags == cudaStreamAddCaptureDependencies,
                                              {"cudaStreamUpdateCaptureDependencies", file, line});
}
inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
  return ::opwright::emulation::exchange_capture_mode(mode);
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::launch_host(function, data, {"cudaLaunchHostFunc", file, line, stream, true});
}
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned,
                                         OPWRIGHT_EMULATION_HERE) {
  const cudaError_t error = ::opwright::emulation::host_work({"cudaStreamAddCallback", file, line, stream, true});
  if (error == cudaSuccess) {
    const ::opwright::emulation::HostFunction runs;
    callback(stream, cudaSuccess, data);
  }
  return error;
}

/* Graphs and their nodes. */
inline cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::create_graph(graph, {"cudaGraphCreate", file, line});
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::destroy_graph(graph, {"cudaGraphDestroy", file, line});
}
inline cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::clone_graph(clone, graph, {"cudaGraphClone", file, line});
}
inline cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone,
                                            OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::find_in_clone(node, original, clone, {"cudaGraphNodeFindInClone", file, line});
}
inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                          size_t count, const cudaKernelNodeParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_kernel({node, graph, needed, count}, how, {"cudaGraphAddKernelNode", file, line});
}
inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                            size_t count, void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                            OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_copy({node, graph, needed, count}, {to, from, bytes, kind},
                                         {"cudaGraphAddMemcpyNode1D", file, line});
}
inline cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                          size_t count, const cudaMemcpy3DParms *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_copy({node, graph, needed, count}, how, {"cudaGraphAddMemcpyNode", file, line});
}
inline cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                          size_t count, const cudaMemsetParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_set({node, graph, needed, count}, how, {"cudaGraphAddMemsetNode", file, line});
}
inline cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                        size_t count, const cudaHostNodeParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_host({node, graph, needed, count}, how, {"cudaGraphAddHostNode", file, line});
}
inline cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                              size_t count, cudaGraph_t child, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_child({node, graph, needed, count}, child,
                                          {"cudaGraphAddChildGraphNode", file, line});
}
inline cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *needed,
                                         size_t count, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_empty({node, graph, needed, count}, {"cudaGraphAddEmptyNode", file, line});
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                            size_t count, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_edges(graph, from, to, count, true, nullptr,
                                          {"cudaGraphAddDependencies", file, line});
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, size_t count, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_edges(graph, from, to, count, false, nullptr,
                                          {"cudaGraphRemoveDependencies", file, line});
}
inline cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::list_nodes(graph, nodes, count, false, {"cudaGraphGetNodes", file, line});
}
inline cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count,
                                         OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::list_nodes(graph, nodes, count, true, {"cudaGraphGetRootNodes", file, line});
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::list_edges(graph, from, to, count, {"cudaGraphGetEdges", file, line});
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count,
                                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::list_needed(node, nodes, count, {"cudaGraphNodeGetDependencies", file, line});
}
inline cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::type_of_node(node, type, {"cudaGraphNodeGetType", file, line});
}

/* As from CUDA 13 on. */
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                            const cudaGraphEdgeData *how, size_t count, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_edges(graph, from, to, count, true, how, {"cudaGraphAddDependencies", file, line});
}
inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                               const cudaGraphNode_t *to, const cudaGraphEdgeData *how, size_t count,
                                               OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::add_edges(graph, from, to, count, false, how,
                                          {"cudaGraphRemoveDependencies", file, line});
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                     cudaGraphEdgeData *how, size_t *count, OPWRIGHT_EMULATION_HERE) {
  const cudaError_t error = cudaGraphGetEdges(graph, from, to, count, file, line);
  for (size_t i = 0; how && error == cudaSuccess && i < *count; ++i) how[i] = {};
  return error;
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *how,
                                                size_t *count, OPWRIGHT_EMULATION_HERE) {
  const cudaError_t error = cudaGraphNodeGetDependencies(node, nodes, count, file, line);
  for (size_t i = 0; how && error == cudaSuccess && i < *count; ++i) how[i] = {};
  return error;
}
inline cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                            unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **needed,
                                            const cudaGraphEdgeData **how, size_t *count, OPWRIGHT_EMULATION_HERE) {
  if (how) *how = nullptr;
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, needed, count, file, line);
}

/* The work of nodes, in a graph or in what was instantiated from it. */
inline cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *how,
                                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_kernel({nullptr, node}, how, {"cudaGraphKernelNodeSetParams", file, line});
}
inline cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaKernelNodeParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_kernel({exec, node}, how, {"cudaGraphExecKernelNodeSetParams", file, line});
}
inline cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *how,
                                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_set({nullptr, node}, how, {"cudaGraphMemsetNodeSetParams", file, line});
}
inline cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                    const cudaMemsetParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_set({exec, node}, how, {"cudaGraphExecMemsetNodeSetParams", file, line});
}
inline cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams *how,
                                              OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_host({nullptr, node}, how, {"cudaGraphHostNodeSetParams", file, line});
}
inline cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                  const cudaHostNodeParams *how, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_host({exec, node}, how, {"cudaGraphExecHostNodeSetParams", file, line});
}
inline cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                                                  cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_copy({nullptr, node}, {to, from, bytes, kind},
                                             {"cudaGraphMemcpyNodeSetParams1D", file, line});
}
inline cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *how,
                                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_copy({nullptr, node}, how, {"cudaGraphMemcpyNodeSetParams", file, line});
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                      const void *from, size_t bytes, cudaMemcpyKind kind,
                                                      OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::replace_copy({exec, node}, {to, from, bytes, kind},
                                             {"cudaGraphExecMemcpyNodeSetParams1D", file, line});
}

/* Launches. */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long = 0,
                                        OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::instantiate(exec, graph, {"cudaGraphInstantiate", file, line});
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long = 0,
                                                 OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::instantiate(exec, graph, {"cudaGraphInstantiateWithFlags", file, line});
}
/* As before CUDA 12. */
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *at, char *log,
                                        size_t bytes, OPWRIGHT_EMULATION_HERE) {
  if (at) *at = nullptr;
  if (log && bytes) *log = 0;
  return ::opwright::emulation::instantiate(exec, graph, {"cudaGraphInstantiate", file, line});
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  const char *failure;
  const cudaError_t error =
      ::opwright::emulation::launch_graph(exec, {"cudaGraphLaunch", file, line, stream, true}, &failure);
  ::opwright::emulation::report_failure(failure);
  return error;
}
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info,
                                       OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::update_exec(exec, graph, info, {"cudaGraphExecUpdate", file, line});
}
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *at,
                                       cudaGraphExecUpdateResult *result, OPWRIGHT_EMULATION_HERE) {
  cudaGraphExecUpdateResultInfo info{cudaGraphExecUpdateError, nullptr, nullptr};
  const cudaError_t error = ::opwright::emulation::update_exec(exec, graph, &info, {"cudaGraphExecUpdate", file, line});
  if (at) *at = info.errorNode;
  if (result) *result = info.result;
  return error;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::destroy_exec(exec, {"cudaGraphExecDestroy", file, line});
}

/* "External" is an event that a captured graph records or waits for whenever it runs. */
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned flags = 0,
                                            OPWRIGHT_EMULATION_HERE) {
  const ::opwright::emulation::Called called{"cudaEventRecordWithFlags", file, line, stream, true};
  if (flags == cudaEventRecordDefault) return ::opwright::emulation::record_event(event, called);
  ::opwright::emulation::refuse_call(called, "events that a graph records aren't emulated: cudaEventRecordDefault");
  return cudaErrorNotSupported;
}

#define OPWRIGHT_EMULATION_NO_GRAPH(name)                           \
  template <class... A>                                             \
  cudaError_t name(A &&...) {                                       \
    static_assert(::opwright::emulation::never<A...>, #name         \
                  " isn't emulated: of graphs, kernels, copies, "   \
                  "memsets, host functions and graphs within are"); \
    return cudaErrorNotSupported;                                   \
  }
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddMemcpyNodeToSymbol)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddMemcpyNodeFromSymbol)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddMemAllocNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddMemFreeNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddEventRecordNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphAddEventWaitNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphConditionalHandleCreate)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphSetConditional)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphKernelNodeGetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphKernelNodeSetAttribute)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphMemcpyNodeGetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphExecMemcpyNodeSetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphMemsetNodeGetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphHostNodeGetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphChildGraphNodeGetGraph)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphExecChildGraphNodeSetParams)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphDestroyNode)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphNodeGetDependentNodes)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphNodeSetEnabled)
OPWRIGHT_EMULATION_NO_GRAPH(cudaGraphDebugDotPrint)
OPWRIGHT_EMULATION_NO_GRAPH(cudaStreamBeginCaptureToGraph)
#undef OPWRIGHT_EMULATION_NO_GRAPH

#endif
