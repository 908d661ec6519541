#include <opwright.h>

// A thread has a centre; the threads of a block go through the same points at the same time.
OPWRIGHT(
    "ball_query(points: T[B, N, 3], centers: T[B, M, 3], radius: float in [0, inf), k: int in [1, inf)) -> "
    "(index: i64[B, M, k], count: i64[B, M]) independent B, M launch over B*M, threads 128")
template <class T>
__global__ void ball_query(Tensor<const T, 3> points, Tensor<const T, 3> centers, double radius, int64_t k,
                           Tensor<int64_t, 3> index, Tensor<int64_t, 2> count) {
  using A = acc<T>;
  const int64_t center = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, N = points.size(1);
  if (center >= count.numel()) return;
  const A cx = centers.flat(3 * center), cy = centers.flat(3 * center + 1), cz = centers.flat(3 * center + 2);
  const A limit = A(radius) * A(radius);
  const T *p = points.data() + center / centers.size(1) * N * 3;
  int64_t found = 0;
  for (int64_t i = 0; i < N && found < k; ++i, p += 3) {
    const A dx = A(p[0]) - cx, dy = A(p[1]) - cy, dz = A(p[2]) - cz;
    if (dx * dx + dy * dy + dz * dz < limit) index.flat(center * k + found++) = i;
  }
  count.flat(center) = found;
  for (; found < k; ++found) index.flat(center * k + found) = -1;
}
