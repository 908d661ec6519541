/* What compiled code tells the emulator: which memory a call has. */
#ifndef OPWRIGHT_EMULATION_CHECK_H
#define OPWRIGHT_EMULATION_CHECK_H

#include "context.h"

namespace opwright {
namespace emulation {

/* What a call does with the memory of a tensor. */
enum class Use : unsigned char {
  read,
  changed,
  written
}; /* written: nothing is in it before. Generated code has the numbers. */

/* Kernels may touch `bytes` bytes at `memory`, which reports call `name`; its elements have `element` bytes (0: not known). */
OPWRIGHT_EMULATION_API void lend(const void *memory, size_t bytes, const char *name, size_t element,
                                 Use use = Use::changed);
/* Not any more. */
OPWRIGHT_EMULATION_API void take_back(const void *memory);
/* How much this OS thread has lent; and all of it back that was lent since there was so much. */
OPWRIGHT_EMULATION_API size_t lent();
OPWRIGHT_EMULATION_API void take_back_since(size_t count);

#if defined(OPWRIGHT_EMULATION_CHECK)
/* What host code did with the memory that this OS thread has lent, a report; or null. */
OPWRIGHT_EMULATION_API const char *touched_by_host();
/* Stream 0 is cudaStreamPerThread for the whole program; in CUDA, for the sources that ask for it. */
OPWRIGHT_EMULATION_API bool default_stream_is_per_thread();
/* A library's collective function begins, or ends, to use that memory, whatever it does there: of all threads of the block (0), or of
 * each so many threads that follow each other. Before it is used again, all of them have to meet. */
OPWRIGHT_EMULATION_API void use_storage(const void *memory, size_t bytes, unsigned threads, bool ends, const char *file,
                                        int line);
/* From now on atomic functions reach the block's threads only; or all of the device's again. */
OPWRIGHT_EMULATION_API void atomics_reach_block(bool block);
#else
OPWRIGHT_EMULATION_INLINE const char *touched_by_host() { return nullptr; }
#endif

}  // namespace emulation
}  // namespace opwright
#endif
