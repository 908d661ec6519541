/* What an exception says that a kernel let go. Included behind the author's text: only who knows std::exception can throw
 * one, and whoever throws none doesn't pay for compiling <exception>.
 */
#ifndef OPWRIGHT_THROWN_H
#define OPWRIGHT_THROWN_H

#include "../check.h"

/* The guards of libstdc++ and libc++. */
#if defined(__EXCEPTION_H) || defined(_LIBCPP_EXCEPTION) || defined(_LIBCPP___EXCEPTION_EXCEPTION_H)
namespace opwright {
namespace detail {

void describe_thrown(Message &message) {
  try {
    throw;
  } catch (const ::std::exception &thrown) {
    message << ": " << thrown.what();
  } catch (...) {
  }
}

}  // namespace detail
}  // namespace opwright
#endif
#endif
