/* Operators that run on the device's memory without a kernel, PyTorch's: what they write, and whether they are ordered with the work of
 * other streams. They leave no mark on each word, as kernels and copies do: rows of memory say the same in less. */
#include "check_launches.h"
#include "check_regions.h"
#include "check_report.h"
#include "check_streams.h"

namespace opwright {
namespace emulation {
namespace check {

bool Operation::touches(uintptr_t address, size_t size) const {
  if (address < low) return low - address < size;
  const size_t row = pitch ? std::min<size_t>((address - low) / pitch, height - 1) : 0;
  const size_t in_row = address - low - row * pitch;
  return in_row < width || (row + 1 < height && pitch - in_row < size);
}

bool Operation::touches(const Operation &other) const {
  const Operation &few = height < other.height ? *this : other, &many = height < other.height ? other : *this;
  for (size_t row = 0; row < few.height; ++row)
    if (many.touches(few.low + row * few.pitch, few.width)) return true;
  return false;
}

namespace {

constexpr size_t most_operations = 64; /* of one region, before those are forgotten that the host has waited for */

/* What an earlier operator did that `touches` the same memory, and isn't ordered before this work. */
template <class Same>
const Unordered *earlier(const Region &region, bool writing, bool *wrote, const Same &same) {
  for (const Operation &each : region.operations) {
    if (!writing && !each.wrote) continue;
    const Unordered *other = unordered_at(each.stamp, region);
    if (!other || !same(each)) continue;
    *wrote = each.wrote;
    return other;
  }
  return nullptr;
}

/* The same of kernels and copies, which have left it in cells. */
const Unordered *in_cells(Region &region, const Operation &mine, bool *wrote) {
  if (!region.shadow) return nullptr;
  for (size_t row = 0; row < mine.height; ++row) {
    const uintptr_t first = mine.low + row * mine.pitch;
    if (first >= region.high) return nullptr;
    const uintptr_t last = std::min(first + mine.width, region.high) - 1;
    for (size_t granule = region.granule(first); granule <= region.granule(last); ++granule) {
      if (region.words && region.words[granule].empty()) continue;
      if (const Unordered *other = unordered_with(region, opened(*live, region, granule), mine.wrote, wrote))
        return other;
    }
  }
  return nullptr;
}

std::string ahead(Region &region, const Operation &mine, const StreamWork &work) {
  if (live->unordered.empty()) return "";
  bool wrote;
  const Unordered *other =
      earlier(region, mine.wrote, &wrote, [&](const Operation &each) { return mine.touches(each); });
  if (!other) other = in_cells(region, mine, &wrote);
  if (!other) return "";
  return std::string("race between two streams\n  got: ") + work.name + (mine.wrote ? " writes " : " reads ") +
         spot(region, mine.low) + (mine.height * mine.width > 1 ? " and more" : "") + "; " + described(*other) + " " +
         (wrote ? "wrote" : "read") + " it, in another stream, and nothing orders the two\n" +
         "  likely fix: let one wait for the other: second.wait_stream(first), or an event; or "
         "torch.cuda.synchronize()";
}

/* Of one stream's operations on the same rows the last one stands for all: whatever isn't ordered with an earlier one isn't with it. */
void note(Region &region, const Operation &mine) {
  for (Operation &each : region.operations) {
    const bool same = each.stream == mine.stream && each.low == mine.low && each.pitch == mine.pitch &&
                      each.width == mine.width && each.height == mine.height && each.wrote == mine.wrote;
    if (!same) continue;
    each.stamp = mine.stamp;
    return;
  }
  if (region.operations.size() >= most_operations) forget_awaited(region.operations);
  region.operations.push_back(mine);
}

bool on_the_device(const Region *region) {
  return region && (region->kind == Kind::made || region->kind == Kind::allocated);
}

}  // namespace

const Unordered *operated_on(const Region &region, uintptr_t address, size_t size, bool writing, bool *wrote) {
  return earlier(region, writing, wrote, [&](const Operation &each) { return each.touches(address, size); });
}

std::string operated(const Operand *operands, size_t count, const StreamWork &work) {
  const BetweenLaunches alone;
  std::string said;
  ++live->now;
  work_begins(work, work.name);
  for (size_t i = 0; i < count; ++i) {
    const Operand &each = operands[i];
    const uintptr_t low = reinterpret_cast<uintptr_t>(each.memory);
    Region *region = region_at(low);
    if (!on_the_device(region)) continue;
    for (size_t row = 0; each.writes && region->tracked() && row < each.height; ++row) {
      const uintptr_t first = low + row * each.pitch;
      if (first < region->high) region->mark(first, std::min<size_t>(each.width, region->high - first));
    }
    if (!several_streams() || !each.exact) continue;
    const Operation mine{low, each.pitch, each.width, each.height, work.stream, live->now, each.writes};
    if (said.empty()) said = ahead(*region, mine, work);
    note(*region, mine);
  }
  work_ends();
  if (!work.async) stream_waited(work.stream);
  return said;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
