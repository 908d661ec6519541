// The tensors of this OS thread's call.
#pragma once

#include <opwright/emulation/check.h>

#include <string>
#include <vector>

namespace opwright::emulation {

struct Lent {
  uintptr_t low, high;
  std::string name;
  Use use;
};

// The tensor of the call that `address` lies in, one that holds `bytes` bytes from there where there is such a one; or null.
const Lent *lent_at(const void *address, size_t bytes);

// All of them.
const std::vector<Lent> &all_lent();

}  // namespace opwright::emulation
