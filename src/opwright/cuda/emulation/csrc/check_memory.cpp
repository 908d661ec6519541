/* Accesses of memory that a kernel may not touch, or not so; memory that kernels allocate themselves. */
#include <opwright/emulation/forks.h>

#include <unordered_map>

#include "allocations.h"
#include "check_regions.h"
#include "check_report.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {

uintptr_t copy_awaited(const void *address); /* async_copies.cpp */

namespace check {
namespace {

/* "the memory of new in a kernel at list.cu:12"; kernels allocate often, and at few places. */
const std::string &name_of(const char *call, uintptr_t code) {
  static Lasting<std::unordered_map<uintptr_t, std::string>> known;
  std::string &name = (*known)[code];
  if (name.empty()) name = std::string("the memory of ") + call + " in a kernel" + at_line(code);
  return name;
}

const char *owner(const Region &region) {
  switch (region.kind) {
    case Kind::tensor: return "tensor ";
    case Kind::shared: return "shared array ";
    case Kind::variable: return "variable ";
    default: return "";
  }
}

std::string extent(const Region &region) {
  std::string text = owner(region) + region.name + ", which has " + bytes(region.high - region.low);
  if (region.element) text += " (" + std::to_string((region.high - region.low) / region.element) + " elements)";
  return text;
}

void nowhere(uintptr_t address, unsigned size, How how, uintptr_t code) {
  uintptr_t low, high;
  if (freed_on_heap(address, noun(how), code)) return;
  if (was_freed(address, &low, &high)) {
    report({memory, std::string(noun(how)) + " of freed memory",
            "got: byte " + std::to_string(address - low) + " of " + bytes(high - low) + " that cudaFree has taken back",
            "free it after the last kernel that uses it"},
           code);
    return;
  }
  constexpr uintptr_t reach = uintptr_t(1) << 16;
  if (address < 4096) {
    report({memory, std::string(noun(how)) + " through a null pointer", "got: address " + std::to_string(address),
            "an optional argument that wasn't given has no memory: test it first"},
           code);
  } else if (const Region *region = region_near(address, reach)) {
    outside(*region, address, size, how, code);
  } else {
    report({memory, std::string(noun(how)) + " of memory that isn't the device's",
            "got: a pointer to the host's memory, or none at all; expected: a tensor of the call, memory of "
            "cudaMalloc, shared memory",
            "copy what the kernel needs to the device, or pass it by value"},
           code);
  }
}

void of_the_host(const Region &region, How how, uintptr_t code) {
  report({memory, std::string(noun(how)) + " of memory that isn't the device's",
          "got: " + region.host +
              "; expected: a tensor of the call, memory of cudaMalloc, shared memory, a variable of "
              "the device",
          "declare it __device__, __constant__ or __managed__, or copy it to memory of cudaMalloc"},
         code);
}

/* Some of the emulator's headers, compiled with the kernel, touch the emulator's own memory; the others only what the kernel
 * gives them. */
bool internal(uintptr_t code) {
  const std::vector<Place> all = places(code);
  if (all.empty() || all.front().file.find("/opwright/emulation/") == std::string::npos) return false;
  const std::string name = all.front().file.substr(all.front().file.rfind('/') + 1);
  return name == "shared.h" || name == "launch.h" || name == "cuda_api.h";
}

/* Whether the instruction evaluates a launch's arguments, which may refer to the host's variables. */
bool of_the_launch(uintptr_t code) {
  const std::vector<Place> all = places(code);
  return !all.empty() && all.front().line == live->launch_line && all.front().file == live->launch_file;
}

Region *everything() {
  struct Everything : Region {
    Everything() : Region(0, ~uintptr_t(0), "the emulator's own memory", Kind::internal) {}
  };
  static Lasting<Everything> only;
  return &*only;
}

/* Where an address outside of the site's last region lies; null: it is fine, or silenced. */
Region *find(uintptr_t address, unsigned size, How how, uintptr_t code) {
  if (own_memory(address)) {
    if (!in_shared_memory(address)) return nullptr; /* a thread's own stack, or the emulator's threadIdx */
    Region *shared = shared_at(address);
    return shared ? shared : shared_before(address); /* past its end */
  }
  Region *region = host_parameters(address);
  if (!region) region = region_at(address);
  if (!region) region = variable_at(address);
  if (!region && (internal(code) || of_the_launch(code))) return everything();
  if (!region) nowhere(address, size, how, code);
  else if (!region->host.empty() && in_device_code(code)) of_the_host(*region, how, code);
  return region;
}

}  // namespace

void outside(const Region &region, uintptr_t address, unsigned size, How how, uintptr_t code) {
  const bool before = address < region.low;
  const uintptr_t away = before ? region.low - address : address - region.low;
  std::string found = std::string("got: ") + bytes(size) +
                      (before ? ", " + bytes(away) + " before " : " at byte " + std::to_string(away) + " of ");
  found += extent(region);
  if (!before && region.element && away % region.element == 0)
    found += ": index " + std::to_string(away / region.element);
  const char *fix = region.kind == Kind::dynamic_shared
                        ? "give the launch as much shared memory as the kernel uses (its third value, in bytes)"
                        : "compare the index with the size before the access";
  report({bounds, std::string("out of bounds ") + noun(how), found, fix}, code);
}

void unwritten(const Region &region, uintptr_t address, unsigned size, uintptr_t code) {
  if (!region.shared()) {
    return report({uninitialised, "read of memory that nobody has written",
                   "got: " + bytes(size) + ", " + spot(region, address) + ", which nothing has written yet",
                   std::string("write it first, in this kernel or an earlier one, or with ") +
                       (region.kind == Kind::made ? "torch.zeros in place of torch.empty" : "cudaMemsetAsync")},
                  code);
  }
  if (const uintptr_t copy = copy_awaited(reinterpret_cast<const void *>(address))) {
    return report({uninitialised, "read of what an asynchronous copy brings, before it is there",
                   "got: " + bytes(size) + ", " + spot(region, address) + ", which cp.async at " + place(copy).text() +
                       " writes, and its thread hasn't waited for it",
                   "cp.async.wait_group in the thread that copies, then a __syncthreads() for the others"},
                  code);
  }
  report({uninitialised, "read of uninitialised shared memory",
          "got: " + bytes(size) + ", " + spot(region, address) + ", which no thread of the block has written",
          "write it first, with a __syncthreads() between; shared memory begins with whatever was there"},
         code);
}

void written_input(const Region &region, uintptr_t address, unsigned size, uintptr_t code) {
  report({memory, "write to an input",
          "got: a write of " + bytes(size) + ", " + spot(region, address) + ", through a pointer without const",
          "write to a result; or say in the signature that it is changed, " + region.name + ": ...!"},
         code);
}

void misaligned(const Region &region, uintptr_t address, unsigned size, How how, uintptr_t code) {
  report({alignment, std::string("misaligned ") + noun(how),
          "got: " + bytes(size) + " at " + spot(region, address) + ", an address that is no multiple of " +
              std::to_string(size),
          "vector accesses need addresses that are multiples of their size: check the offset, or access elements one "
          "by one"},
         code);
}

Region *look_up(Live &l, Site &site, uintptr_t address, unsigned size, How how, uintptr_t code) {
  Region *region = find(address, size, how, code);
  if (region) {
    site = Site();
    site.code = code, site.low = region->low, site.region = region;
    const auto [number, added] = l.numbers.emplace(code, static_cast<uint32_t>(l.instructions.size()));
    if (added) l.instructions.push_back(code);
    site.place = number->second << flag_bits;
  }
  return region;
}

void heap_allocated(void *memory, size_t bytes, const char *call, bool zeroed, uintptr_t code) {
  const uintptr_t low = reinterpret_cast<uintptr_t>(memory);
  if (bytes) add_own_region(low, low + bytes, name_of(call, code), zeroed ? Use::changed : Use::written);
}

void heap_freed(void *memory, uintptr_t code) {
  const Region *region = region_at(reinterpret_cast<uintptr_t>(memory));
  if (!region) return; /* of no bytes */
  const uintptr_t low = region->low;
  access_range(low, region->high - low, How::frees, code);
  remove_own_region(low);
}

void heap_misused(const std::string &what, const std::string &found, const char *fix, uintptr_t code) {
  report({memory, what, found, fix}, code);
}

bool freed_on_heap(uintptr_t address, const char *access, uintptr_t code) {
  HeapBlock block;
  if (!heap_block_at(reinterpret_cast<const void *>(address), &block)) return false;
  if (!block.freed || address - block.low >= block.bytes) return false; /* behind it, or before the next one */
  report({memory, std::string(access) + " of freed memory",
          "got: byte " + std::to_string(address - block.low) + " of " + name_of(block.call, block.made) +
              ", which has " + bytes(block.bytes) + " and was freed" + at_line(block.freed),
          "free it after the last access"},
         code);
  return true;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
