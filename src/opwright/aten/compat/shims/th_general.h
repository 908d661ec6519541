// TH/THGeneral.h in C++: checks that throw, memory, and comparisons.
#pragma once

#include <c10/util/Exception.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace opwright_compat {

[[noreturn]] inline void th_fail(const char *file, int line, const std::string &text) {
  TORCH_CHECK(false, text, " at ", file, ":", line);
}

__attribute__((__format__(__printf__, 1, 2))) inline std::string th_text(const char *format, ...) {
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, values);
  va_end(values);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}
inline std::string th_text() { return "argument check failed"; }

inline void *th_allocated(void *memory, std::ptrdiff_t bytes) {
  TORCH_CHECK(memory || bytes == 0, "TH: no memory for ", bytes, " bytes");
  return memory;
}

}  // namespace opwright_compat

inline void *THAlloc(std::ptrdiff_t bytes) {
  TORCH_CHECK(bytes >= 0, "TH: invalid memory size ", bytes, ": expected 0 or more bytes");
  return bytes ? opwright_compat::th_allocated(std::malloc(static_cast<std::size_t>(bytes)), bytes) : nullptr;
}
inline void THFree(void *memory) { std::free(memory); }
inline void *THRealloc(void *memory, std::ptrdiff_t bytes) {
  if (!memory || bytes <= 0) {
    THFree(memory);
    return THAlloc(bytes);
  }
  return opwright_compat::th_allocated(std::realloc(memory, static_cast<std::size_t>(bytes)), bytes);
}

#define THError(...) ::opwright_compat::th_fail(__FILE__, __LINE__, ::opwright_compat::th_text(__VA_ARGS__))
#define THArgCheck(condition, argument, ...)                                                                \
  do {                                                                                                      \
    if (!(condition))                                                                                       \
      ::opwright_compat::th_fail(                                                                           \
          __FILE__, __LINE__,                                                                               \
          "invalid argument " + std::to_string(argument) + ": " + ::opwright_compat::th_text(__VA_ARGS__)); \
  } while (0)
#define THAssert(condition)                                                                                 \
  do {                                                                                                      \
    if (!(condition)) ::opwright_compat::th_fail(__FILE__, __LINE__, "Assertion `" #condition "' failed."); \
  } while (0)
#define THAssertMsg(condition, ...)                                                                                \
  do {                                                                                                             \
    if (!(condition))                                                                                              \
      ::opwright_compat::th_fail(__FILE__, __LINE__,                                                               \
                                 "Assertion `" #condition "' failed. " + ::opwright_compat::th_text(__VA_ARGS__)); \
  } while (0)

#ifndef THMin
#define THMin(X, Y) ((X) < (Y) ? (X) : (Y))
#endif
#ifndef THMax
#define THMax(X, Y) ((X) < (Y) ? (Y) : (X))
#endif
#ifndef TH_API
#define TH_API extern "C" __attribute__((__visibility__("default")))
#endif
