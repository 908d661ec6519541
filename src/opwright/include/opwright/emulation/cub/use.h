/* One use of a TempStorage, for as long as this lives: the checker asks for a barrier between two of them, as cub's documentation does. */
#ifndef OPWRIGHT_EMULATION_CUB_USE_H
#define OPWRIGHT_EMULATION_CUB_USE_H

#include "../check.h"

namespace cub {
namespace detail {

constexpr unsigned whole_block = 0;

class Use {
 public:
#if defined(OPWRIGHT_EMULATION_CHECK)
  /* By all threads of the block, or by each so many of them that follow each other. */
  Use(const void *storage, size_t bytes, unsigned threads, const char *file, int line)
      : storage_(storage), bytes_(bytes), threads_(threads), file_(file), line_(line) {
    opwright::emulation::use_storage(storage_, bytes_, threads_, false, file_, line_);
  }
  ~Use() { opwright::emulation::use_storage(storage_, bytes_, threads_, true, file_, line_); }

 private:
  const void *storage_;
  size_t bytes_;
  unsigned threads_;
  const char *file_;
  int line_;
#else
  Use(const void *, size_t, unsigned, const char *, int) {}
#endif
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;
};

}  // namespace detail
}  // namespace cub
#endif
