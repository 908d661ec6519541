#include "../sums.h"

#include <utility>

enum class Method { linear, gaussian };

// Soft-NMS (Bodla et al. 2017): the best box is kept, and the scores of those that overlap it are lowered instead of
// the boxes being removed; then the best of the rest, until none has more than least_score. Boxes are (x1, y1, x2, y2).
OPWRIGHT(
    "soft_nms(boxes: T[N, 4], scores: T[N], method: linear | gaussian = gaussian, sigma: float in (0, inf) = 0.5, "
    "iou_threshold: float = 0.3, least_score: float = 0.001) -> (kept_scores: T[?K<=N], keep: i64[?K<=N]) "
    "where T in (f32, f64)")
template <class T, Method method>
void soft_nms(Tensor<const T, 2> boxes, Tensor<const T, 1> scores, double sigma, double iou_threshold,
              double least_score, Resizable<T, 1> kept_scores, Resizable<int64_t, 1> keep) {
  const int64_t N = scores.numel();
  Workspace<T> memory(
      6 * N);  // by coordinate, so that the loop over boxes is one over vectors; those kept move to the front
  T *const x1 = memory.data(), *const y1 = x1 + N, *const x2 = y1 + N, *const y2 = x2 + N, *const area = y2 + N,
           *const score = area + N;
  for (int64_t i = 0; i < N; ++i) {
    x1[i] = boxes(i, 0), y1[i] = boxes(i, 1), x2[i] = boxes(i, 2), y2[i] = boxes(i, 3);
    area[i] = (x2[i] - x1[i]) * (y2[i] - y1[i]), score[i] = scores[i], keep[i] = i;
  }
  int64_t count = 0;
  for (; count < N; ++count) {
    int64_t best = count;
    for (int64_t i = count + 1; i < N; ++i)
      if (score[i] > score[best] || (score[i] == score[best] && keep[i] < keep[best])) best = i;
    if (!(score[best] > T(least_score))) break;
    for (T *const row : {x1, y1, x2, y2, area, score}) std::swap(row[count], row[best]);
    std::swap(keep[count], keep[best]);
    kept_scores[count] = score[count];
    const T left = x1[count], top = y1[count], right = x2[count], bottom = y2[count], size = area[count];
    for (int64_t i = count + 1; i < N; ++i) {
      const T width = max(T(0), min(right, x2[i]) - max(left, x1[i])),
              height = max(T(0), min(bottom, y2[i]) - max(top, y1[i]));
      const T overlap = width * height, iou = overlap > 0 ? overlap / (size + area[i] - overlap) : T(0);
      score[i] *= method == Method::gaussian ? exp(-iou * iou / T(sigma)) : iou > T(iou_threshold) ? 1 - iou : T(1);
    }
  }
  kept_scores.resize(count), keep.resize(count);
}
