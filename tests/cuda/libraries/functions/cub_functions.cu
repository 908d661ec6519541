#include <cub/cub.cuh>
typedef int64_t I;
/* Each asks for the storage first, and does it then. */
template <class F> static int both(F f) {
  void *storage = nullptr;
  size_t bytes = 0;
  if (f(storage, bytes) || !bytes || cudaMalloc(&storage, bytes) || f(storage, bytes)) return 1;
  return cudaFree(storage);
}
EXPORT int runs(int *x, int *unique, int *counts, int *found, I n) {
  return both([=](void *s, size_t &b) { return cub::DeviceRunLengthEncode::Encode(s, b, x, unique, counts, found, n); });
}
EXPORT int long_runs(int *x, int *offsets, int *counts, int *found, I n) {
  return both([=](void *s, size_t &b) {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(s, b, x, offsets, counts, found, n);
  });
}
EXPORT int by_key(int *keys, float *values, int *unique, float *totals, int *found, I n) {
  return both([=](void *s, size_t &b) {
    return cub::DeviceReduce::ReduceByKey(s, b, keys, unique, values, totals, found, cub::Max(), n);
  });
}
EXPORT int segments(float *x, float *sums, float *most, float *least, int *offsets, I n) {
  using R = cub::DeviceSegmentedReduce;
  return both([=](void *s, size_t &b) { return R::Sum(s, b, x, sums, n, offsets, offsets + 1); }) ||
         both([=](void *s, size_t &b) { return R::Max(s, b, x, most, n, offsets, offsets + 1); }) ||
         both([=](void *s, size_t &b) { return R::Min(s, b, x, least, n, offsets, offsets + 1); });
}
EXPORT int histograms(float *x, int *even, int *ranged, float *bounds, int *whole, int *bins, I n) {
  using H = cub::DeviceHistogram;
  return both([=](void *s, size_t &b) { return H::HistogramEven(s, b, x, even, 6, -1.0f, 1.5f, n); }) ||
         both([=](void *s, size_t &b) { return H::HistogramRange(s, b, x, ranged, 5, bounds, n); }) ||
         both([=](void *s, size_t &b) { return H::HistogramEven(s, b, whole, bins, 4, -3, 9, n); });
}
