// `op.out` and `op_`: the results of an operator, in tensors that the caller gives (runtime/register/variants.py).
#pragma once
#include "call/operator.h"

namespace opw {

enum class VariantKind : int32_t { Out = 1, Inplace = 2 };

// Gives the dispatcher's operator `qualified` ("ns::name", overload), which is defined, its kernel. `name`: as messages say it.
void register_variant(const Operator &op, VariantKind kind, const char *qualified, const char *overload,
                      const char *name);

}  // namespace opw
