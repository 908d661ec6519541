#include "../block.cuh"

// Numbers that aren't negative are ordered as their bits are.
inline __device__ float of_bits(unsigned bits) { return __uint_as_float(bits); }
inline __device__ double of_bits(unsigned long long bits) { return __longlong_as_double(bits); }
inline __device__ unsigned bits_of(float x) { return __float_as_uint(x); }
inline __device__ unsigned long long bits_of(double x) { return __double_as_longlong(x); }

// The sum of the weights that are at least `least`, over the block.
template <class A>
__device__ A mass_of(int64_t V, const A *weights, A least) {
  A sum = 0;
  for (int64_t i = threadIdx.x; i < V; i += blockDim.x) sum += weights[i] >= least ? weights[i] : A(0);
  return over_block(sum, Sum());
}

// A block has a row. Nothing is sorted: the least weight that stays is found by bisection, over the bits of a number.
template <class T>
__global__ void top_p_kernel(int64_t V, const T *logits, acc<T> p, acc<T> temperature, acc<T> *all_weights,
                             int64_t *token, Generator rng) {
  using A = acc<T>;
  __shared__ A sums[MOST_THREADS];
  const T *const row = logits + blockIdx.x * V;
  A *const weights = all_weights + blockIdx.x * V;
  A most = -INFINITY;
  for (int64_t i = threadIdx.x; i < V; i += blockDim.x) most = Most()(most, A(row[i]));
  most = over_block(most, Most());
  for (int64_t i = threadIdx.x; i < V; i += blockDim.x) weights[i] = exp((A(row[i]) - most) / temperature);
  __syncthreads();
  const A share = p * mass_of(V, weights, A(0));
  auto low = bits_of(A(0)), high = bits_of(A(1)) + 1;  // from low on there is enough, from high on there isn't
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (mass_of(V, weights, of_bits(middle)) >= share ? low : high) = middle;
  }
  const A least = of_bits(low);
  // Each thread adds up neighbours; the first one finds the thread, then the token.
  const int64_t each = (V + blockDim.x - 1) / blockDim.x, begin = min(V, threadIdx.x * each),
                end = min(V, begin + each);
  A sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += weights[i] >= least ? weights[i] : A(0);
  sums[threadIdx.x] = sum;
  const A kept = over_block(sum, Sum());
  if (threadIdx.x != 0) return;
  Philox numbers = rng[blockIdx.x];
  A rest = A(numbers.uniform<double>()) * kept;
  int64_t first = 0;
  for (unsigned thread = 0; thread + 1 < blockDim.x && rest >= sums[thread]; ++thread)
    rest -= sums[thread], first += each;
  int64_t found = -1;
  for (int64_t i = min(first, V); i < V && rest >= 0; ++i)
    if (weights[i] >= least && weights[i] > 0) found = i, rest -= weights[i];
  for (int64_t i = min(first, V); i-- > 0 && found < 0;)  // rounding: nothing was left behind `first`
    if (weights[i] >= least && weights[i] > 0) found = i;
  token[blockIdx.x] = found;
}

OPWRIGHT(
    "top_p(logits: T[N, V], p: float in (0, 1] = 0.9, temperature: float in (0, inf) = 1.0, rng: generator(2)) -> "
    "(token: i64[N])")
template <class T>
void top_p(Tensor<const T, 2> logits, double p, double temperature, Tensor<int64_t, 1> token, int64_t V, Generator rng,
           cudaStream_t stream) {
  if (token.numel() == 0) return;
  Workspace<acc<T>> weights(logits.numel(), stream);
  top_p_kernel<T><<<token.numel(), threads_of(V), 0, stream>>>(V, logits.data(), acc<T>(p), acc<T>(temperature),
                                                               weights.data(), token.data(), rng);
}
