// What benchmarks/derived.py times: kernels with derived gradients, and the same ones with handwritten backwards.
#include <opwright.h>

template <class T>
T mean_of(Tensor<const T, 1> x) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += x[i];
  return sum / x.size(0);
}
template <class T>
T scale_of(Tensor<const T, 1> x, T mean, double eps) {
  T sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += square(x[i] - mean);
  return rsqrt(sum / x.size(0) + eps);
}

OPWRIGHT("layer_norm(x: T[C], w: T[C], b: T[C]) -> (y: T[C]) where T in (f32) batched derived")
template <class T>
void layer_norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 1> b, Tensor<T, 1> y) {
  const T mean = mean_of(x), scale = scale_of(x, mean, 1e-5);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = (x[i] - mean) * scale * w[i] + b[i];
}

OPWRIGHT("layer_norm_by_hand(x: T[C], w: T[C], b: T[C]) -> (y: T[C]) where T in (f32) batched")
template <class T>
void layer_norm_by_hand(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 1> b, Tensor<T, 1> y) {
  layer_norm(x, w, b, y);
}
OPWRIGHT(
    "layer_norm_by_hand_backward(grad_y: T[C], x: T[C], w: T[C]) -> (grad_x: T[C], grad_w: T[C], grad_b: T[C]) batched")
template <class T>
void layer_norm_by_hand_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w,
                                 Tensor<T, 1> grad_x, Tensor<T, 1> grad_w, Tensor<T, 1> grad_b) {
  const int64_t n = x.size(0);
  const T mean = mean_of(x), scale = scale_of(x, mean, 1e-5);
  T sum = 0, product = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad_y[i] * w[i], h = (x[i] - mean) * scale;
    sum += g, product += g * h;
    if (grad_w) grad_w[i] = grad_y[i] * h;
    if (grad_b) grad_b[i] = grad_y[i];
  }
  if (!grad_x) return;
  for (int64_t i = 0; i < n; ++i)
    grad_x[i] = (grad_y[i] * w[i] - sum / n - (x[i] - mean) * scale * product / n) * scale;
}

OPWRIGHT("rms_norm(x: T[C], w: T[C]) -> (y: T[C]) where T in (f32) batched derived")
template <class T>
void rms_norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  const T scale = scale_of(x, T(0), 1e-6);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = x[i] * scale * w[i];
}

OPWRIGHT("rms_norm_by_hand(x: T[C], w: T[C]) -> (y: T[C]) where T in (f32) batched")
template <class T>
void rms_norm_by_hand(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  rms_norm(x, w, y);
}
OPWRIGHT("rms_norm_by_hand_backward(grad_y: T[C], x: T[C], w: T[C]) -> (grad_x: T[C], grad_w: T[C]) batched")
template <class T>
void rms_norm_by_hand_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w,
                               Tensor<T, 1> grad_x, Tensor<T, 1> grad_w) {
  const int64_t n = x.size(0);
  const T scale = scale_of(x, T(0), 1e-6);
  T product = 0;
  for (int64_t i = 0; i < n; ++i) {
    product += grad_y[i] * w[i] * x[i];
    if (grad_w) grad_w[i] = grad_y[i] * x[i] * scale;
  }
  const T share = product * scale * scale / n;
  if (!grad_x) return;
  for (int64_t i = 0; i < n; ++i) grad_x[i] = (grad_y[i] * w[i] - x[i] * share) * scale;
}

OPWRIGHT("softmax(x: T[C]) -> (y: T[C]) where T in (f32) batched derived")
template <class T>
void softmax(Tensor<const T, 1> x, Tensor<T, 1> y) {
  T largest = x[0], sum = 0;
  for (int64_t i = 1; i < x.size(0); ++i) largest = max(largest, x[i]);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = exp(x[i] - largest);
  for (int64_t i = 0; i < x.size(0); ++i) sum += y[i];
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = y[i] / sum;
}

OPWRIGHT("softmax_by_hand(x: T[C]) -> (y: T[C]) where T in (f32) batched")
template <class T>
void softmax_by_hand(Tensor<const T, 1> x, Tensor<T, 1> y) {
  softmax(x, y);
}
OPWRIGHT("softmax_by_hand_backward(grad_y: T[C], y: T[C]) -> (grad_x: T[C]) batched")
template <class T>
void softmax_by_hand_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> y, Tensor<T, 1> grad_x) {
  T sum = 0;
  for (int64_t i = 0; i < y.size(0); ++i) sum += grad_y[i] * y[i];
  for (int64_t i = 0; i < y.size(0); ++i) grad_x[i] = y[i] * (grad_y[i] - sum);
}

OPWRIGHT("depthwise(x: T[L], w: T[K]) -> (y: T[L]) where T in (f32) batched derived")
template <class T>
void depthwise(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    T sum = 0;
    for (int64_t k = 0; k < w.size(0) && k <= i; ++k) sum += x[i - k] * w[k];
    y[i] = sum;
  }
}

OPWRIGHT("depthwise_by_hand(x: T[L], w: T[K]) -> (y: T[L]) where T in (f32) batched")
template <class T>
void depthwise_by_hand(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  depthwise(x, w, y);
}
OPWRIGHT("depthwise_by_hand_backward(grad_y: T[L], x: T[L], w: T[K]) -> (grad_x: T[L], grad_w: T[K]) batched")
template <class T>
void depthwise_by_hand_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w,
                                Tensor<T, 1> grad_x, Tensor<T, 1> grad_w) {
  const int64_t n = x.size(0), taps = w.size(0);
  for (int64_t k = 0; grad_w && k < taps; ++k) {
    T sum = 0;
    for (int64_t i = k; i < n; ++i) sum += grad_y[i] * x[i - k];
    grad_w[k] = sum;
  }
  for (int64_t i = 0; grad_x && i < n; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < taps && i + k < n; ++k) sum += grad_y[i + k] * w[k];
    grad_x[i] = sum;
  }
}

// Row i of attention, which sees the first `keys` keys.
template <class T>
void attend(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o, int64_t i, int64_t keys) {
  const int64_t d = q.size(1);
  const T scale = rsqrt(T(d));
  T largest = -1e30, total = 0;
  Workspace<T> sums(d);
  for (int64_t c = 0; c < d; ++c) sums[c] = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const T score = dot(q[i], k[j]) * scale;
    const T before = largest;
    largest = max(largest, score);
    const T shrink = exp(before - largest), weight = exp(score - largest);
    total = total * shrink + weight;
    axpby(d, weight, &v(j, 0), 1, shrink, sums.data(), 1);
  }
  for (int64_t c = 0; c < d; ++c) o(i, c) = sums[c] / total;
}

// The same with products of the row: first all weights, then what they weigh.
template <class T>
void attend_by_rows(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o, int64_t i,
                    int64_t keys) {
  const int64_t d = q.size(1);
  Workspace<T> weights(keys);
  gemm<T>(false, true, 1, keys, d, 1 / sqrt(double(d)), &q(i, 0), d, k.data(), d, 0, weights.data(), keys);
  T largest = weights[0], total = 0;
  for (int64_t j = 1; j < keys; ++j) largest = max(largest, weights[j]);
  for (int64_t j = 0; j < keys; ++j) weights[j] = exp(weights[j] - largest), total += weights[j];
  for (int64_t j = 0; j < keys; ++j) weights[j] = weights[j] / total;
  gemm<T>(false, false, 1, d, keys, 1, weights.data(), keys, v.data(), d, 0, &o(i, 0), d);
}

OPWRIGHT("attention_by_rows(q: T[M, D], k: T[N, D], v: T[N, D]) -> (o: T[M, D]) where T in (f32) derived")
template <class T>
void attention_by_rows(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  for (int64_t i = 0; i < q.size(0); ++i) attend_by_rows(q, k, v, o, i, i + 1);
}

OPWRIGHT(
    "attention_of_all_by_rows(q: T[M, D], k: T[N, D], v: T[N, D]) -> (o: T[M, D]) where T in (f32) independent M derived")
template <class T>
void attention_of_all_by_rows(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  for (int64_t i = 0; i < q.size(0); ++i) attend_by_rows(q, k, v, o, i, k.size(0));
}

// Causal: a row depends on its place, so rows aren't independent.
OPWRIGHT("attention(q: T[M, D], k: T[N, D], v: T[N, D]) -> (o: T[M, D]) where T in (f32) derived")
template <class T>
void attention(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  parallel_for(q.size(0), 1, [&](int64_t i) { attend(q, k, v, o, i, i + 1); });
}

OPWRIGHT(
    "attention_of_all(q: T[M, D], k: T[N, D], v: T[N, D]) -> (o: T[M, D]) where T in (f32) independent M derived")
template <class T>
void attention_of_all(Tensor<const T, 2> q, Tensor<const T, 2> k, Tensor<const T, 2> v, Tensor<T, 2> o) {
  parallel_for(q.size(0), 1, [&](int64_t i) { attend(q, k, v, o, i, k.size(0)); });
}

OPWRIGHT("conv(x: T[B, C, H, W], w: T[O, C, K, K]) -> (y: T[B, O, H-K+1, W-K+1]) where T in (f32) independent B, O derived")
template <class T>
void conv(Tensor<const T, 4> x, Tensor<const T, 4> w, Tensor<T, 4> y) {
  parallel_for(x.size(0) * w.size(0), 1, [&](int64_t at) {
    const int64_t b = at / w.size(0), o = at % w.size(0);
    const int64_t strides[] = {x.stride(1), x.stride(2), 1};
    for (int64_t i = 0; i < y.size(2); ++i)
      for (int64_t j = 0; j < y.size(3); ++j)
        y(b, o, i, j) = dot(w[o], Strided<const T, 3>(&x(b, 0, i, j), w.sizes() + 1, strides));
  });
}

OPWRIGHT("distances(x: T[M, D], y: T[N, D]) -> (d: T[M, N]) where T in (f32) independent M derived")
template <class T>
void distances(Tensor<const T, 2> x, Tensor<const T, 2> y, Tensor<T, 2> d) {
  parallel_for(x.size(0), 1, [&](int64_t i) {
    for (int64_t j = 0; j < y.size(0); ++j) {
      T sum = 0;
      for (int64_t c = 0; c < x.size(1); ++c) sum += square(x(i, c) - y(j, c));
      d(i, j) = sqrt(sum);
    }
  });
}
