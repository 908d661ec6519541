// What TH's error functions throw, and the checks that this library makes in TH's words.
#pragma once
#include <stdexcept>
#include <string>

namespace opw::th {

// Python sees it as torch.FatalError, with this text.
struct Error : std::runtime_error { using std::runtime_error::runtime_error; };

#define OPW_LIKE_PRINTF(text, first) __attribute__((format(printf, text, first)))

// "<text> at <file>:<line>"
[[noreturn]] void fail(const char *file, int line, const char *format, ...) OPW_LIKE_PRINTF(3, 4);
// "invalid argument <n>: <text> at <file>:<line>"
[[noreturn]] void fail_argument(const char *file, int line, int argument, const char *format, ...)
    OPW_LIKE_PRINTF(4, 5);

// The text of the exception that is being handled: c10's without its backtrace.
std::string current_text();

}  // namespace opw::th

// Before a function that C code calls by this very name.
#define OPW_EXPORT_C extern "C" __attribute__((visibility("default")))

// In an operation: FAIL("lu: %d", k), and CHECK_ARG(condition, number of the argument as in TH's function, text, ...).
#define OPW_FILE (__builtin_strrchr("/" __FILE__, '/') + 1)
#define FAIL(...) ::opw::th::fail(OPW_FILE, __LINE__, __VA_ARGS__)
#define CHECK_ARG(condition, argument, ...) \
  (__builtin_expect(!!(condition), 1) ? void() : ::opw::th::fail_argument(OPW_FILE, __LINE__, argument, __VA_ARGS__))
