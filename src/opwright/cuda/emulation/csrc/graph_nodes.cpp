// Graphs that are made node by node, what is instantiated from them, and changed.
#include <opwright/emulation/forks.h>

#include <algorithm>
#include <map>

#include "capture.h"
#include "graph.h"
#include "texture_arrays.h"

namespace opwright::emulation {
namespace {

struct Kernels {
  Mutex<> mutex;
  std::map<const void *, std::pair<KernelMaker, const char *>> known;
};
Kernels &kernels() {
  static Lasting<Kernels> only;
  return *only;
}

cudaError_t invalid(const Called &called, const char *why) { return note(cudaErrorInvalidValue, called, why); }

cudaError_t work_of(const cudaKernelNodeParams *how, NodeWork *work, const Called &called) {
  if (!how) return invalid(called, "the parameters are a null pointer");
  if (how->extra)
    return note(cudaErrorNotSupported, called, "arguments in `extra` can't be emulated: use kernelParams");
  const Configuration given = configuration(how->gridDim, how->blockDim, how->sharedMemBytes);
  Launch launch;
  if (!made_launch(how->func, given, how->kernelParams, called.file, called.line, &launch))
    return note(cudaErrorInvalidDeviceFunction, called,
                "the function isn't known as a kernel: its address is taken as (void *)kernel, in a source of CUDA's");
  *work = kernel_work(launch);
  return cudaSuccess;
}

cudaError_t work_of(const NodeCopy &how, NodeWork *work, const Called &called) {
  if (!how.to || !how.from) return invalid(called, "the destination or the source is a null pointer");
  *work = [how](const Called &now) { return copy(how.to, how.from, how.bytes, how.kind, now); };
  return cudaSuccess;
}

cudaError_t work_of(const cudaMemcpy3DParms *how, NodeWork *work, const Called &called) {
  const std::string why = unfit(how);
  if (!why.empty()) return invalid(called, why.c_str());
  const cudaMemcpy3DParms kept = *how;
  *work = [kept](const Called &now) { return copy_3d(&kept, now); };
  return cudaSuccess;
}

cudaError_t work_of(const cudaMemsetParams *how, NodeWork *work, const Called &called) {
  if (!how || !how->dst) return invalid(called, "the parameters or the destination are a null pointer");
  if (how->elementSize != 1 && how->elementSize != 2 && how->elementSize != 4)
    return invalid(called, "an element has 1, 2 or 4 bytes");
  const cudaMemsetParams kept = *how;
  *work = [kept](const Called &now) {
    const size_t width = kept.width * kept.elementSize, pitch = kept.height > 1 ? kept.pitch : width;
    return fill_rows(kept.dst, pitch, int(kept.value), width, kept.height, now, kept.elementSize);
  };
  return cudaSuccess;
}

cudaError_t work_of(const cudaHostNodeParams *how, NodeWork *work, const Called &called) {
  if (!how || !how->fn) return invalid(called, "the parameters or the function are a null pointer");
  const cudaHostNodeParams kept = *how;
  *work = [kept](const Called &) { return kept.fn(kept.userData), cudaSuccess; };
  return cudaSuccess;
}

cudaError_t placed(const NodePlace &place, CUgraphNode_st node, const Called &called) {
  if (!place.node || !place.graph || (place.count && !place.needed))
    return invalid(called, "the node, the graph or its dependencies are a null pointer");
  for (size_t i = 0; i < place.count; ++i)
    if (!place.graph->has(place.needed[i])) return invalid(called, "a dependency isn't a node of the graph");
  node.needs.assign(place.needed, place.needed + place.count);
  node.called = called;
  *place.node = place.graph->add(std::move(node));
  return cudaSuccess;
}

template <class How>
cudaError_t added(const NodePlace &place, cudaGraphNodeType type, const How &how, const Called &called) {
  NodeWork work;
  const cudaError_t error = work_of(how, &work, called);
  return error != cudaSuccess ? error : placed(place, {type, {}, work, nullptr, {}}, called);
}

template <class How>
cudaError_t replaced(const NodeKept &kept, cudaGraphNodeType type, const How &how, const Called &called) {
  CUgraphNode_st *node = kept.exec ? kept.exec->graph->copy_of(kept.node) : kept.node;
  if (!node) return invalid(called, "the node isn't of the graph that was instantiated");
  if (node->type != type) return invalid(called, "the node is of another type");
  NodeWork work;
  const cudaError_t error = work_of(how, &work, called);
  if (error != cudaSuccess) return error;
  node->work = work;
  node->called = called;
  return cudaSuccess;
}

/* As many as there is room for, where there is an array; and how many there are. */
cudaError_t listed(const std::vector<CUgraphNode_st *> &all, cudaGraphNode_t *nodes, size_t *count) {
  if (nodes) std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
  *count = nodes ? std::min(*count, all.size()) : all.size();
  return cudaSuccess;
}

}  // namespace

void know_kernel(const void *address, KernelMaker maker, const char *name) {
  const std::lock_guard lock(kernels().mutex);
  kernels().known[address] = {maker, name};
}

bool made_launch(const void *kernel, const Configuration &given, void **arguments, const char *file, int line,
                 Launch *launch) {
  std::pair<KernelMaker, const char *> how{};
  {
    const std::lock_guard lock(kernels().mutex);
    const auto found = kernels().known.find(kernel);
    if (found == kernels().known.end()) return false;
    how = found->second;
  }
  *launch = how.first(kernel, given, arguments, file, line);
  launch->kernel = how.second;
  return true;
}

cudaError_t create_graph(cudaGraph_t *graph, const Called &called) {
  if (!graph) return invalid(called, "the graph is a null pointer");
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t destroy_graph(cudaGraph_t graph, const Called &called) {
  if (!graph) return invalid(called, "the graph is a null pointer");
  delete graph;
  return cudaSuccess;
}
cudaError_t clone_graph(cudaGraph_t *clone, cudaGraph_t graph, const Called &called) {
  if (!clone || !graph) return invalid(called, "the graph is a null pointer");
  *clone = graph->clone().release();
  return cudaSuccess;
}
cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, const Called &called) {
  if (!exec || !graph) return invalid(called, "the graph is a null pointer");
  if (graph->in_order().size() < graph->nodes.size()) return invalid(called, "nodes need each other in a circle");
  *exec = new CUgraphExec_st{graph->clone()};
  return cudaSuccess;
}
cudaError_t destroy_exec(cudaGraphExec_t exec, const Called &called) {
  if (!exec) return invalid(called, "the graph is a null pointer");
  delete exec;
  return cudaSuccess;
}

cudaError_t update_exec(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info,
                        const Called &called) {
  if (!exec || !graph || !info) return invalid(called, "an argument is a null pointer");
  const auto &before = exec->graph->nodes, &after = graph->nodes;
  const auto index = [](const auto &nodes, const CUgraphNode_st *node) {
    return std::find_if(nodes.begin(), nodes.end(), [&](const auto &each) { return each.get() == node; }) -
           nodes.begin();
  };
  *info = {cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
  bool same = before.size() == after.size();
  for (size_t i = 0; same && i < before.size(); ++i) {
    info->errorNode = after[i].get();
    const auto &needed = before[i]->needs, &needs = after[i]->needs;
    same = std::equal(needed.begin(), needed.end(), needs.begin(), needs.end(),
                      [&](const auto *one, const auto *other) { return index(before, one) == index(after, other); });
    if (same && before[i]->type != after[i]->type) {
      info->result = cudaGraphExecUpdateErrorNodeTypeChanged;
      same = false;
    }
  }
  if (!same) return note(cudaErrorGraphExecUpdateFailure, called, "the graph has other nodes or dependencies");
  *info = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  for (size_t i = 0; i < before.size(); ++i) {
    before[i]->work = after[i]->work, before[i]->called = after[i]->called;
    before[i]->child = after[i]->child ? after[i]->child->clone() : nullptr;
  }
  return cudaSuccess;
}

cudaError_t add_kernel(const NodePlace &place, const cudaKernelNodeParams *how, const Called &called) {
  return added(place, cudaGraphNodeTypeKernel, how, called);
}
cudaError_t add_copy(const NodePlace &place, const NodeCopy &how, const Called &called) {
  return added(place, cudaGraphNodeTypeMemcpy, how, called);
}
cudaError_t add_copy(const NodePlace &place, const cudaMemcpy3DParms *how, const Called &called) {
  return added(place, cudaGraphNodeTypeMemcpy, how, called);
}
cudaError_t add_set(const NodePlace &place, const cudaMemsetParams *how, const Called &called) {
  return added(place, cudaGraphNodeTypeMemset, how, called);
}
cudaError_t add_host(const NodePlace &place, const cudaHostNodeParams *how, const Called &called) {
  return added(place, cudaGraphNodeTypeHost, how, called);
}
cudaError_t add_child(const NodePlace &place, cudaGraph_t child, const Called &called) {
  if (!child || child == place.graph) return invalid(called, "the graph within is a null pointer, or the graph itself");
  return placed(place, {cudaGraphNodeTypeGraph, {}, nullptr, child->clone(), {}}, called);
}
cudaError_t add_empty(const NodePlace &place, const Called &called) {
  return placed(place, {cudaGraphNodeTypeEmpty, {}, nullptr, nullptr, {}}, called);
}
cudaError_t replace_kernel(const NodeKept &kept, const cudaKernelNodeParams *how, const Called &called) {
  return replaced(kept, cudaGraphNodeTypeKernel, how, called);
}
cudaError_t replace_copy(const NodeKept &kept, const NodeCopy &how, const Called &called) {
  return replaced(kept, cudaGraphNodeTypeMemcpy, how, called);
}
cudaError_t replace_copy(const NodeKept &kept, const cudaMemcpy3DParms *how, const Called &called) {
  return replaced(kept, cudaGraphNodeTypeMemcpy, how, called);
}
cudaError_t replace_set(const NodeKept &kept, const cudaMemsetParams *how, const Called &called) {
  return replaced(kept, cudaGraphNodeTypeMemset, how, called);
}
cudaError_t replace_host(const NodeKept &kept, const cudaHostNodeParams *how, const Called &called) {
  return replaced(kept, cudaGraphNodeTypeHost, how, called);
}

cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count,
                      bool adds, const cudaGraphEdgeData *how, const Called &called) {
  if (!graph || (count && (!from || !to))) return invalid(called, "an argument is a null pointer");
  for (size_t i = 0; how && i < count; ++i)
    if (how[i].from_port || how[i].to_port || how[i].type)
      return note(cudaErrorNotSupported, called, "dependencies on a part of a kernel aren't emulated");
  for (size_t i = 0; i < count; ++i)
    if (!graph->has(from[i]) || !graph->has(to[i]) || from[i] == to[i])
      return invalid(called, "both ends of a dependency have to be nodes of the graph, two of them");
  for (size_t i = 0; i < count; ++i) {
    auto &needs = to[i]->needs;
    const auto found = std::find(needs.begin(), needs.end(), from[i]);
    if ((found == needs.end()) != adds)
      return invalid(called, adds ? "the dependency is there already" : "there is no such dependency");
    if (adds) needs.push_back(from[i]);
    else needs.erase(found);
  }
  return cudaSuccess;
}

cudaError_t list_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count, bool roots, const Called &called) {
  if (!graph || !count) return invalid(called, "an argument is a null pointer");
  std::vector<CUgraphNode_st *> all;
  for (const auto &each : graph->nodes)
    if (!roots || each->needs.empty()) all.push_back(each.get());
  return listed(all, nodes, count);
}
cudaError_t list_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count,
                       const Called &called) {
  if (!graph || !count || !from != !to) return invalid(called, "an argument is a null pointer");
  std::vector<CUgraphNode_st *> all_from, all_to;
  for (const auto &each : graph->nodes)
    for (CUgraphNode_st *needed : each->needs) all_from.push_back(needed), all_to.push_back(each.get());
  size_t room = *count;
  listed(all_from, from, &room);
  return listed(all_to, to, count);
}
cudaError_t list_needed(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count, const Called &called) {
  if (!node || !count) return invalid(called, "an argument is a null pointer");
  return listed(node->needs, nodes, count);
}
cudaError_t type_of_node(cudaGraphNode_t node, cudaGraphNodeType *type, const Called &called) {
  if (!node || !type) return invalid(called, "an argument is a null pointer");
  *type = node->type;
  return cudaSuccess;
}
cudaError_t find_in_clone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone, const Called &called) {
  if (!node || !clone) return invalid(called, "an argument is a null pointer");
  *node = clone->copy_of(original);
  return *node ? cudaSuccess : invalid(called, "the graph isn't a clone of the node's");
}

}  // namespace opwright::emulation
