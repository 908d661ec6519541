/* Texts. */
#include "check_report.h"

#include "check_touch.h"

#include <regex>

namespace opwright {
namespace emulation {
namespace check {

const char *const race = "race", *const bounds = "bounds", *const uninitialised = "uninitialised",
                  *const barrier = "barrier", *const lanes = "lanes", *const alignment = "alignment",
                  *const overflow = "overflow", *const division = "division", *const shift = "shift",
                  *const memory = "memory";

namespace {

constexpr size_t longest_line = 90; /* of quoted source: a report has to fit the message of a failure */

std::string triple(uint64_t index, const unsigned size[3]) {
  const uint64_t x = index % size[0], rest = index / size[0];
  return "(" + std::to_string(x) + ", " + std::to_string(rest % size[1]) + ", " + std::to_string(rest / size[1]) + ")";
}

}  // namespace

std::string thread_text(uint32_t who) { return "thread " + triple(who & ((1u << thread_bits) - 1), live->block_size); }

std::string block_text(const Access &access) {
  const uint32_t number = live->block_of(access.stamp);
  return "block " + triple(number < live->blocks.size() ? live->blocks[number] : 0, live->grid_size);
}

std::string spot(const Region &region, uintptr_t address) {
  const uintptr_t offset = address - region.low;
  if (region.element) return region.name + "[" + std::to_string(offset / region.element) + "]";
  const std::string of = region.kind == Kind::made ? "the " + bytes(region.high - region.low) + " of " : "";
  return "byte " + std::to_string(offset) + " of " + of + region.name;
}

bool silenced(const Place &place, const char *kind) {
  const std::string line = line_text(place);
  const size_t mark = line.find("opwright: benign");
  if (mark == std::string::npos) return false;
  return std::regex_search(line.substr(mark), std::regex(std::string("\\b") + kind + "\\b"));
}

std::string text_of(const Fault &fault, const Place &place) {
  if (place.known() && silenced(place, fault.kind)) return "";
  std::string text = place.known() ? place.text() + ": " : "";
  text += fault.what;
  const std::string line = line_text(place);
  if (!line.empty()) text += "\n    " + line.substr(0, longest_line);
  if (!place.known()) text += "\n  at a line that isn't known: the library holds no debug information of it";
  text += "\n  " + fault.found + "\n  likely fix: " + fault.fix;
  return text;
}

void report(const Fault &fault, const Place &place) {
  const std::string text = text_of(fault, place);
  if (!text.empty()) stop(fault.kind, text);
}

void report(const Fault &fault, uintptr_t code) {
  const uintptr_t key = code ^ reinterpret_cast<uintptr_t>(fault.kind) << 20;
  if (live->silenced.count(key)) return;
  report(fault, place(code));
  live->silenced.insert(key);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
