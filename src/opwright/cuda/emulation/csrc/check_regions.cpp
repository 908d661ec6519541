/* Tensors, allocations and variables. */
#include "check_regions.h"

#include <dlfcn.h>
#include <link.h>
#include <opwright/emulation/forks.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "check_elf.h"
#include "check_report.h"
#include "check_state.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

struct Addition {
  uintptr_t low, high;
  std::string name;
  Kind kind;
  unsigned element;
  Use use;
};

/* What was added, and the regions that come of it. Never destroyed: libraries free memory while the process ends. */
struct Table {
  Mutex<> mutex;
  std::vector<Addition> added;
  std::map<uintptr_t, std::unique_ptr<Region>> regions; /* by where they begin; they don't overlap */
  std::deque<std::pair<uintptr_t, uintptr_t>> freed;
  std::map<uintptr_t, std::unique_ptr<Region>> variables;
  std::atomic<uintptr_t> lowest{0}, span{0}; /* all regions since the process began lie there */
  std::atomic<uint64_t> changes{1};          /* of the regions */

  void widen(uintptr_t low, uintptr_t high) {
    const uintptr_t first = span ? std::min<uintptr_t>(lowest, low) : low;
    span = std::max<uintptr_t>(span ? lowest + span : high, high) - first;
    lowest = first;
  }
};

Table &table() {
  static Lasting<Table> only;
  return *only;
}

constexpr size_t freed_remembered = 256;

Region *find(uintptr_t address) {
  auto &regions = table().regions;
  auto after = regions.upper_bound(address);
  if (after == regions.begin()) return nullptr;
  Region *region = std::prev(after)->second.get();
  return address < region->high ? region : nullptr;
}

/* The regions of whatever was added that touches [low, high), anew. */
void arrange(uintptr_t low, uintptr_t high) {
  auto &regions = table().regions;
  ++table().changes;
  auto first = regions.upper_bound(low);
  if (first != regions.begin() && std::prev(first)->second->high > low) --first;
  while (first != regions.end() && first->first < high) {
    low = std::min(low, first->second->low), high = std::max(high, first->second->high);
    forget_sites(first->second.get());
    first = regions.erase(first);
  }
  std::vector<const Addition *> parts;
  for (const Addition &each : table().added)
    if (each.low < high && low < each.high) parts.push_back(&each);
  std::sort(parts.begin(), parts.end(), [](const Addition *a, const Addition *b) { return a->low < b->low; });
  Region *last = nullptr;
  for (const Addition *each : parts) {
    if (last && each->low < last->high) {
      last->high = std::max(last->high, each->high);
      last->join(each->use);
      if (last->name != each->name) last->name += " or " + each->name;
      continue;
    }
    auto region = std::make_unique<Region>(each->low, each->high, each->name, each->kind);
    last = region.get();
    last->element = each->element;
    last->use = each->use, last->born = ++live->now;
    regions[each->low] = std::move(region);
  }
}

}  // namespace

void forget_sites(const Region *region) {
  for (Site &site : live->sites)
    if (site.region == region) site = Site();
}

void add_region(uintptr_t low, uintptr_t high, const std::string &name, Kind kind, unsigned element, Use use) {
  if (high <= low) return;
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  t.widen(low, high);
  t.added.push_back({low, high, name, kind, element, use});
  const auto again = [&](const std::pair<uintptr_t, uintptr_t> &f) { return f.first < high && low < f.second; };
  t.freed.erase(std::remove_if(t.freed.begin(), t.freed.end(), again), t.freed.end());
  arrange(low, high);
}

bool remove_region(uintptr_t low, uintptr_t end) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  const auto last = std::find_if(t.added.rbegin(), t.added.rend(),
                                 [&](const Addition &a) { return a.low == low && (!end || a.high == end); });
  if (last == t.added.rend()) return false;
  const uintptr_t high = last->high;
  t.added.erase(std::prev(last.base()));
  arrange(low, high);
  return true;
}

void add_own_region(uintptr_t low, uintptr_t high, const std::string &name, Use use) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  t.widen(low, high);
  ++t.changes;
  auto region = std::make_unique<Region>(low, high, name, Kind::allocated);
  region->use = use, region->born = ++live->now;
  t.regions[low] = std::move(region);
}

void remove_own_region(uintptr_t low) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  const auto found = t.regions.find(low);
  if (found == t.regions.end()) return;
  ++t.changes;
  forget_sites(found->second.get());
  t.regions.erase(found);
}

void forget_shadows() {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  for (auto *all : {&t.regions, &t.variables})
    for (auto &[low, region] : *all) {
      region->release();
      region->operations.clear();
      region->born = 0;
      forget_sites(region.get());
    }
  forget_kept();
}

void abandon_shadows() {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  for (auto *all : {&t.regions, &t.variables})
    for (auto &[low, region] : *all) region->abandon();
  abandon_kept();
}

Region *region_at(uintptr_t address) {
  const std::lock_guard lock(table().mutex);
  return find(address);
}

namespace {

/* Memory around what this OS thread's host code touched last that no region is in, or one that the host may touch. */
struct Gap {
  uintptr_t low, bytes;
  uint64_t changes; /* as many as there were when it was looked up */
};
thread_local Gap gap;

bool of_the_device(const Region &region) {
  return region.kind == Kind::tensor || region.kind == Kind::allocated || region.kind == Kind::made;
}

/* The map is locked. */
Gap gap_at(uintptr_t address) {
  const Table &t = table();
  const auto after = t.regions.upper_bound(address);
  const uintptr_t next = after == t.regions.end() ? ~uintptr_t(0) : after->first;
  if (after == t.regions.begin()) return {0, next, t.changes};
  const Region &before = *std::prev(after)->second;
  if (address >= before.high) return {before.high, next - before.high, t.changes};
  return {before.low, of_the_device(before) ? 0 : before.high - before.low, t.changes};
}

}  // namespace

bool free_for_host(uintptr_t address) {
  Table &t = table();
  if (address - t.lowest.load(std::memory_order_relaxed) >= t.span.load(std::memory_order_relaxed)) return true;
  if (gap.changes != t.changes.load(std::memory_order_acquire) || address - gap.low >= gap.bytes) {
    const std::lock_guard lock(t.mutex);
    gap = gap_at(address);
  }
  return address - gap.low < gap.bytes;
}

std::string touched_by_host(uintptr_t address, size_t size, bool writes, bool wanted) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  Region *region = find(address);
  if (!region || !of_the_device(*region)) return "";
  if (writes && region->tracked() && size <= region->high - address) region->mark(address, size);
  return wanted ? spot(*region, address) : "";
}

Region *region_near(uintptr_t address, uintptr_t reach) {
  const std::lock_guard lock(table().mutex);
  Region *nearest = nullptr;
  uintptr_t distance = reach;
  for (auto &[low, region] : table().regions) {
    const uintptr_t away = address >= region->high ? address - region->high : low - address;
    if (away < distance) nearest = region.get(), distance = away;
  }
  return nearest;
}

void remember_freed(uintptr_t low, uintptr_t high) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  t.freed.emplace_back(low, high);
  if (t.freed.size() > freed_remembered) t.freed.pop_front();
}

bool was_freed(uintptr_t address, uintptr_t *low, uintptr_t *high) {
  const std::lock_guard lock(table().mutex);
  for (const auto &each : table().freed)
    if (each.first <= address && address < each.second) {
      *low = each.first, *high = each.second;
      return true;
    }
  return false;
}

namespace {

struct Variable {
  uintptr_t address, low, high;
  std::string name, host;
};

/* The symbol of a library's file that holds the address; else the whole segment. */
void name_variable(Variable &variable, const char *path, uintptr_t base) {
  const Elf elf(path);
  Bytes symbols = elf.section(".symtab"), names = elf.section(".strtab");
  while (!symbols.empty()) {
    const Elf64_Sym symbol = symbols.take<Elf64_Sym>();
    if ((symbol.st_info & 15) != STT_OBJECT || variable.address - base - symbol.st_value >= symbol.st_size) continue;
    variable.low = base + symbol.st_value, variable.high = variable.low + symbol.st_size;
    Bytes name = names.from(symbol.st_name);
    variable.name = name.text();
    variable.host = host_variable(variable.name, base);
    return;
  }
}

int visit(dl_phdr_info *info, size_t, void *data) {
  auto &variable = *static_cast<Variable *>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD || variable.address - low >= info->dlpi_phdr[i].p_memsz) continue;
    variable.low = low, variable.high = low + info->dlpi_phdr[i].p_memsz;
    name_variable(variable, info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr);
    return 1;
  }
  return 0;
}

}  // namespace

Region *variable_at(uintptr_t address) {
  Table &t = table();
  const std::lock_guard lock(t.mutex);
  const auto after = t.variables.upper_bound(address);
  if (after != t.variables.begin() && address < std::prev(after)->second->high) return std::prev(after)->second.get();
  Variable variable{address, 0, 0, "", ""};
  if (!dl_iterate_phdr(visit, &variable)) return nullptr;
  auto &region = t.variables[variable.low];
  if (region && region->high == variable.high) return region.get(); /* a whole segment, with variables in between */
  if (region) forget_sites(region.get());
  region = std::make_unique<Region>(variable.low, variable.high, variable.name, Kind::variable);
  region->host = std::move(variable.host);
  return region.get();
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
