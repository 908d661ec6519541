/* OPWRIGHT_CHECK(condition, message...): a failed check becomes an opwright.KernelError in Python.
 *
 * The message is any number of strings, numbers and bools, written one after the other:
 *     OPWRIGHT_CHECK(n > 0, "need at least one row, got ", n);
 */
#ifndef OPWRIGHT_CHECK_H
#define OPWRIGHT_CHECK_H

#include <stddef.h>
#include <stdint.h>

namespace opwright {

/* Text of bounded length, built without the standard library. */
class Message {
 public:
  const char *text() const { return text_; }
  size_t length() const { return length_; }
  Message &operator<<(const char *s) {
    for (s = s ? s : "(null)"; *s && length_ + 1 < sizeof(text_); ++s) text_[length_++] = *s;
    text_[length_] = 0;
    return *this;
  }
  Message &operator<<(bool b) { return *this << (b ? "true" : "false"); }
  Message &operator<<(char c) { return format("%c", c); }
  Message &operator<<(int i) { return format("%d", i); }
  Message &operator<<(unsigned i) { return format("%u", i); }
  Message &operator<<(long i) { return format("%ld", i); }
  Message &operator<<(unsigned long i) { return format("%lu", i); }
  Message &operator<<(long long i) { return format("%lld", i); }
  Message &operator<<(unsigned long long i) { return format("%llu", i); }
  Message &operator<<(float f) { return format("%.9g", double(f)); }
  Message &operator<<(double f) { return format("%.17g", f); }
  Message &operator<<(const void *p) { return format("%p", p); }

 private:
  template <class T>
  Message &format(const char *how, T value) {
    char piece[64];
    __builtin_snprintf(piece, sizeof(piece), how, value);
    return *this << piece;
  }
  char text_[1000] = {0};
  size_t length_ = 0;
};

/* Thrown inside a kernel library, and caught there: nothing crosses the ABI. */
struct Failure {
  Message message;
};

namespace detail {

template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void fail(const char *condition, const char *file, int line, Parts... parts) {
  Failure failure;
  int each[] = {0, (failure.message << parts, 0)...};
  (void)each;
  failure.message << (sizeof...(parts) ? " [" : "[") << condition << " is false, " << file << ":" << line << "]";
  throw failure;
}

}  // namespace detail
}  // namespace opwright

#define OPWRIGHT_CHECK(condition, ...)                                                                        \
  do {                                                                                                        \
    if (__builtin_expect(!(condition), 0))                                                                    \
      ::opwright::detail::fail(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__);                    \
  } while (0)
#endif
