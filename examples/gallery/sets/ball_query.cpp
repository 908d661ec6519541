#include "../sums.h"

// The first k points within a radius of each centre, -1 where there are fewer; and how many there are, at most k
// (PointNet++).
OPWRIGHT(
    "ball_query(points: T[B, N, 3], centers: T[B, M, 3], radius: float in [0, inf), k: int in [1, inf)) -> "
    "(index: i64[B, M, k], count: i64[B, M]) independent B, M")
template <class T>
void ball_query(Tensor<const T, 3> points, Tensor<const T, 3> centers, double radius, int64_t k,
                Tensor<int64_t, 3> index, Tensor<int64_t, 2> count, int64_t B, int64_t N, int64_t M) {
  using A = acc<T>;
  constexpr int64_t together = 64;  // distances at a time: then the loop over them has no branch
  const A limit = A(radius) * A(radius);
  Workspace<A> x(B * N), y(B * N), z(B * N);
  for (int64_t i = 0; i < B * N; ++i)
    x[i] = points.flat(3 * i), y[i] = points.flat(3 * i + 1), z[i] = points.flat(3 * i + 2);
  parallel_for(B * M, grain_of(N), [&](int64_t center) {
    const A cx = centers.flat(3 * center), cy = centers.flat(3 * center + 1), cz = centers.flat(3 * center + 2);
    const int64_t begin = center / M * N;
    int64_t found = 0, *const out = index.data() + center * k;
    for (int64_t first = 0; first < N && found < k; first += together) {
      bool near[together], any = false;
      const int64_t here = min(together, N - first);
      for (int64_t i = 0; i < here; ++i) {
        const A dx = x[begin + first + i] - cx, dy = y[begin + first + i] - cy, dz = z[begin + first + i] - cz;
        near[i] = dx * dx + dy * dy + dz * dz < limit, any |= near[i];
      }
      for (int64_t i = 0; i < here && any && found < k; ++i)
        if (near[i]) out[found++] = first + i;
    }
    count.flat(center) = found;
    for (int64_t i = found; i < k; ++i) out[i] = -1;
  });
}
