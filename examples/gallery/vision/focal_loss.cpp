#include <opwright.h>

// Focal loss (Lin et al. 2017): the cross entropy of a logit, small where the answer is right already. One element: the
// loops, the CUDA kernel and both derivatives are derived.
OPWRIGHT(
    "focal_loss(logit: T, target: T in [0, 1], alpha: float in [0, 1] = 0.25, gamma: float in [1, inf) = 2.0) -> "
    "(loss: T)")
template <class T>
T focal_loss(T logit, T target, double alpha, double gamma) {
  const T p = sigmoid(logit), wrong = p * (1 - target) + (1 - p) * target;
  const T entropy = (1 - target) * logit - logsigmoid(logit);
  return (1 - alpha + (2 * alpha - 1) * target) * pow(wrong, gamma) * entropy;
}
