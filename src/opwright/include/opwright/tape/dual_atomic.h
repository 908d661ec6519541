/* atomic_add of numbers with derivatives: on a tape a plain addition, as loops run in order there. */
#ifndef OPWRIGHT_DUAL_ATOMIC_H
#define OPWRIGHT_DUAL_ATOMIC_H

#include "../services/atomic.h"
#include "tape.h"

namespace opwright {

template <class S>
Dual<S, taped> atomic_add(Dual<S, taped> *at, const detail::same<Dual<S, taped>> &value) {
  const Dual<S, taped> before = *at;
  *at = before + value;
  return before;
}
/* Of dual numbers value and derivatives are added one after the other, so there is no one number that was there before. */
template <class S, int N>
void atomic_add(Dual<S, N> *at, const detail::same<Dual<S, N>> &value) {
  (void)atomic_add(&at->value, value.value);
  for (int i = 0; i < N; ++i) (void)atomic_add(&at->partial[i], value.partial[i]);
}
template <class S, int N>
decltype(auto) atomic_add(Dual<S, N> &at, const detail::same<Dual<S, N>> &value) {
  return atomic_add(&at, value);
}

}  // namespace opwright
#endif
