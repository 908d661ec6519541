// CUDA graphs: work that is kept, and what has to be done before it.
#pragma once

#include <opwright/emulation/cuda_graph.h>

#include <functional>
#include <memory>
#include <vector>

#undef gridDim /* they are members here */
#undef blockDim

namespace opwright::emulation {

// Does a node's work, in the stream that the call names. A kernel that goes wrong is a failed_kernel().
using NodeWork = std::function<cudaError_t(const Called &)>;

}  // namespace opwright::emulation

struct CUgraphNode_st {
  cudaGraphNodeType type;
  opwright::emulation::Called called;  // what gave the work
  opwright::emulation::NodeWork work;
  std::shared_ptr<CUgraph_st> child;  // in place of work
  std::vector<CUgraphNode_st *> needs;
  const CUgraphNode_st *original = nullptr;  // of a clone or of an instance
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;

  CUgraphNode_st *add(CUgraphNode_st node);
  bool has(const CUgraphNode_st *node) const;
  CUgraphNode_st *copy_of(const CUgraphNode_st *original) const;  // null: there is none
  std::unique_ptr<CUgraph_st> clone() const;
  // Every node after those that it needs; fewer than all of them, if they need each other in a circle.
  std::vector<CUgraphNode_st *> in_order() const;
};

struct CUgraphExec_st { std::unique_ptr<CUgraph_st> graph; };

namespace opwright::emulation {

// The work of a kernel whose launch has been copied, and of the parameters of other nodes.
NodeWork kernel_work(const Launch &kept);
const char *failed_kernel();  // on this OS thread, since the last launch; or null

}  // namespace opwright::emulation
