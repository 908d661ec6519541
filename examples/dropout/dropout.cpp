#include <opwright.h>

constexpr int64_t grain = 1024;  // four random numbers are some 30 ns, so a piece of this size is worth a thread

// What is kept is multiplied by this, so that the mean stays what it was.
double scale(double p) { return p < 1 ? 1 / (1 - p) : 0; }

template <class T>
void apply(Tensor<const T> x, double p, Tensor<const bool> mask, Tensor<T> y) {
  const acc<T> factor = scale(p);
  parallel_for(y.numel(), [&](int64_t i) { y[i] = mask[i] ? x[i] * factor : 0; });
}

// rng[b] has the random numbers of block b, whichever thread asks for them. They are made four at a time, so that a block of
// four elements costs no more than one element.
OPWRIGHT("dropout(x: T[...], p: float = 0.5, rng: generator(4)) -> (y: T[...]; mask: bool[...])")
template <class T>
void dropout(Tensor<const T> x, double p, Tensor<T> y, Tensor<bool> mask, Generator rng) {
  OPWRIGHT_CHECK(p >= 0 && p <= 1, "p is ", p, ", expected a probability: 0 to 1");
  const acc<T> factor = scale(p);
  const int64_t n = x.numel();
  parallel_for((n + 3) / 4, grain, [&](int64_t b) {
    Philox numbers = rng[b];
    for (int64_t i = 4 * b; i < min(n, 4 * b + 4); ++i) {
      const bool keep = numbers.uniform() >= p;
      y[i] = keep ? x[i] * factor : 0;
      if (mask) mask[i] = keep;
    }
  });
}

// The mask was kept: a backward draws nothing, so it can't draw something else.
OPWRIGHT("dropout_backward(grad_y: T[...], p: float, mask: bool[...]) -> (grad_x: T[...])")
template <class T>
void dropout_backward(Tensor<const T> grad_y, double p, Tensor<const bool> mask, Tensor<T> grad_x) {
  apply(grad_y, p, mask, grad_x);
}

OPWRIGHT("dropout_backward_backward(grad_grad_x: T[...], p: float, mask: bool[...]) -> (grad_grad_y: T[...])")
template <class T>
void dropout_backward_backward(Tensor<const T> grad_grad_x, double p, Tensor<const bool> mask, Tensor<T> grad_grad_y) {
  apply(grad_grad_x, p, mask, grad_grad_y);
}
