#include "../block.cuh"

enum class Activation { none, silu };

// A number before the activation: the bias and the sum of weight[k] * x[l + k - (K - 1)], zeros before the beginning.
template <class T>
__device__ acc<T> convolved(Tensor<const T, 3> x, Tensor<const T, 2> weight, Tensor<const T, 1> bias, int64_t at) {
  const int64_t L = x.size(2), K = weight.size(1), d = at / L % x.size(1), l = at % L;
  acc<T> sum = bias ? acc<T>(bias[d]) : acc<T>(0);
  for (int64_t k = max(K - 1 - l, int64_t(0)); k < K; ++k)
    sum += acc<T>(weight(d, k)) * acc<T>(x.flat(at + k - (K - 1)));
  return sum;
}

OPWRIGHT(
    "causal_conv(x: T[B, D, L], weight: T[D, K], bias: T[D]?, activation: none | silu = silu) -> (y: T[B, D, L]) "
    "independent B, D launch over B*D*L, threads 256")
template <class T, Activation activation>
__global__ void causal_conv(Tensor<const T, 3> x, Tensor<const T, 2> weight, Tensor<const T, 1> bias, Tensor<T, 3> y) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (at >= x.numel()) return;
  const acc<T> sum = convolved(x, weight, bias, at);
  y.flat(at) = T(activation == Activation::silu ? silu(sum) : sum);
}

// The gradient before the activation, which the other two need several times.
template <class T>
__global__ void before_kernel(Tensor<const T, 3> grad_y, Tensor<const T, 3> x, Tensor<const T, 2> weight,
                              Tensor<const T, 1> bias, bool silu, acc<T> *g) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (at >= x.numel()) return;
  const acc<T> sum = silu ? convolved(x, weight, bias, at) : acc<T>(0), s = sigmoid(sum);
  g[at] = acc<T>(grad_y.flat(at)) * (silu ? s * (1 + sum * (1 - s)) : acc<T>(1));
}

template <class T>
__global__ void input_kernel(const acc<T> *g, Tensor<const T, 2> weight, Tensor<T, 3> grad_x) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, L = grad_x.size(2), K = weight.size(1);
  if (at >= grad_x.numel()) return;
  acc<T> sum = 0;
  for (int64_t k = max(K - (L - at % L), int64_t(0)); k < K; ++k)
    sum += acc<T>(weight(at / L % grad_x.size(1), k)) * g[at + K - 1 - k];
  grad_x.flat(at) = T(sum);
}

// A block has a channel, and adds up for each weight in turn; K counts as one more, the bias.
template <class T>
__global__ void weight_kernel(Tensor<const T, 3> x, int64_t K, const acc<T> *g, T *grad_weight, T *grad_bias) {
  const int64_t B = x.size(0), D = x.size(1), L = x.size(2), d = blockIdx.x;
  for (int64_t k = 0; k <= K; ++k) {
    const int64_t back = k < K ? K - 1 - k : 0;
    acc<T> sum = 0;
    for (int64_t i = threadIdx.x; i < B * L; i += blockDim.x) {
      const int64_t at = (i / L * D + d) * L + i % L;
      if (i % L >= back) sum += g[at] * (k < K ? acc<T>(x.flat(at - back)) : acc<T>(1));
    }
    sum = over_block(sum, Sum());
    T *const out = k < K ? grad_weight : grad_bias;
    if (threadIdx.x == 0 && out) out[k < K ? d * K + k : d] = T(sum);
  }
}

OPWRIGHT(
    "causal_conv_backward(grad_y: T[B, D, L], x: T[B, D, L], weight: T[D, K], bias: T[D]?, "
    "activation: none | silu) -> (grad_x: T[B, D, L], grad_weight: T[D, K], grad_bias: T[D]) independent B, D")
template <class T>
void causal_conv_backward(Tensor<const T, 3> grad_y, Tensor<const T, 3> x, Tensor<const T, 2> weight,
                          Tensor<const T, 1> bias, Activation activation, Tensor<T, 3> grad_x, Tensor<T, 2> grad_weight,
                          Tensor<T, 1> grad_bias, int64_t D, int64_t K, cudaStream_t stream) {
  const int64_t n = x.numel(), blocks = (n + 255) / 256;
  Workspace<acc<T>> g(n, stream);
  if (n > 0)
    before_kernel<T><<<blocks, 256, 0, stream>>>(grad_y, x, weight, bias, activation == Activation::silu, g.data());
  if (n > 0 && grad_x) input_kernel<T><<<blocks, 256, 0, stream>>>(g.data(), weight, grad_x);
  if (D > 0 && (grad_weight || grad_bias))
    weight_kernel<T><<<D, 256, 0, stream>>>(x, K, g.data(), grad_weight.data(), grad_bias.data());
}
