/* DWARF 4 as gcc and clang write it under -gdwarf-4 (the back end asks for that version: it is the simplest that says all). */
#include "check_dwarf.h"

#include <memory>
#include <mutex>

namespace opwright {
namespace emulation {
namespace check {
namespace {

enum Tag : uint64_t { inlined_subroutine = 0x1d, subprogram = 0x2e };
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
enum LineOpcode : uint8_t {
  extended = 0, copy = 1, advance_pc = 2, advance_line = 3, set_file = 4, set_column = 5, const_add_pc = 8, fixed_advance_pc = 9
};
enum ExtendedOpcode : uint8_t { end_sequence = 1, set_address = 2 };

std::string joined(const std::string &folder, const std::string &name) {
  return name.empty() || name[0] == '/' || folder.empty() ? name : folder + "/" + name;
}

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

/* The state machine that a line program drives. */
struct Machine {
  uint64_t address = 0, file = 1, line = 1;
  uint64_t before = 0, before_file = 0, before_line = 0;
  bool started = false;

  /* A row begins here: whether the one before it covers `offset`. */
  bool row(uint64_t offset) {
    const bool covered = started && before <= offset && offset < address;
    if (!covered) before = address, before_file = file, before_line = line, started = true;
    return covered;
  }
};

struct LineHeader {
  uint8_t minimum = 1, range = 1, opcode_base = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> lengths;
};

}  // namespace

const Dwarf *Dwarf::of(const char *path) {
  static std::mutex mutex;
  static auto *read = new std::map<std::string, std::unique_ptr<Dwarf>>;
  const std::lock_guard<std::mutex> lock(mutex);
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
    if (each.tag == inlined_subroutine && covers(each, unit, offset)) outer.push_back(place(each.call_file, each.call_line));
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
    case form_data1: case form_flag: case form_ref1: return info.take<uint8_t>();
    case form_data2: case form_ref2: return info.take<uint16_t>();
    case form_data4: case form_ref4: case form_ref_addr: case form_sec_offset: return info.take<uint32_t>();
    case form_data8: case form_ref8: case form_ref_sig8: return info.take<uint64_t>();
    case form_sdata: return static_cast<uint64_t>(info.signed_leb());
    case form_udata: case form_ref_udata: return info.unsigned_leb();
    case form_string: *text = info.text(); return 0;
    case form_strp: {
      Bytes at = elf_.section(".debug_str").from(info.take<uint32_t>());
      *text = at.text();
      return 0;
    }
    case form_block1: return block(info.take<uint8_t>());
    case form_block2: return block(info.take<uint16_t>());
    case form_block4: return block(info.take<uint32_t>());
    case form_block: case form_exprloc: return block(info.unsigned_leb());
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

namespace {

LineHeader read_header(Bytes &program, const char *folder, std::vector<std::string> &folders, std::vector<std::string> &files) {
  LineHeader header;
  header.minimum = program.take<uint8_t>();
  program.skip(2); /* operations an instruction, default_is_stmt */
  header.line_base = program.take<int8_t>();
  header.range = program.take<uint8_t>();
  header.opcode_base = program.take<uint8_t>();
  for (int i = 1; i < header.opcode_base; ++i) header.lengths.push_back(program.take<uint8_t>());
  folders.push_back(folder);
  for (const char *name = program.text(); *name; name = program.text()) folders.push_back(joined(folder, name));
  files.push_back("");
  for (const char *name = program.text(); *name; name = program.text()) {
    const uint64_t where = program.unsigned_leb();
    program.unsigned_leb(), program.unsigned_leb(); /* date, size */
    files.push_back(joined(where < folders.size() ? folders[where] : "", name));
  }
  return header;
}

/* One step of the program: whether a row that covers `offset` has ended. */
bool step(Machine &machine, Bytes &program, const LineHeader &header, uint64_t offset) {
  const uint8_t opcode = program.take<uint8_t>();
  if (opcode >= header.opcode_base) {
    const int adjusted = opcode - header.opcode_base;
    machine.address += uint64_t(adjusted / header.range) * header.minimum;
    machine.line += static_cast<uint64_t>(header.line_base + adjusted % header.range);
    return machine.row(offset);
  }
  switch (opcode) {
    case extended: {
      const uint64_t length = program.unsigned_leb();
      Bytes operands = program.first(length);
      program.skip(length);
      const uint8_t what = operands.take<uint8_t>();
      if (what == set_address) machine.address = operands.take<uint64_t>();
      if (what != end_sequence) return false;
      if (machine.row(offset)) return true;
      machine = Machine();
      return false;
    }
    case copy: return machine.row(offset);
    case advance_pc: machine.address += program.unsigned_leb() * header.minimum; return false;
    case advance_line: machine.line += static_cast<uint64_t>(program.signed_leb()); return false;
    case set_file: machine.file = program.unsigned_leb(); return false;
    case const_add_pc: machine.address += uint64_t((255 - header.opcode_base) / header.range) * header.minimum; return false;
    case fixed_advance_pc: machine.address += program.take<uint16_t>(); return false;
    default:
      for (int i = 0; i < header.lengths[opcode - 1]; ++i) program.unsigned_leb();
      return false;
  }
}

}  // namespace

Dwarf::Lines Dwarf::lines(uint64_t at, const char *folder, uint64_t offset) const {
  Lines result;
  Bytes program = elf_.section(".debug_line").from(at);
  const uint32_t length = program.take<uint32_t>();
  program = program.first(length);
  if (program.take<uint16_t>() != 4) return result;
  program.skip(4); /* the header's length */
  const LineHeader header = read_header(program, folder, result.folders, result.files);
  if (!header.range) return result;
  Machine machine;
  while (!program.empty())
    if (step(machine, program, header, offset)) {
      result.row = {machine.before_file, machine.before_line};
      result.found = true;
      break;
    }
  return result;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
