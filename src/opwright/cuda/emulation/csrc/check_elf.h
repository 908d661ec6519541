/* The sections of a library's file, and a cursor over their bytes. */
#ifndef OPWRIGHT_EMULATION_CHECK_ELF_H
#define OPWRIGHT_EMULATION_CHECK_ELF_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace opwright {
namespace emulation {
namespace check {

/* Reads numbers; past the end everything is 0. */
struct Bytes {
  const char *at = nullptr, *end = nullptr;

  bool empty() const { return at >= end; }
  template <class T>
  T take() {
    T value{};
    if (end - at >= static_cast<ptrdiff_t>(sizeof(T))) memcpy(&value, at, sizeof(T));
    skip(sizeof(T));
    return value;
  }
  void skip(uint64_t count) { at = count > static_cast<uint64_t>(end - at) ? end : at + count; }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (int shift = 0; !empty(); shift += 7) {
      const uint8_t byte = take<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  int64_t signed_leb() {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0x80;
    while (!empty() && (byte & 0x80)) {
      byte = take<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 0x40)) value |= ~uint64_t(0) << shift;
    return static_cast<int64_t>(value);
  }
  const char *text() {
    const char *first = at;
    while (!empty() && *at) ++at;
    const bool ended = !empty();
    skip(1);
    return ended ? first : "";
  }
  Bytes from(uint64_t offset) const {
    Bytes rest = *this;
    rest.skip(offset);
    return rest;
  }
  Bytes first(uint64_t count) const {
    Bytes part = *this;
    if (count < static_cast<uint64_t>(end - at)) part.end = at + count;
    return part;
  }
};

/* A 64-bit ELF file in memory. */
class Elf {
 public:
  explicit Elf(const char *path) {
    std::ifstream file(path, std::ios::binary);
    data_.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  /* A section's bytes; none where the file has no such section, or has it compressed. */
  Bytes section(const char *name) const {
    Elf64_Ehdr header;
    Elf64_Shdr names, each;
    if (!read(&header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      return {};
    if (!read(&names, header.e_shoff + uint64_t(header.e_shstrndx) * sizeof(each))) return {};
    for (unsigned index = 0; index < header.e_shnum; ++index) {
      if (!read(&each, header.e_shoff + uint64_t(index) * sizeof(each)) || (each.sh_flags & SHF_COMPRESSED)) continue;
      Bytes title = bytes(names).from(each.sh_name);
      if (strcmp(title.text(), name) == 0) return bytes(each);
    }
    return {};
  }

 private:
  template <class T>
  bool read(T *into, uint64_t offset) const {
    if (offset > data_.size() || data_.size() - offset < sizeof(T)) return false;
    memcpy(into, data_.data() + offset, sizeof(T));
    return true;
  }
  Bytes bytes(const Elf64_Shdr &section) const {
    const Bytes all{data_.data(), data_.data() + data_.size()};
    return all.from(section.sh_offset).first(section.sh_size);
  }
  std::vector<char> data_;
};

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
