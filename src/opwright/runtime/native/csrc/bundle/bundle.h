// What a bundle holds (runtime/bundle/write.py writes it): operators to be registered without Python. Plain data.
#pragma once
#include "opwright/abi.h"

struct opw_bundle_kernel {
  const char *name, *shown, *signature;  // in its library; in messages, without what no author wrote; as written
  int32_t inputs;
  const char *const *input_names;
  const char *input_kinds;  // of each a letter: t, or l for a list
  int32_t scalars;
  const char *const *scalar_names;
  const char *
      scalar_kinds;  // of each scalar a letter: f, i, b, s, c (a choice); t and d (an element type, a device); a capital one where it is optional; of a list [ and that of its elements
  int32_t given;     // the sizes that come as arguments of their own
  int32_t ellipsis, dtype;  // whether the shape of `...` and an element type do
  int32_t derived;          // from a pointwise operator
};

// A kernel for certain element types on a device, and the table that has it. The table of one for "cuda" isn't asked for
// before a call needs it.
struct opw_bundle_instance {
  int32_t kernel;
  uint64_t types;             // csrc/plan/plan.h, Bound::types, with on_accelerator
  const char *name, *device;  // "T=f32", "cuda"
  opw_library_function table;
};

constexpr int32_t bundle_chooser = 3;

struct opw_bundle_operator {
  const char *name, *overload, *schema;  // "ns::foo", "sig_...", "ns::foo.sig_...(...) -> ..."
  int32_t tag_count;
  const int32_t *tags;  // at::Tag
  int32_t kernel, returns_residuals;
  int64_t plan_size;
  const int64_t *plan;
  int32_t forward, backward, jvp;  // operators of this bundle; -1: none
  int64_t wires_size;
  const int64_t *wires;
  const char *node_name, *missing;
  // Of the operator `forward`, see variants.h; 0: it is none. Then node_name is its name in messages. bundle_chooser: it chooses
  // between alternatives (chooser.h); `wires` has how many they are and which operators, then what decides; `missing` what they take.
  int32_t variant;
};

struct opw_bundle {
  const char *file;  // as it was called when it was written, for messages
  const char *ns;
  int32_t torch_major, torch_minor;
  int32_t kernel_count, instance_count, operator_count;
  const opw_bundle_kernel *kernels;
  const opw_bundle_instance *instances;
  const opw_bundle_operator *operators;
};

// The table of a kernel library whose file's bytes these are, opened at the first call. Throws where it can't be.
extern "C" const opw_library *opw_bundle_open(const opw_host *host, const unsigned char *bytes, size_t size);

// Registers what the dispatcher lacks. Null, or the text of what went wrong; that lives for ever. Throws nothing.
extern "C" const char *opw_bundle_register(const opw_bundle *bundle);
