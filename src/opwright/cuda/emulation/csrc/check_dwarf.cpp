/* DWARF 4 as gcc and clang write it under -gdwarf-4 (the back end asks for that version: it is the simplest that says all). */
#include "check_dwarf.h"

#include <opwright/emulation/forks.h>

#include <memory>

namespace opwright {
namespace emulation {
namespace check {
namespace {

enum Tag : uint64_t { inlined_subroutine = 0x1d, subprogram = 0x2e };
// clang-format off
enum Attribute : uint64_t {
  statement_list = 0x10, low_pc = 0x11, high_pc = 0x12, compilation_folder = 0x1b, ranges = 0x55, call_file = 0x58, call_line = 0x59
};
enum Form : uint64_t {
  form_addr = 0x01, form_block2 = 0x03, form_block4 = 0x04, form_data2 = 0x05, form_data4 = 0x06, form_data8 = 0x07,
  form_string = 0x08, form_block = 0x09, form_block1 = 0x0a, form_data1 = 0x0b, form_flag = 0x0c, form_sdata = 0x0d,
  form_strp = 0x0e, form_udata = 0x0f, form_ref_addr = 0x10, form_ref1 = 0x11, form_ref2 = 0x12, form_ref4 = 0x13,
  form_ref8 = 0x14, form_ref_udata = 0x15, form_indirect = 0x16, form_sec_offset = 0x17, form_exprloc = 0x18,
  form_flag_present = 0x19, form_ref_sig8 = 0x20
};
// clang-format on

void keep(Entry &entry, uint64_t attribute, uint64_t form, uint64_t value, const char *text) {
  switch (attribute) {
    case statement_list: entry.lines = value, entry.has_lines = true; break;
    case low_pc: entry.low = value, entry.has_low = true; break;
    case high_pc: entry.high = value, entry.has_high = true, entry.high_is_length = form != form_addr; break;
    case ranges: entry.ranges = value, entry.has_ranges = true; break;
    case call_file: entry.call_file = value; break;
    case call_line: entry.call_line = value; break;
    case compilation_folder: entry.folder = text; break;
    default: break;
  }
}

}  // namespace

const Dwarf *Dwarf::of(const char *path) {
  static Mutex<> mutex;
  static Lasting<std::map<std::string, std::unique_ptr<Dwarf>>> read;
  const std::lock_guard lock(mutex);
  auto &known = (*read)[path];
  if (!known) known = std::make_unique<Dwarf>(path);
  return known.get();
}

std::vector<Place> Dwarf::places(uint64_t offset) const {
  std::vector<Place> found;
  Bytes info = elf_.section(".debug_info");
  while (!info.empty() && found.empty()) {
    const uint32_t length = info.take<uint32_t>();
    if (length >= 0xfffffff0) break; /* 64-bit DWARF: no compiler writes it by itself */
    Bytes body = info.first(length);
    info.skip(length);
    unit(body, offset, found);
  }
  return found;
}

bool Dwarf::unit(Bytes &info, uint64_t offset, std::vector<Place> &found) const {
  if (info.take<uint16_t>() != 4) return false;
  Unit unit;
  unit.abbreviations = abbreviations(info.take<uint32_t>());
  unit.address_size = info.take<uint8_t>();
  const Entry root = entry(info, unit);
  unit.base = root.low;
  if (!root.has_lines || !covers(root, unit, offset)) return false;
  const Lines lines = this->lines(root.lines, root.folder, offset);
  if (!lines.found) return false;
  const auto place = [&](uint64_t file, uint64_t line) {
    return Place{file < lines.files.size() ? lines.files[file] : "", static_cast<int>(line)};
  };
  std::vector<Place> outer; /* outermost first, as the entries nest */
  while (!info.empty()) {
    const Entry each = entry(info, unit);
    if (each.tag == inlined_subroutine && covers(each, unit, offset))
      outer.push_back(place(each.call_file, each.call_line));
  }
  found.push_back(place(lines.row.file, lines.row.line));
  found.insert(found.end(), outer.rbegin(), outer.rend());
  return true;
}

Entry Dwarf::entry(Bytes &info, const Unit &unit) const {
  Entry entry;
  const auto found = unit.abbreviations.find(info.unsigned_leb());
  if (found == unit.abbreviations.end()) return entry; /* 0 ends a list of children */
  entry.tag = found->second.tag;
  entry.children = found->second.children;
  for (const auto &[attribute, form] : found->second.attributes) {
    const char *text = "";
    const uint64_t number = value(info, form, unit, &text);
    keep(entry, attribute, form, number, text);
  }
  return entry;
}

uint64_t Dwarf::value(Bytes &info, uint64_t form, const Unit &unit, const char **text) const {
  const auto block = [&](uint64_t length) {
    info.skip(length);
    return uint64_t(0);
  };
  switch (form) {
    case form_addr: return unit.address_size == 8 ? info.take<uint64_t>() : info.take<uint32_t>();
    case form_data1:
    case form_flag:
    case form_ref1: return info.take<uint8_t>();
    case form_data2:
    case form_ref2: return info.take<uint16_t>();
    case form_data4:
    case form_ref4:
    case form_ref_addr:
    case form_sec_offset: return info.take<uint32_t>();
    case form_data8:
    case form_ref8:
    case form_ref_sig8: return info.take<uint64_t>();
    case form_sdata: return static_cast<uint64_t>(info.signed_leb());
    case form_udata:
    case form_ref_udata: return info.unsigned_leb();
    case form_string: *text = info.text(); return 0;
    case form_strp: {
      Bytes at = elf_.section(".debug_str").from(info.take<uint32_t>());
      *text = at.text();
      return 0;
    }
    case form_block1: return block(info.take<uint8_t>());
    case form_block2: return block(info.take<uint16_t>());
    case form_block4: return block(info.take<uint32_t>());
    case form_block:
    case form_exprloc: return block(info.unsigned_leb());
    case form_indirect: return value(info, info.unsigned_leb(), unit, text);
    case form_flag_present: return 1;
    default: return block(~uint64_t(0)); /* unknown: its length too, so the unit ends here */
  }
}

bool Dwarf::covers(const Entry &entry, const Unit &unit, uint64_t offset) const {
  if (!entry.has_ranges) {
    const uint64_t high = entry.high_is_length ? entry.low + entry.high : entry.high;
    return entry.has_low && entry.has_high && entry.low <= offset && offset < high;
  }
  Bytes pairs = elf_.section(".debug_ranges").from(entry.ranges);
  uint64_t base = unit.base;
  while (!pairs.empty()) {
    const uint64_t low = pairs.take<uint64_t>(), high = pairs.take<uint64_t>();
    if (!low && !high) return false;
    if (low == ~uint64_t(0)) base = high;
    else if (base + low <= offset && offset < base + high) return true;
  }
  return false;
}

std::map<uint64_t, Abbreviation> Dwarf::abbreviations(uint64_t at) const {
  std::map<uint64_t, Abbreviation> all;
  Bytes table = elf_.section(".debug_abbrev").from(at);
  while (const uint64_t code = table.unsigned_leb()) {
    Abbreviation &each = all[code];
    each.tag = table.unsigned_leb();
    each.children = table.take<uint8_t>() != 0;
    while (!table.empty()) {
      const uint64_t name = table.unsigned_leb(), form = table.unsigned_leb();
      if (!name && !form) break;
      each.attributes.emplace_back(name, form);
    }
  }
  return all;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
