/* The shadow of memory: who touched each granule of it last, when, and where in the source.
 *
 * A granule of shared memory has a cell. One of other memory has a word, which holds the one access that matters, and a cell for
 * when more do (`opened` in check_touch.h): most memory is read or written by one thread of a launch, and its cells are never touched.
 *
 * Time is one counter for a process, which grows at every event that orders accesses (a barrier, a fence, a block's begin).
 * Blocks run on one worker while they are checked, so that what the shadow says is exact and the same in every run.
 */
#ifndef OPWRIGHT_EMULATION_CHECK_SHADOW_H
#define OPWRIGHT_EMULATION_CHECK_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include <opwright/emulation/check.h>

#include <string>
#include <vector>

namespace opwright {
namespace emulation {
namespace check {

constexpr unsigned thread_bits = 10; /* a block has at most 1024 threads */
constexpr uint32_t most_thread = (1u << thread_bits) - 1;

/* Properties of an access, in the low bits of its code; above them the number of its instruction, 0 for none that is known. */
enum Flag : uint32_t { atomic = 1, several = 2, of_block = 4, wrote = 8, flag_bits = 4 };

struct Access {
  uint32_t stamp, who, code; /* who: the block's number in its launch, then the thread's in the block */
};

/* One granule: the last write, and two readers of different threads: whoever writes differs from one of them. A plain write before
 * an atomic one is kept in a reader's place (`wrote`). */
struct Cell {
  Access write, read;
  uint32_t other_stamp, other;

  bool touched() const { return write.stamp || read.stamp || other_stamp; }
};
static_assert(sizeof(Cell) == 32, "half a cache line");

/* A plain access in eight bytes. The block isn't noted: the time tells which one ran (`Live::block_of`). Or the word says that there is
 * a cell, and which thread has read the granule since that was looked at. */
class Word {
 public:
  static constexpr uint32_t numbers = 1u << 20; /* of instructions: those of larger ones don't fit */

  Word() = default;
  Word(const Access &access, bool wrote)
      : bits_(uint64_t(access.code >> flag_bits) << number_at | uint64_t(wrote) << wrote_at |
              uint64_t(access.who & most_thread) << thread_at | access.stamp) {}
  /* The same at another time, by another thread of a block. */
  Word at(uint32_t stamp, uint32_t thread) const {
    Word word;
    word.bits_ = bits_ | uint64_t(thread) << thread_at | stamp;
    return word;
  }
  static Word of_cell() {
    Word word;
    word.bits_ = in_its_cell;
    return word;
  }
  /* The cell's reader is another thread. `of_another_block`: and surely of another block. */
  static Word of_cell_and_reader(uint32_t stamp, uint32_t thread, bool of_another_block) {
    Word word;
    word.bits_ = in_its_cell | uint64_t(of_another_block) << wrote_at | uint64_t(thread) << thread_at | stamp;
    return word;
  }
  bool in_cell() const { return bits_ & in_its_cell; }
  bool has_reader() const { return in_cell() && stamp(); } /* no access is of the time 0 */
  bool of_another_block() const { return wrote(); }
  bool empty() const { return !bits_; }
  uint32_t stamp() const { return static_cast<uint32_t>(bits_); }
  uint32_t thread() const { return static_cast<uint32_t>(bits_ >> thread_at) & most_thread; }
  bool wrote() const { return bits_ >> wrote_at & 1; }
  uint32_t code() const { return static_cast<uint32_t>(bits_ >> number_at) << flag_bits; }

 private:
  static constexpr unsigned thread_at = 32, wrote_at = thread_at + thread_bits, number_at = wrote_at + 1;
  static constexpr uint64_t in_its_cell = uint64_t(1) << 63;
  uint64_t bits_ = 0;
};
static_assert(sizeof(Word) == 8, "an eighth of a cache line");

constexpr unsigned word_shift = 2; /* of the granules that have readers */

/* Threads of the running block that have read a word of shared memory at a time: the first, which is its cell's reader, and the last,
 * the same one where there was no other. */
struct Readers {
  uint32_t stamp;
  uint16_t first, last;
};
static_assert(sizeof(Readers) == 8, "an eighth of a cache line");

/* What an operator without a kernel did last in a stream: rows of memory, and when. */
struct Operation {
  uintptr_t low;
  size_t pitch, width, height;
  const void *stream;
  uint32_t stamp;
  bool wrote;

  bool touches(uintptr_t address, size_t size) const;
  bool touches(const Operation &other) const;
};

/* made: a tensor of another library's, whose code that isn't checked may write it. */
enum class Kind : uint8_t { tensor, allocated, made, for_both, shared, dynamic_shared, variable, internal };

/* A stretch of memory that kernels may touch (or may not any more). */
struct Region {
  uintptr_t low = 0, high = 0;
  std::string name;
  Kind kind = Kind::allocated;
  unsigned element = 0; /* its elements' size in bytes, where that is known */
  unsigned shift = 2;   /* a granule has 1 << shift bytes */
  Cell *cells = nullptr;
  Word *words = nullptr; /* none in shared memory */
  void *shadow = nullptr;
  size_t shadow_bytes = 0;
  Use use = Use::changed;
  /* When it became a region, or the launch before its first shadow, which may have been another's; of a shared variable, when the last
   * block that has it began. */
  uint32_t born = 0;
  std::string host; /* of a variable that is the host's for certain: its name, and where it is declared */
  std::vector<Operation> operations;
  std::vector<uint64_t> written; /* a bit for each byte, of memory that nothing is in before; empty until it is used */

  Region() = default;
  Region(uintptr_t low_, uintptr_t high_, std::string name_, Kind kind_)
      : low(low_), high(high_), name(std::move(name_)), kind(kind_) {}
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;
  ~Region() { release(); }
  /* Other uses of the same memory: a kernel may write what any of them may, and nothing is in it if that holds for all. */
  void join(Use other) {
    if (use != other) use = Use::changed;
  }
  bool tracked() const { return use == Use::written; }
  bool is_written(uintptr_t address, size_t bytes) const {
    if (written.empty()) return false;
    const uintptr_t at = address - low;
    if (const uint64_t want = bits(at, bytes)) return (written[at / 64] & want) == want;
    return is_written(address, 64 - at % 64) && is_written(address + 64 - at % 64, bytes - (64 - at % 64));
  }
  void mark(uintptr_t address, size_t bytes) {
    if (address <= low && bytes >= high - address) {
      written_all();
      return;
    }
    if (written.empty()) written.resize((high - low + 63) / 64 + 1);
    uintptr_t at = address - low;
    while (bytes) {
      const size_t here = bytes < 64 - at % 64 ? bytes : 64 - at % 64;
      written[at / 64] |= (here == 64 ? ~uint64_t(0) : ((uint64_t(1) << here) - 1) << at % 64);
      at += here, bytes -= here;
    }
  }
  /* The opposite, as long as anything is known of it. */
  void unmark(uintptr_t address, size_t bytes) {
    for (uintptr_t at = address - low; bytes && !written.empty(); ++at, --bytes)
      written[at / 64] &= ~(uint64_t(1) << at % 64);
  }
  /* From `address` on, how many of `bytes` bytes in a row are written, or aren't. */
  size_t run(uintptr_t address, size_t bytes, bool are) const;
  bool shared() const { return kind == Kind::shared || kind == Kind::dynamic_shared; }
  /* Bytes of a tensor that aren't what the emulator fills new memory with were written by somebody: they count as written. */
  void find_writes(uintptr_t address, size_t bytes);
  /* All of it is written: nothing has to be known any more. */
  void written_all();
  /* Gives it a shadow that can tell accesses of `size` bytes at `address` apart. */
  void refine(uintptr_t address, unsigned size);
  void release();
  void abandon() { shadow = nullptr, cells = nullptr, words = nullptr; }
  size_t granule(uintptr_t address) const { return (address - base()) >> shift; }
  uintptr_t base() const { return low & ~uintptr_t(3); }

 private:
  /* The bits of some bytes in their word; 0 where they lie in two, or fill more than one. */
  static uint64_t bits(uintptr_t at, size_t bytes) {
    return at % 64 + bytes <= 64 && bytes < 64 ? ((uint64_t(1) << bytes) - 1) << at % 64 : 0;
  }
};

/* Gives back the memory that was kept for further shadows. */
void forget_kept();
void abandon_kept(); /* the same, but that it leaves the memory as it is: it may be another shadow's, too */

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
