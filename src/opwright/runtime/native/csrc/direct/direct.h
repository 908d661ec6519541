// The direct path: a call from Python that goes past PyTorch's parser and dispatcher, where nobody else listens to them.
// python_call.cpp reads the arguments, direct.cpp runs the operator.
#pragma once
#include "call/chooser.h"
#include "direct/given.h"

namespace opw {

// A parameter: what it takes, and whether it can be left out.
struct Parameter {
  Given::Is takes = Given::Is::None;  // None: nothing but its default
  bool takes_none = false;
  bool can_be_left_out = false;
  Given otherwise;           // the default
  std::string default_text;  // where that is text
};

// What a call on the direct path needs to know of an operator.
struct Direct {
  const Operator &op;
  std::vector<Parameter> parameters;  // in the schema's order
  // Of what chooses between alternatives: that, and they. `op` is the first one's then.
  const Chooser *chooser = nullptr;
  std::vector<std::unique_ptr<Direct>> alternatives = {};

  // What runs for these arguments: an alternative, or this; null where none fits.
  const Direct *chosen(const Arguments &arguments) const;
};

using Results = c10::SmallVector<at::Tensor, 4>;

enum class Way { Dispatcher, Kernel, Autograd };

// Nothing for operators that PyTorch has to call: those without tensors, backwards, those that return counts, and those with
// arguments that Given isn't for.
std::unique_ptr<Direct> direct(const Operator &op);
// The same for what chooses; nothing where an alternative has none.
std::unique_ptr<Direct> direct(const Chooser &chooser);
// Which way a call has to go. The direct ones need plain tensors, and that no mode, transform, profiler or guard intervenes.
Way way_of(const Direct &direct, const Arguments &arguments);
// Calls the operator on a direct way. Without the GIL.
void run(const Direct &direct, Way way, const Arguments &arguments, Results &results);

}  // namespace opw
