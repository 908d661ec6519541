// What authors write in bodies beyond formulas.
#include <limits>
#include <opwright.h>

OPWRIGHT("limited(x: T) -> (y: T)")
template <class T>
T limited(T x) {
  const T most = std::numeric_limits<T>::max();
  return x < most ? x * x + std::numeric_limits<T>::epsilon() : most;
}

OPWRIGHT("sized(x: T) -> (y: T)")
template <class T>
T sized(T x) {
  return x * int(sizeof(decltype(value_of(x))));
}

OPWRIGHT("counted(x: T, n: i64!, m: M!) -> (y: T) where M in (bool)")
template <class T, class M>
T counted(T x, int64_t &n, M &m) {
  const T y = m ? x * n : x;
  n += x > 0;
  m = !m;
  return y;
}

OPWRIGHT("added_up(x: T) -> (y: T)")
template <class T>
void added_up(T x, T &y) {
  for (int k = 0; k++ < 3;) y += x * x;
}

OPWRIGHT("stepped(x: T) -> (y: T)")
template <class T>
T stepped(T x) {
  T before = x++;
  return before * x--;
}

OPWRIGHT("decay(x: T!, rate: T)")
template <class T>
void decay(T &x, T rate) {
  x *= exp(-rate);
}
