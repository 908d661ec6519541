#include "../sums.h"

#include <array>

// The four pixels around a sample, as places in an image, and how much of each; nothing beyond a pixel outside of the
// image.
template <class A>
struct Corners {
  int32_t at[4];
  A part[4];
};

template <class A>
Corners<A> corners(A y, A x, int64_t H, int64_t W) {
  Corners<A> found = {};
  if (!(y >= -1 && y <= A(H) && x >= -1 && x <= A(W))) return found;  // NaN is outside
  y = max(y, A(0)), x = max(x, A(0));
  const int64_t top = min(int64_t(y), H - 1), left = min(int64_t(x), W - 1);
  const int64_t bottom = min(top + 1, H - 1), right = min(left + 1, W - 1);
  const A down = top == H - 1 ? A(0) : y - A(top), over = left == W - 1 ? A(0) : x - A(left);
  const int64_t at[4] = {top * W + left, top * W + right, bottom * W + left, bottom * W + right};
  const A part[4] = {(1 - down) * (1 - over), (1 - down) * over, down * (1 - over), down * over};
  for (int i = 0; i < 4; ++i) found.at[i] = int32_t(at[i]), found.part[i] = part[i];
  return found;
}

// The corners of all samples of all boxes: found once, for all channels. Each bin has samples x samples of them.
template <class T>
void find_corners(Tensor<const T, 2> rois, std::array<int64_t, 2> size, double scale, int64_t samples, bool aligned,
                  int64_t H, int64_t W, Corners<acc<T>> *found) {
  using A = acc<T>;
  const int64_t rows = size[0] * samples, columns = size[1] * samples;
  const A by = A(scale), off = aligned ? A(0.5) : A(0);
  parallel_for(rois.size(0), grain_of(16 * rows * columns), [&](int64_t n) {
    const A left = A(rois(n, 0)) * by - off, top = A(rois(n, 1)) * by - off;
    A width = A(rois(n, 2)) * by - off - left, height = A(rois(n, 3)) * by - off - top;
    if (!aligned) width = max(width, A(1)), height = max(height, A(1));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t bin = i / samples * size[1] + j / samples, sample = i % samples * samples + j % samples;
        found[(n * size[0] * size[1] + bin) * samples * samples + sample] =
            corners(top + (A(i) + A(0.5)) * height / A(rows), left + (A(j) + A(0.5)) * width / A(columns), H, W);
      }
  });
}

// Mask R-CNN's pooling (He et al. 2017): the mean of bilinear samples in each bin of each box (x1, y1, x2, y2).
OPWRIGHT(
    "roi_align(x: T[B, C, H, W], rois: T[N, 4], image: i64[N] in [0, B), size: list[int, 2] in [1, 64], "
    "scale: float = 1.0, samples: int in [1, 8] = 2, aligned: bool = True) -> (y: T[N, C, size[0], size[1]]) "
    "independent N, C")
template <class T>
void roi_align(Tensor<const T, 4> x, Tensor<const T, 2> rois, Tensor<const int64_t, 1> image,
               std::array<int64_t, 2> size, double scale, int64_t samples, bool aligned, Tensor<T, 4> y, int64_t C,
               int64_t H, int64_t W) {
  using A = acc<T>;
  const int64_t bins = size[0] * size[1], each = samples * samples;
  Workspace<Corners<A>> found(rois.size(0) * bins * each);
  find_corners(rois, size, scale, samples, aligned, H, W, found.data());
  parallel_for(y.size(0) * C, grain_of(8 * bins * each), [&](int64_t plane) {
    const int64_t n = plane / C;
    const T *const in = x.data() + (image[n] * C + plane % C) * H * W;
    for (int64_t bin = 0; bin < bins; ++bin) {
      const Corners<A> *const at = found.data() + (n * bins + bin) * each;
      A sum = 0;
      for (int64_t s = 0; s < each && H * W > 0; ++s)
        for (int i = 0; i < 4; ++i) sum += at[s].part[i] * A(in[at[s].at[i]]);
      y.flat(plane * bins + bin) = T(sum / A(each));
    }
  });
}

// A thread has channels, for all boxes: two of them never write to one place.
OPWRIGHT(
    "roi_align_backward(grad_y: T[N, C, size[0], size[1]], rois: T[N, 4], image: i64[N] in [0, B), "
    "size: list[int, 2], scale: float, samples: int, aligned: bool) -> (grad_x: T[B, C, H, W]) independent N, C")
template <class T>
void roi_align_backward(Tensor<const T, 4> grad_y, Tensor<const T, 2> rois, Tensor<const int64_t, 1> image,
                        std::array<int64_t, 2> size, double scale, int64_t samples, bool aligned, Tensor<T, 4> grad_x,
                        int64_t B, int64_t C, int64_t H, int64_t W) {
  using A = acc<T>;
  const int64_t bins = size[0] * size[1], each = samples * samples;
  Workspace<Corners<A>> found(rois.size(0) * bins * each);
  find_corners(rois, size, scale, samples, aligned, H, W, found.data());
  parallel_for(C, grain_of(rois.size(0) * 8 * bins * each + B * H * W), [&](int64_t c) {
    Workspace<A> sums(B * H * W);
    for (int64_t i = 0; i < B * H * W; ++i) sums[i] = 0;
    for (int64_t n = 0; n < rois.size(0) && H * W > 0; ++n)
      for (int64_t bin = 0; bin < bins; ++bin) {
        const A g = A(grad_y.flat((n * C + c) * bins + bin)) / A(each);
        const Corners<A> *const at = found.data() + (n * bins + bin) * each;
        for (int64_t s = 0; s < each; ++s)
          for (int i = 0; i < 4; ++i) sums[image[n] * H * W + at[s].at[i]] += at[s].part[i] * g;
      }
    for (int64_t b = 0; b < B; ++b)
      for (int64_t i = 0; i < H * W; ++i) grad_x.flat((b * C + c) * H * W + i) = T(sums[b * H * W + i]);
  });
}
