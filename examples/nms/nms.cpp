#include <opwright.h>

#include <algorithm>

// A box and its area, in the order that overlaps are looked for: so the inner loop reads memory from front to back.
template <class A>
struct Box {
  A x1, y1, x2, y2, area;
};

// Intersection over union; NaN where both boxes are empty, which is larger than no threshold.
template <class A>
A iou(const Box<A> &a, const Box<A> &b) {
  const A width = max(A(0), min(a.x2, b.x2) - max(a.x1, b.x1)), height = max(A(0), min(a.y2, b.y2) - max(a.y1, b.y1));
  const A overlap = width * height;
  return overlap / (a.area + b.area - overlap);
}

// Writes the numbers of the boxes that stay to `keep`, best score first, and returns how many there are. `fits(i, j)` says
// whether boxes i and j may exclude each other.
template <class T, class F>
int64_t suppress(Tensor<const T, 2> boxes, Tensor<const T, 1> scores, double threshold, int64_t *keep, const F &fits) {
  const int64_t n = scores.numel();
  Workspace<int64_t> order(n);
  Workspace<Box<acc<T>>> sorted(n);
  Workspace<bool> suppressed(n);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.data(), order.data() + n, [&](int64_t i, int64_t j) {  // a NaN before all numbers, as torch.sort
    return scores[i] > scores[j] || (isnan(scores[i]) && !isnan(scores[j]));
  });
  for (int64_t i = 0; i < n; ++i) {
    const acc<T> x1 = boxes(order[i], 0), y1 = boxes(order[i], 1), x2 = boxes(order[i], 2), y2 = boxes(order[i], 3);
    sorted[i] = {x1, y1, x2, y2, (x2 - x1) * (y2 - y1)};
    suppressed[i] = false;
  }
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (suppressed[i]) continue;
    keep[count++] = order[i];
    for (int64_t j = i + 1; j < n; ++j)
      suppressed[j] |= fits(order[i], order[j]) && iou(sorted[i], sorted[j]) > threshold;
  }
  return count;
}

// ?K: how many are kept, the kernel finds out. It asks for the memory when it knows.
OPWRIGHT("nms(boxes: T[N, 4], scores: T[N], iou_threshold: float) -> (keep: i64[?K])")
template <class T>
void nms(Tensor<const T, 2> boxes, Tensor<const T, 1> scores, double iou_threshold, Resizable<int64_t, 1> keep) {
  Workspace<int64_t> kept(scores.numel());
  const auto any = [](int64_t, int64_t) { return true; };
  const int64_t count = suppress(boxes, scores, iou_threshold, kept.data(), any);
  std::copy_n(kept.data(), count, keep.resize(count).data());
}

// ?K<=N: never more than there are boxes. The memory for all of them is there from the start, and resize says at the end
// how much of it counts.
OPWRIGHT("detect(boxes: T[N, 4], scores: T[N], labels: i64[N], iou_threshold: float)"
         " -> (kept_boxes: T[?K<=N, 4], kept_scores: T[?K<=N], keep: i64[?K<=N])")
template <class T>
void detect(Tensor<const T, 2> boxes, Tensor<const T, 1> scores, Tensor<const int64_t, 1> labels, double iou_threshold,
            Resizable<T, 2> kept_boxes, Resizable<T, 1> kept_scores, Resizable<int64_t, 1> keep) {
  const auto same_label = [&](int64_t i, int64_t j) { return labels[i] == labels[j]; };
  const int64_t count = suppress(boxes, scores, iou_threshold, keep.data(), same_label);
  for (int64_t k = 0; k < count; ++k) {
    for (int c = 0; c < 4; ++c) kept_boxes(k, c) = boxes(keep[k], c);
    kept_scores[k] = scores[keep[k]];
  }
  kept_boxes.resize(count), kept_scores.resize(count), keep.resize(count);
}

// By now K is a size like any other. A gradient that nobody gave is absent, because of its ?.
OPWRIGHT("detect_backward(grad_kept_boxes: T[K, 4]?, grad_kept_scores: T[K]?, keep: i64[K] in [0, N))"
         " -> (grad_boxes: T[N, 4], grad_scores: T[N])")
template <class T>
void detect_backward(Tensor<const T, 2> grad_kept_boxes, Tensor<const T, 1> grad_kept_scores, Tensor<const int64_t, 1> keep,
                     Tensor<T, 2> grad_boxes, Tensor<T, 1> grad_scores) {
  std::fill_n(grad_boxes.data(), grad_boxes.numel(), T(0));
  std::fill_n(grad_scores.data(), grad_scores.numel(), T(0));
  for (int64_t k = 0; k < keep.numel(); ++k) {
    if (grad_boxes && grad_kept_boxes) std::copy_n(&grad_kept_boxes(k, 0), 4, &grad_boxes(keep[k], 0));
    if (grad_scores && grad_kept_scores) grad_scores[keep[k]] = grad_kept_scores[k];
  }
}
