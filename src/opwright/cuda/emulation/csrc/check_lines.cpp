/* DWARF 4's line programs: from an instruction to its file and line. */
#include "check_dwarf.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

enum LineOpcode : uint8_t {
  extended = 0,
  copy = 1,
  advance_pc = 2,
  advance_line = 3,
  set_file = 4,
  set_column = 5,
  const_add_pc = 8,
  fixed_advance_pc = 9
};
enum ExtendedOpcode : uint8_t { end_sequence = 1, set_address = 2 };

std::string joined(const std::string &folder, const std::string &name) {
  return name.empty() || name[0] == '/' || folder.empty() ? name : folder + "/" + name;
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

LineHeader read_header(Bytes &program, const char *folder, std::vector<std::string> &folders,
                       std::vector<std::string> &files) {
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
    case const_add_pc:
      machine.address += uint64_t((255 - header.opcode_base) / header.range) * header.minimum;
      return false;
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
