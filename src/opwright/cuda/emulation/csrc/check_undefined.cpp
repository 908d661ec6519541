/* The functions that -fsanitize=alignment,bounds,signed-integer-overflow,shift,integer-divide-by-zero make compiled code call. */
#include "check_access.h"
#include "check_regions.h"
#include "check_report.h"

namespace {

using namespace opwright::emulation::check;

/* What the compiler passes: laid out by the sanitizers' ABI. */
struct SourceLocation {
  const char *file;
  uint32_t line, column;
};
struct Type {
  uint16_t kind, info;
  char name[1];

  bool integer() const { return kind == 0; }
  bool is_signed() const { return info & 1; }
  unsigned bits() const { return 1u << (info >> 1); }
};
struct Arithmetic {
  SourceLocation location;
  const Type *type;
};
struct Shift {
  SourceLocation location;
  const Type *left, *right;
};
struct Index {
  SourceLocation location;
  const Type *array, *index;
};
struct Mismatch {
  SourceLocation location;
  const Type *type;
  unsigned char log_alignment, check;
};

/* An operand: itself where it fits a word, else where it lies. */
std::string number(const Type &type, uintptr_t value) {
  if (!type.integer() || type.bits() > 64) return "a large number";
  const unsigned unused = 64 - type.bits();
  if (type.is_signed()) return std::to_string(static_cast<int64_t>(uint64_t(value) << unused) >> unused);
  return std::to_string(uint64_t(value) << unused >> unused);
}

std::string name(const Type &type) {
  std::string text = type.name;
  if (text.size() > 1 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
  return text;
}

/* The author's line; the compiler's own word for it where the library has no debug information. */
void undefined(const Fault &fault, const SourceLocation &location, uintptr_t code) {
  const Place found = place(code);
  const uintptr_t key = code ^ reinterpret_cast<uintptr_t>(fault.kind) << 20;
  if (live->silenced.count(key)) return;
  report(fault, found.known() ? found : Place{location.file ? location.file : "", static_cast<int>(location.line)});
  live->silenced.insert(key);
}

void overflowed(const Arithmetic *data, const char *sign, uintptr_t left, uintptr_t right, uintptr_t code) {
  if (!in_kernel()) return;
  const std::string found = "got: " + number(*data->type, left) + " " + sign + " " + number(*data->type, right) +
                            ", which doesn't fit " + name(*data->type);
  undefined(
      {overflow, "signed integer overflow", found, "compute it as int64_t (or unsigned, where it is meant to wrap)"},
      data->location, code);
}

/* The shared array of that many bytes whose name stands in the line, if there is one. */
std::string indexed(const SourceLocation &location, const std::string &line) {
  std::string found;
  for (const std::string &each : shared_names())
    if (line.find(each + "[") != std::string::npos || line.find(each + " [") != std::string::npos)
      found = found.empty() ? each : "";
  (void)location;
  return found;
}

}  // namespace

#define CALLBACK extern "C" __attribute__((visibility("default")))
#define CODE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

CALLBACK void __ubsan_handle_add_overflow(Arithmetic *data, uintptr_t left, uintptr_t right) {
  overflowed(data, "+", left, right, CODE);
}
CALLBACK void __ubsan_handle_sub_overflow(Arithmetic *data, uintptr_t left, uintptr_t right) {
  overflowed(data, "-", left, right, CODE);
}
CALLBACK void __ubsan_handle_mul_overflow(Arithmetic *data, uintptr_t left, uintptr_t right) {
  overflowed(data, "*", left, right, CODE);
}
CALLBACK void __ubsan_handle_negate_overflow(Arithmetic *data, uintptr_t value) {
  overflowed(data, "-", 0, value, CODE);
}

CALLBACK void __ubsan_handle_divrem_overflow(Arithmetic *data, uintptr_t left, uintptr_t right) {
  if (!in_kernel()) return;
  const std::string by = number(*data->type, right);
  if (by != "0") return overflowed(data, "/", left, right, CODE);
  undefined({division, "integer division by zero", "got: " + number(*data->type, left) + " divided by 0",
             "test the divisor first"},
            data->location, CODE);
}

CALLBACK void __ubsan_handle_shift_out_of_bounds(Shift *data, uintptr_t left, uintptr_t right) {
  if (!in_kernel()) return;
  const std::string found =
      "got: " + number(*data->left, left) + " shifted by " + number(*data->right, right) + ", in " + name(*data->left);
  undefined({shift, "bad shift", found, "shift unsigned numbers, by less than their width in bits"}, data->location,
            CODE);
}

CALLBACK void __ubsan_handle_out_of_bounds(Index *data, uintptr_t index) {
  if (!in_kernel()) return;
  const Place where = place(CODE);
  const std::string array = indexed(data->location, line_text(where));
  const std::string found = "got: index " + number(*data->index, index) + " of " +
                            (array.empty() ? "an array" : "shared array " + array) + ", type " + name(*data->array);
  undefined({bounds, "index out of bounds", found, "compare the index with the array's size before the access"},
            data->location, CODE);
}

CALLBACK void __ubsan_handle_type_mismatch_v1(Mismatch *data, uintptr_t address) {
  if (!in_kernel() || !address) return; /* the access itself says what is wrong with null */
  const uintptr_t alignment_wanted = uintptr_t(1) << data->log_alignment;
  if (!(address & (alignment_wanted - 1))) return;
  const Region *region = region_at(address);
  if (!region) region = shared_at(address);
  const std::string found = "got: " + (region ? spot(*region, address) : "an address") + " as " + name(*data->type) +
                            ", which needs a multiple of " + std::to_string(alignment_wanted) + " bytes";
  undefined({alignment, "misaligned access", found,
             "vector accesses need addresses that are multiples of their size: check the offset, or access elements "
             "one by one"},
            data->location, CODE);
}
