/* The host services that this kernel library was given when it was loaded. */
#ifndef OPWRIGHT_HOST_H
#define OPWRIGHT_HOST_H

#include "abi.h"

namespace opwright {
namespace detail {

/* One per library (everything is built with hidden visibility). */
inline const opw_host *host = nullptr;

}  // namespace detail
}  // namespace opwright
#endif
