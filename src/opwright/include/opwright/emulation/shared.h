/* __shared__ variables: a struct per declaration, in the shared memory of the block that runs. */
#ifndef OPWRIGHT_EMULATION_SHARED_H
#define OPWRIGHT_EMULATION_SHARED_H

#include "context.h"

namespace opwright {
namespace emulation {

/* A __shared__ declaration: gets a number when its library is loaded. */
struct Declaration {
  size_t bytes, alignment;
  const char *names;
};
OPWRIGHT_EMULATION_API unsigned declare_shared(const Declaration &declaration);
/* Gives declaration `number` its place in this block: from its first use on. */
OPWRIGHT_EMULATION_API uint32_t place_shared(unsigned number);

template <class Tag>
struct Declared {
  static const unsigned number;
};
template <class Tag>
const unsigned Declared<Tag>::number = declare_shared({sizeof(Tag), alignof(Tag), Tag::names()});

template <class Tag>
OPWRIGHT_EMULATION_INLINE Tag &shared() {
  Context &c = context();
  const unsigned number = unwatched(Declared<Tag>::number);
  uint32_t offset = unwatched(unwatched(c.offsets)[number]);
  if (__builtin_expect(!offset, 0)) offset = place_shared(number);
  return *reinterpret_cast<Tag *>(unwatched(c.fixed) + offset);
}

/* What `extern __shared__` names. */
OPWRIGHT_EMULATION_INLINE void *dynamic_shared() { return unwatched(context().dynamic); }

}  // namespace emulation
}  // namespace opwright
#endif
