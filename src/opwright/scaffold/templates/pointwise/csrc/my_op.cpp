// Swish with a learned slope (Ramachandran, Zoph and Le, 2017): y = x sigmoid(beta x).
#include <opwright.h>

// The function of one element. The loop, broadcasting, promotion, both derivatives and the CUDA kernel follow from it.
OPWRIGHT("my_op(x: T, beta: T) -> (y: T)")
template <class T>
T my_op(T x, T beta) {
  return x * sigmoid(beta * x);
}
