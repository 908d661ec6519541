/* Launches whose threads run one after the other, always in the same order, on the OS thread that launches. */
#ifndef OPWRIGHT_EMULATION_IN_ORDER_H
#define OPWRIGHT_EMULATION_IN_ORDER_H

#include "context.h"

namespace opwright {
namespace emulation {

/* Of this OS thread's launches from now on, whatever opwright_emulation_order and opwright_emulation_workers say. */
OPWRIGHT_EMULATION_API void launch_in_order(bool wanted);

/* While there is one. */
struct InOrder {
  InOrder() { launch_in_order(true); }
  InOrder(const InOrder &) = delete;
  ~InOrder() { launch_in_order(false); }
};

/* Whether values of a type are only read and written by threads that run one after the other, so that an atomic function of
 * them needs no locked instruction. */
template <class T> struct runs_in_order { static constexpr bool value = false; };

}  // namespace emulation
}  // namespace opwright
#endif
