// What the right kernels compute, as plain loops.
#include <math.h>
#include <opwright.h>

OPWRIGHT("axpy(a: float, x: f32[N], y: f32[N]) -> (z: f32[N])")
void axpy(double a, Tensor<const float, 1> x, Tensor<const float, 1> y, Tensor<float, 1> z) {
  for (int64_t i = 0; i < x.numel(); ++i) z[i] = float(a) * x[i] + y[i];
}

OPWRIGHT("scale(x: T[N]) -> (y: T[N]) where T in (f32, f16, bf16)")
template <class T>
void scale(Tensor<const T, 1> x, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = T(float(x[i]) * 3.0f);
}

OPWRIGHT("bytes(x: u8[N]) -> (y: u8[N])")
void bytes(Tensor<const uint8_t, 1> x, Tensor<uint8_t, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = uint8_t(255 - x[x.numel() - 1 - i]);
}

OPWRIGHT("copy4(x: f32[N]) -> (y: f32[N])")
void copy4(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const int64_t whole = x.numel() / 4 * 4;
  for (int64_t i = 0; i < whole; ++i) y[i] = x[i / 4 * 4 + 3 - i % 4];
  for (int64_t i = whole; i < x.numel(); ++i) y[i] = -x[i];
}

OPWRIGHT("transpose(x: f32[R, C]) -> (y: f32[C, R])")
void transpose(Tensor<const float, 2> x, Tensor<float, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y(j, i) = x(i, j);
}

OPWRIGHT("volume(x: f32[A, B, C]) -> (y: f32[A, B, C])")
void volume(Tensor<const float, 3> x, Tensor<float, 3> y) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j)
      for (int64_t k = 0; k < x.size(2); ++k) y(i, j, k) = x(i, j, k) * float(i) - float(j) + float(2 * k);
}

OPWRIGHT("gather(x: f32[M], index: i64[N]) -> (y: f32[N])")
void gather(Tensor<const float, 1> x, Tensor<const int64_t, 1> index, Tensor<float, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) y[i] = index[i] >= 0 && index[i] < x.numel() ? x[index[i]] : 0.0f;
}

OPWRIGHT("pool(x: f32[R, C]) -> (y: f32[R // 2, C // 2])")
void pool(Tensor<const float, 2> x, Tensor<float, 2> y) {
  for (int64_t i = 0; i < y.size(0); ++i)
    for (int64_t j = 0; j < y.size(1); ++j)
      y(i, j) = fmaxf(fmaxf(x(2 * i, 2 * j), x(2 * i, 2 * j + 1)), fmaxf(x(2 * i + 1, 2 * j), x(2 * i + 1, 2 * j + 1)));
}

OPWRIGHT("block_sum(x: f32[N]) -> (y: f32[(N + 63) // 64])")
void block_sum(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t b = 0; b < y.numel(); ++b) y[b] = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[i / 64] += x[i];
}

OPWRIGHT("tiled_transpose(x: f32[R, C]) -> (y: f32[C, R])")
void tiled_transpose(Tensor<const float, 2> x, Tensor<float, 2> y) { transpose(x, y); }

OPWRIGHT("matmul(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N])")
void matmul(Tensor<const float, 2> a, Tensor<const float, 2> b, Tensor<float, 2> c) {
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < b.size(1); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < b.size(0); ++k) sum += double(a(i, k)) * b(k, j);
      c(i, j) = float(sum);
    }
}

OPWRIGHT("softmax(x: f32[R, C]) -> (y: f32[R, C])")
void softmax(Tensor<const float, 2> x, Tensor<float, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) most = fmax(most, x(i, j));
    for (int64_t j = 0; j < x.size(1); ++j) sum += ::exp(x(i, j) - most);
    for (int64_t j = 0; j < x.size(1); ++j) y(i, j) = float(::exp(x(i, j) - most) / sum);
  }
}

OPWRIGHT("scan(x: f32[N]) -> (y: f32[N])")
void scan(Tensor<const float, 1> x, Tensor<float, 1> y) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = float(sum += x[i]);
}

OPWRIGHT("tree_scan(x: f32[128]) -> (y: f32[128])")
void tree_scan(Tensor<const float, 1> x, Tensor<float, 1> y) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = float(sum), sum += x[i];
}

OPWRIGHT("stencil(x: f32[N]) -> (y: f32[N])")
void stencil(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) y[i] = (i > 0 ? x[i - 1] : 0.0f) - 2 * x[i] + (i + 1 < n ? x[i + 1] : 0.0f);
}

OPWRIGHT("convolution(x: f32[N + K - 1], w: f32[K]) -> (y: f32[N])")
void convolution(Tensor<const float, 1> x, Tensor<const float, 1> w, Tensor<float, 1> y) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    y[i] = 0;
    for (int64_t k = 0; k < w.numel(); ++k) y[i] += x[i + k] * w[k];
  }
}

OPWRIGHT("reverse(x: i32[N]) -> (y: i32[N])")
void reverse(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[x.numel() - 1 - i];
}

OPWRIGHT("sort(x: f32[64]) -> (y: f32[64])")
void sort(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < 64; ++i) {
    int64_t before = 0;
    for (int64_t j = 0; j < 64; ++j) before += x[j] < x[i] || (x[j] == x[i] && j < i);
    y[before] = x[i];
  }
}

OPWRIGHT("argmax(x: f32[R, C]) -> (y: i64[R])")
void argmax(Tensor<const float, 2> x, Tensor<int64_t, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    y[i] = 0;
    for (int64_t j = 1; j < x.size(1); ++j)
      if (x(i, j) > x(i, y[i])) y[i] = j;
  }
}

OPWRIGHT("column_sum(x: f32[R, C]) -> (y: f32[C])")
void column_sum(Tensor<const float, 2> x, Tensor<float, 1> y) {
  for (int64_t j = 0; j < x.size(1); ++j) {
    y[j] = 0;
    for (int64_t i = 0; i < x.size(0); ++i) y[j] += x(i, j);
  }
}

OPWRIGHT("blur(x: f32[R, C]) -> (y: f32[R, C])")
void blur(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int64_t rows = x.size(0), columns = x.size(1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int64_t r = i - 1; r <= i + 1; ++r)
        for (int64_t c = j - 1; c <= j + 1; ++c)
          if (r >= 0 && r < rows && c >= 0 && c < columns) sum += x(r, c);
      y(i, j) = sum / 9;
    }
}

OPWRIGHT("warp_sum(x: f32[N]) -> (y: f32[1])")
void warp_sum(Tensor<const float, 1> x, Tensor<float, 1> y) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x[i];
  y[0] = float(sum);
}

OPWRIGHT("layer_norm(x: f32[R, C]) -> (y: f32[R, C])")
void layer_norm(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int64_t columns = x.size(1);
  for (int64_t i = 0; i < x.size(0); ++i) {
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < columns; ++j) mean += x(i, j) / double(columns);
    for (int64_t j = 0; j < columns; ++j) squares += (x(i, j) - mean) * (x(i, j) - mean);
    for (int64_t j = 0; j < columns; ++j) y(i, j) = float((x(i, j) - mean) / ::sqrt(squares / double(columns) + 1e-5));
  }
}

OPWRIGHT("warp_scan(x: f32[R, 32]) -> (y: f32[R, 32])")
void warp_scan(Tensor<const float, 2> x, Tensor<float, 2> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 32; ++j) y(i, j) = float(sum += x(i, j));
  }
}

OPWRIGHT("positives(x: f32[N]) -> (y: i32[(N + 31) // 32])")
void positives(Tensor<const float, 1> x, Tensor<int32_t, 1> y) {
  for (int64_t b = 0; b < y.numel(); ++b) y[b] = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[i / 32] += x[i] > 0;
}

OPWRIGHT("quarter(x: f32[64]) -> (y: f32[8])")
void quarter(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t b = 0; b < 8; ++b) y[b] = 0;
  for (int64_t i = 0; i < 64; ++i) y[i / 8] += x[i];
}

OPWRIGHT("lanes(x: f32[64]) -> (y: f32[2])")
void lanes(Tensor<const float, 1> x, Tensor<float, 1> y) {
  y[0] = y[1] = 0;
  for (int64_t i = 0; i < 64; ++i) y[i / 32] += x[i];
}

OPWRIGHT("votes(x: f32[N]) -> (y: i32[(N + 47) // 48])")
void votes(Tensor<const float, 1> x, Tensor<int32_t, 1> y) {
  for (int64_t b = 0; b < y.numel(); ++b) {
    bool some = false, all = true;
    int count = 0;
    for (int64_t i = 48 * b; i < 48 * b + 48 && i < x.numel(); ++i) some |= x[i] > 1, all &= x[i] < 2, count += x[i] > 0;
    y[b] = 10000 * some + 1000 * all + count;
  }
}

OPWRIGHT("histogram(x: i32[N]) -> (y: i32[16])")
void histogram(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y) {
  for (int64_t k = 0; k < 16; ++k) y[k] = 0;
  for (int64_t i = 0; i < x.numel(); ++i) ++y[x[i] & 15];
}

OPWRIGHT("scatter_add(y: f32[M]!, x: f32[N], index: i64[N]) -> ()")
void scatter_add(Tensor<float, 1> y, Tensor<const float, 1> x, Tensor<const int64_t, 1> index) {
  for (int64_t i = 0; i < x.numel(); ++i)
    if (index[i] >= 0 && index[i] < y.numel()) y[index[i]] += x[i];
}

OPWRIGHT("atomic_max(x: f32[N]) -> (y: f32[1])")
void atomic_max(Tensor<const float, 1> x, Tensor<float, 1> y) {
  y[0] = x[0];
  for (int64_t i = 1; i < x.numel(); ++i) y[0] = fmaxf(y[0], x[i]);
}

OPWRIGHT("last_block(x: f32[N]) -> (partial: f32[5], y: f32[1])")
void last_block(Tensor<const float, 1> x, Tensor<float, 1> partial, Tensor<float, 1> y) {
  y[0] = 0;
  for (int64_t b = 0; b < 5; ++b) partial[b] = 0;
  for (int64_t i = 0; i < x.numel(); ++i) partial[i / 32 % 5] += x[i], y[0] += x[i];
}

OPWRIGHT("hand_over(x: f32[R, 32]) -> (partial: f32[R, 32], y: f32[32])")
void hand_over(Tensor<const float, 2> x, Tensor<float, 2> partial, Tensor<float, 1> y) {
  for (int64_t j = 0; j < 32; ++j) y[j] = 0;
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < 32; ++j) partial(i, j) = 2 * x(i, j), y[j] += 2 * x(i, j);
}

OPWRIGHT("locked(x: f32[R, 4]) -> (y: f32[4])")
void locked(Tensor<const float, 2> x, Tensor<float, 1> y) {
  for (int64_t k = 0; k < 4; ++k) {
    y[k] = 0;
    for (int64_t i = 0; i < x.size(0); ++i) y[k] += x(i, k);
  }
}

OPWRIGHT("array_by_value(x: f32[64]) -> (y: f32[64])")
void array_by_value(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int i = 0; i < 64; ++i) y[i] = float(i) + 2 * x[i];
}
OPWRIGHT("counted(x: f32[64]) -> (y: i32[1])")
void counted(Tensor<const float, 1> x, Tensor<int, 1> y) {
  y[0] = 0;
  for (int i = 0; i < 64; ++i) y[0] += x[i] > 0;
}
OPWRIGHT("row_ends(x: f32[R, C]) -> (y: f32[R, C])")
void row_ends(Tensor<const float, 2> x, Tensor<float, 2> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y.flat(i) = 2 * x.flat(i);
}
OPWRIGHT("partly_filled(x: f32[N]) -> (y: f32[N])")
void partly_filled(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = fmaxf(2 * x[i], 1 + x[i / 128 * 128 + i % 4]);
}
OPWRIGHT("changed_in_place(x: f32[N]!)")
void changed_in_place(Tensor<float, 1> x) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] = 2 * x[i];
}
OPWRIGHT("copied_in_parts(x: f32[64]) -> (y: f32[64])")
void copied_in_parts(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int64_t i = 0; i < 64; ++i) y[i] = x[i];
}

OPWRIGHT("ordered(x: f32[N]) -> (partial: f32[N], y: f32[1])")
void ordered(Tensor<const float, 1> x, Tensor<float, 1> partial, Tensor<float, 1> y) {
  y[0] = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[0] += partial[i] = 2 * x[i];
}

OPWRIGHT("handed_over(x: f32[1]) -> (y: f32[2], flag: i32[1])")
void handed_over(Tensor<const float, 1> x, Tensor<float, 1> y, Tensor<int, 1> flag) {
  y[0] = x[0] + 1, y[1] = 2 * y[0], flag[0] = 1;
}
