// Graphs as such: copies, the order of their nodes, and how they are run.
#include "graph.h"

#include <opwright/emulation/hooks.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "capture.h"

namespace {

CUgraphNode_st copied(const CUgraphNode_st &node) {
  CUgraphNode_st copy{node.type, node.called, node.work, nullptr, {}, &node};
  if (node.child) copy.child = node.child->clone();
  return copy;
}

}  // namespace

CUgraphNode_st *CUgraph_st::add(CUgraphNode_st node) {
  nodes.push_back(std::make_unique<CUgraphNode_st>(std::move(node)));
  return nodes.back().get();
}

bool CUgraph_st::has(const CUgraphNode_st *node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto &each) { return each.get() == node; });
}

CUgraphNode_st *CUgraph_st::copy_of(const CUgraphNode_st *original) const {
  for (const auto &each : nodes)
    if (each->original == original) return each.get();
  return nullptr;
}

std::unique_ptr<CUgraph_st> CUgraph_st::clone() const {
  auto clone = std::make_unique<CUgraph_st>();
  std::unordered_map<const CUgraphNode_st *, CUgraphNode_st *> copies;
  for (const auto &each : nodes) copies[each.get()] = clone->add(copied(*each));
  for (const auto &each : nodes)
    for (const CUgraphNode_st *needed : each->needs) copies[each.get()]->needs.push_back(copies[needed]);
  return clone;
}

std::vector<CUgraphNode_st *> CUgraph_st::in_order() const {
  std::vector<CUgraphNode_st *> order;
  std::set<const CUgraphNode_st *> done;
  const auto is_ready = [&](const CUgraphNode_st *node) {
    return std::all_of(node->needs.begin(), node->needs.end(), [&](const auto *each) { return done.count(each); });
  };
  for (bool found = true; found;) { /* in one go, where nodes were added behind those that they need */
    found = false;
    for (const auto &each : nodes) {
      if (done.count(each.get()) || !is_ready(each.get())) continue;
      order.push_back(each.get());
      done.insert(each.get());
      found = true;
    }
  }
  return order;
}

namespace opwright::emulation {
namespace {

thread_local const char *failure_of_kernel = nullptr;

// For the checker each node is a stream of its own, which waits for those that it needs: what nothing orders is seen.
class Ordered {
 public:
  Ordered(const CUgraph_st &graph, const void *stream) : graph_(graph), stream_(stream) {
    if (hooks() && hooks()->event_recorded) hooks()->event_recorded(&graph_, stream_);
  }
  Ordered(const Ordered &) = delete;
  void begin(const CUgraphNode_st *node) const {
    if (!hooks() || !hooks()->event_waited) return;
    if (hooks()->stream_created) hooks()->stream_created(node, true);
    hooks()->event_waited(&graph_, node, false);
    for (const CUgraphNode_st *needed : node->needs) hooks()->event_waited(needed, node, false);
  }
  void end(const CUgraphNode_st *node) const {
    if (!hooks() || !hooks()->event_waited) return;
    hooks()->event_recorded(node, node);
    hooks()->event_waited(node, stream_, false);
  }

 private:
  const CUgraph_st &graph_;
  const void *stream_;
};

/* What comes later in the stream waits for all nodes, which is told when each ends: nothing of the stream's comes between. */
cudaError_t run_graph(const CUgraph_st &graph, const void *stream) {
  const Ordered ordered(graph, stream);
  for (const CUgraphNode_st *node : graph.in_order()) {
    ordered.begin(node);
    Called called = node->called;
    called.stream = node, called.async = true;
    const cudaError_t error = node->child  ? run_graph(*node->child, node)
                              : node->work ? node->work(called)
                                           : cudaSuccess;
    ordered.end(node);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

struct KeptBody {
  Launch launch;
  explicit KeptBody(const Launch &kept) : launch(kept) {}
  KeptBody(const KeptBody &) = delete;
  ~KeptBody() { launch.dropped(launch.body); }
};

}  // namespace

const char *failed_kernel() { return failure_of_kernel; }

NodeWork kernel_work(const Launch &kept) {
  const auto body = std::make_shared<const KeptBody>(kept);
  return [body](const Called &called) {
    Launch launch = body->launch;
    launch.configuration.stream = called.stream;
    failure_of_kernel = run(launch);
    return failure_of_kernel ? cudaErrorLaunchFailure : cudaSuccess;
  };
}

cudaError_t launch_graph(cudaGraphExec_t exec, const Called &called, const char **failure) {
  *failure = failure_of_kernel = nullptr;
  if (!exec) return note(cudaErrorInvalidValue, called, "the graph is a null pointer");
  cudaError_t error;
  const std::shared_ptr<CUgraph_st> whole = captures ? std::shared_ptr<CUgraph_st>(exec->graph->clone()) : nullptr;
  const auto as_child = [whole](const Called &in) { return run_graph(*whole, in.stream); };
  if (captures && captured(called, cudaGraphNodeTypeGraph, as_child, &error)) return error;
  error = run_graph(*exec->graph, called.stream);
  *failure = failure_of_kernel;
  return error;
}

}  // namespace opwright::emulation
