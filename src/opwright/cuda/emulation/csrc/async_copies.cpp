// cp.async: copies to shared memory that nobody may rely on before the thread has waited for them. They are done then, and no sooner:
// until then there are other bytes.
#include <opwright/emulation/ptx.h>

#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "block.h"

namespace opwright::emulation {
namespace {

constexpr int not_there = 0xff;

void touch(const void *memory, size_t bytes, bool writes, uintptr_t code) {
  if (bytes && hooks() && hooks()->touched) hooks()->touched(memory, bytes, writes, code);
}

}  // namespace

struct AsyncCopies {
  struct Copy {
    char *to;
    unsigned bytes, group;
    char data[16];
    uintptr_t code;
  };

  // Of a thread; groups have numbers, and `committed` is the one that is still open.
  struct OfThread {
    std::vector<Copy> copies;
    unsigned committed = 0;
  };

  std::unordered_map<unsigned, OfThread> threads;
};

namespace {

using Copy = AsyncCopies::Copy;
using OfThread = AsyncCopies::OfThread;

OfThread &of_thread() {
  Block &b = block();
  if (!b.copies) b.copies = new AsyncCopies;
  return b.copies->threads[b.linear];
}

[[noreturn]] void wrong(const char *kind, const std::string &text) {
  static thread_local std::string said;  // a fault runs no destructors
  said = text;
  fault(kind, said.c_str());
}

std::string place(const char *file, int line) { return std::string(file) + ":" + std::to_string(line) + ": "; }

}  // namespace

void forget_copies(Block &b) {
  delete b.copies;
  b.copies = nullptr;
}

uintptr_t copy_awaited(const void *address) {
  const Block &b = block();
  if (!b.copies) return 0;
  for (const auto &[thread, its] : b.copies->threads)
    for (const Copy &copy : its.copies)
      if (address >= copy.to && address < copy.to + copy.bytes) return copy.code;
  return 0;
}

namespace ptx {

void outside_of_shared(uint64_t at, const char *file, int line) {
  Message message;
  message << file << ":" << line << ": an instruction for shared memory gets the address "
          << reinterpret_cast<const void *>(at)
          << ", which is none of shared memory\n  likely fix: __cvta_generic_to_shared(pointer), or cvta.to.shared.u64";
  wrong("memory", message.text());
}

void async_copy(uint64_t to, uint64_t from, uint32_t bytes, uint32_t read, const char *file, int line) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || read > bytes)
    wrong("launch", place(file, line) + "cp.async copies 4, 8 or 16 bytes, and reads no more than that; got " +
                        std::to_string(bytes) + " and " + std::to_string(read));
  if ((to | from) % bytes)
    wrong("alignment", place(file, line) + "cp.async of " + std::to_string(bytes) +
                           " bytes needs addresses that are multiples of " + std::to_string(bytes));
  const auto code = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  OfThread &its = of_thread();
  Copy copy{reinterpret_cast<char *>(to), bytes, its.committed, {}, code};
  touch(reinterpret_cast<const void *>(from), read, false, code);
  std::memcpy(copy.data, reinterpret_cast<const void *>(from), read);
  touch(copy.to, bytes, true, code);
  std::memset(copy.to, not_there, bytes);
  if (hooks() && hooks()->awaited) hooks()->awaited(copy.to, bytes);
  its.copies.push_back(copy);
}

void async_commit() { ++of_thread().committed; }

void async_wait(uint32_t but) {
  OfThread &its = of_thread();
  size_t done = 0;
  for (; done < its.copies.size(); ++done) {
    const Copy &copy = its.copies[done];
    if (uint64_t(copy.group) + but >= its.committed) break;
    touch(copy.to, copy.bytes, true, copy.code);
    std::memcpy(copy.to, copy.data, copy.bytes);
  }
  its.copies.erase(its.copies.begin(), its.copies.begin() + long(done));
}

}  // namespace ptx
}  // namespace opwright::emulation
