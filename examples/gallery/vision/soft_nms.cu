#include "../block.cuh"

enum class Method { linear, gaussian };

// One block for all boxes, since each step needs the one before. A kept box's place in `rank` is no longer negative.
template <class T>
__global__ void soft_nms_kernel(int64_t N, const T *boxes, bool gaussian, T sigma, T iou_threshold, T least_score,
                                T *score, int64_t *rank, T *kept_scores, int64_t *keep, int64_t *count) {
  for (int64_t i = threadIdx.x; i < N; i += blockDim.x) rank[i] = -1;
  int64_t kept = 0;
  for (; kept < N; ++kept) {
    Best<T> best = {0, -1};
    for (int64_t i = threadIdx.x; i < N; i += blockDim.x)
      if (rank[i] < 0 && better({score[i], i}, best)) best = {score[i], i};
    best = best_of_block(best);
    if (!(best.value > least_score)) break;
    const T *const b = boxes + best.place * 4;
    for (int64_t i = threadIdx.x; i < N; i += blockDim.x) {
      if (i == best.place) rank[i] = kept, keep[kept] = i, kept_scores[kept] = best.value;
      if (rank[i] >= 0) continue;
      const T *const a = boxes + i * 4;
      const T width = max(T(0), min(b[2], a[2]) - max(b[0], a[0])),
              height = max(T(0), min(b[3], a[3]) - max(b[1], a[1]));
      const T overlap = width * height, both = (b[2] - b[0]) * (b[3] - b[1]) + (a[2] - a[0]) * (a[3] - a[1]) - overlap;
      const T iou = overlap > 0 ? overlap / both : T(0);
      score[i] *= gaussian ? exp(-iou * iou / sigma) : iou > iou_threshold ? 1 - iou : T(1);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *count = kept;
}

OPWRIGHT(
    "soft_nms(boxes: T[N, 4], scores: T[N], method: linear | gaussian = gaussian, sigma: float in (0, inf) = 0.5, "
    "iou_threshold: float = 0.3, least_score: float = 0.001) -> (kept_scores: T[?K<=N], keep: i64[?K<=N]) "
    "where T in (f32, f64)")
template <class T>
void soft_nms(Tensor<const T, 2> boxes, Tensor<const T, 1> scores, Method method, double sigma, double iou_threshold,
              double least_score, Resizable<T, 1> kept_scores, Resizable<int64_t, 1> keep, cudaStream_t stream) {
  const int64_t N = scores.numel();
  Workspace<T> score(N, stream);
  Workspace<int64_t> rank(N, stream), count(1, stream);
  int64_t found = 0;
  if (N > 0) {
    OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(score.data(), scores.data(), N * sizeof(T), cudaMemcpyDeviceToDevice, stream));
    soft_nms_kernel<T><<<1, MOST_THREADS, 0, stream>>>(N, boxes.data(), method == Method::gaussian, T(sigma),
                                                       T(iou_threshold), T(least_score), score.data(), rank.data(),
                                                       kept_scores.data(), keep.data(), count.data());
    OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(&found, count.data(), sizeof(found), cudaMemcpyDeviceToHost, stream));
    OPWRIGHT_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  kept_scores.resize(found), keep.resize(found);
}
