#include "errors.h"

#include <c10/util/Exception.h>

#include <cstdarg>
#include <cstdio>
#include <vector>

namespace opw::th {
namespace {

using Handler = void (*)(const char *text, void *data);
using ArgumentHandler = void (*)(int argument, const char *text, void *data);

// What a program has set with THSetErrorHandler: for its thread, else for all.
struct Handlers {
  Handler error = nullptr;
  void *error_data = nullptr;
  ArgumentHandler argument = nullptr;
  void *argument_data = nullptr;
};
Handlers default_handlers;
thread_local Handlers thread_handlers;

std::string formatted(const char *format, va_list values) {
  va_list again;
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, format, values);
  std::vector<char> text(length > 0 ? static_cast<size_t>(length) + 1 : 1);
  if (length > 0) std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  return text.data();
}

std::string place(const char *file, int line) {
  return std::string(" at ") + (file ? file : "?") + ":" + std::to_string(line);
}

// A handler may leave by itself, with longjmp or an exception; what returns to here is thrown.
[[noreturn]] void raise(const std::string &text) {
  const Handlers &handlers = thread_handlers.error ? thread_handlers : default_handlers;
  if (handlers.error) handlers.error(text.c_str(), handlers.error_data);
  throw Error(text);
}

[[noreturn]] void raise_argument(int argument, const std::string &text) {
  const Handlers &handlers = thread_handlers.argument ? thread_handlers : default_handlers;
  if (handlers.argument) handlers.argument(argument, text.c_str(), handlers.argument_data);
  throw Error("invalid argument " + std::to_string(argument) + ": " + text);
}

}  // namespace

void fail(const char *file, int line, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const std::string text = formatted(format, values);
  va_end(values);
  raise(text + place(file, line));
}

void fail_argument(const char *file, int line, int argument, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const std::string text = formatted(format, values);
  va_end(values);
  raise_argument(argument, text + place(file, line));
}

std::string current_text() {
  try {
    throw;
  } catch (const c10::Error &error) {
    return error.what_without_backtrace();
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "a C++ exception that isn't a std::exception";
  }
}

OPW_EXPORT_C __attribute__((noreturn)) void _THError(const char *file, const int line, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const std::string text = formatted(format, values);
  va_end(values);
  raise(text + place(file, line));
}

OPW_EXPORT_C __attribute__((noreturn)) void _THAssertionFailed(const char *file, const int line, const char *expression,
                                                               const char *format, ...) {
  va_list values;
  va_start(values, format);
  const std::string text = formatted(format, values);
  va_end(values);
  raise(std::string("Assertion `") + expression + "' failed. " + text + place(file, line));
}

OPW_EXPORT_C void _THArgCheck(const char *file, int line, int condition, int argument, const char *format, ...) {
  if (condition) return;
  va_list values;
  va_start(values, format);
  const std::string text = formatted(format, values);
  va_end(values);
  raise_argument(argument, text + place(file, line));
}

OPW_EXPORT_C void THSetErrorHandler(Handler handler, void *data) {
  thread_handlers.error = handler, thread_handlers.error_data = data;
}

OPW_EXPORT_C void THSetDefaultErrorHandler(Handler handler, void *data) {
  default_handlers.error = handler, default_handlers.error_data = data;
}

OPW_EXPORT_C void THSetArgErrorHandler(ArgumentHandler handler, void *data) {
  thread_handlers.argument = handler, thread_handlers.argument_data = data;
}

OPW_EXPORT_C void THSetDefaultArgErrorHandler(ArgumentHandler handler, void *data) {
  default_handlers.argument = handler, default_handlers.argument_data = data;
}

}  // namespace opw::th
