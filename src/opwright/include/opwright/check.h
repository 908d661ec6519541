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

/* Text of bounded length, built without the standard library; cut, where it is too long, between two UTF-8 characters. */
class Message {
 public:
  const char *text() const { return text_; }
  size_t length() const { return length_; }
  Message &operator<<(const char *s) {
    for (s = s ? s : "(null)"; *s && !full_; ++s) append(*s);
    return *this;
  }
  /* std::string, std::string_view, and what else has characters of a known number. */
  template <class S, class = typename S::traits_type>
  Message &operator<<(const S &s) {
    const char *const data = s.data();
    for (size_t i = 0; i < s.size() && !full_; ++i) append(data[i]);
    return *this;
  }
  /* The value of a number with derivatives, on which a kernel runs again. */
  template <class D, class = typename D::Scalar, int = D::partials>
  Message &operator<<(const D &x) {
    return *this << x.value;
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
  void append(char c) {
    full_ = length_ + 1 == sizeof(text_);
    if (full_ && continues(c)) length_ = whole();
    if (!full_) text_[length_++] = c;
    text_[length_] = 0;
  }
  /* The length without the character that is only begun; as it is where the text is no UTF-8. */
  size_t whole() const {
    size_t begin = length_ - 1;
    while (length_ - begin < 3 && continues(text_[begin])) --begin;
    return (text_[begin] & 0xc0) == 0xc0 ? begin : length_;
  }
  static bool continues(char c) { return (c & 0xc0) == 0x80; }
  char text_[1000] = {0};
  size_t length_ = 0;
  bool full_ = false;
};

/* Thrown inside a kernel library, and caught there: nothing crosses the ABI. */
struct Failure { Message message; };

namespace detail {

/* Adds what the exception that is being handled says; defined (thrown.h) where the author's text knows std::exception. */
__attribute__((weak, visibility("hidden"))) void describe_thrown(Message &message);

/* The message of an exception that isn't ours, inside the handler that caught it. */
inline Message thrown(const char *what, const char *advice) {
  Message message;
  message << what;
  const size_t length = message.length();
  if (describe_thrown) describe_thrown(message);
  if (message.length() == length) message << advice;
  return message;
}

template <class... Parts>
void write(Message &message, Parts... parts) {
  int each[] = {0, (message << parts, 0)...};
  (void)each;
}

/* For these headers' own checks, whose condition and place would tell the author of a kernel nothing. */
template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void refuse(Parts... parts) {
  Failure failure;
  write(failure.message, parts...);
#ifdef OPWRIGHT_EMULATION_EXTENSION
  throw ::std::runtime_error(failure.message.text()); /* which PyTorch makes a RuntimeError */
#else
  throw failure;
#endif
}

/* For OPWRIGHT_CHECK: the message, the condition, the place. */
template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void fail(const char *condition, const char *file, int line,
                                                       Parts... parts) {
  Failure failure;
  write(failure.message, parts...);
  failure.message << (sizeof...(parts) ? " [" : "[") << condition << " is false, " << file << ":" << line << "]";
  throw failure;
}

}  // namespace detail
}  // namespace opwright

#define OPWRIGHT_CHECK(condition, ...)                                                     \
  do {                                                                                     \
    if (__builtin_expect(!(condition), 0))                                                 \
      ::opwright::detail::fail(#condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
  } while (0)
#endif
