// Kernels cut at their barriers that a careless cut would get wrong. Each has 40 threads and its result in x.
#include "program.h"

#define tx threadIdx.x
constexpr int many = 40;

// After a return, the rest must not be cut in two by what is the same in all threads.
__global__ void returns(int *x) {
  __shared__ int all[many];
  all[tx] = x[tx];
  __syncthreads();
  if (tx >= 5) return;
  int base = blockIdx.x * 4;
  x[base + tx] = all[tx + 1];
}
__global__ void refers(int *x) {
  int n = 4, me = tx;
  if (tx < 3) {
    int &r = n, &s = me;
    r = 2;
    s = 2 - s;
  }
  __syncthreads();
  x[me] = n;
}
#define ADD(a, b) (a) += (b)
__global__ void adds(int *x) {
  int n = 4, m = 5;
  ADD(n, 1);
  (tx % 2 ? n : m) = 7;
  __syncthreads();
  x[tx] = n * 10 + m;
}
__device__ void change(int &i) { i += 5; }
__global__ void changes(int *x) {
  int n = 2;
  if (tx % 3 == 0) change((n));
  __syncthreads();
  x[tx] = n;
}
__device__ int *address(int &i) { return &i; }
__global__ void casts(int *x) {
  int bits = 0, more[2][2], given = tx;
  ((short *)&bits)[0] = tx;
  more[1][0] = tx;
  int *row = more[1];
  int2 pair = make_int2(tx, 1);
  int *in_pair = (int *)&pair, *in_given = address(given);
  __syncthreads();
  int other[16];
  for (int i = 0; i < 16; ++i) other[i] = x[i];
  __syncthreads();
  x[tx] = bits + row[0] + in_pair[0] + *in_given + other[3] * 0;
}
// What is computed again must not have changed meanwhile.
__global__ void steps(int *x) {
  __shared__ int all[many];
  for (int i = 0; i < 4;) {
    int j = i + tx;
    i += 2;
    all[tx] = i;
    __syncthreads();
    x[tx] += j * 10 + all[0];
    __syncthreads();
  }
}
__global__ void highest(int *x) {
  __shared__ int max;
  if (tx == 0) max = 5;
  __syncthreads();
  int j = max + tx;
  __syncthreads();
  if (tx == 0) max = 50;
  __syncthreads();
  x[tx] = j;
}
__global__ void loads(int *x) {
  int j = (int)*x + tx;
  __syncthreads();
  if (tx == 0) x[0] = 7;
  __syncthreads();
  if (tx > 0) x[tx] = j;
}
// Names that hide others.
__global__ void hides(int *x, int one) {
  int v = x[tx];
  if (one) {
    int v = x[0] + tx;
    __syncthreads();
    x[tx] = v;
  } else {
    v += 1;
    __syncthreads();
    x[tx] = v;
  }
}
// Classes begin anew in each turn; some can't be made without a value, or assigned.
struct Sum {
  int value;
  __device__ Sum() : value(0) {}
};
struct Fixed {
  const int value;
  __device__ Fixed(int v) : value(v) {}
};
struct View {
  int *const data;
  int more[20];
  View(int *d) : data(d), more() {}
  __device__ int &at(int i) { return data[i]; }
};
template <class S, class F, class T>
__global__ void begins(const T *from, View view) {
  for (int i = 0; i < 3; ++i) {
    S sum;
    T twice[2] = {0}, half = from[tx];
    F fixed = F(tx);
    sum.value += fixed.value;
    twice[1] += half;
    view.more[tx % 20] += i;
    __syncthreads();
    view.at(tx) = sum.value + twice[0] + twice[1] + view.more[tx % 20];
  }
}
// A value may be needed as a constant, and keeps its signs together.
__host__ __device__ constexpr int half(int n) { return n / 2; }
template <int n>
__device__ int plus(int i) {
  return i + n;
}
__global__ void constants(int *x) {
  const int n = half(8);
  __syncthreads();
  x[tx] = plus<n>(tx);
}
__global__ void shifts(int *x) {
  const int warp = tx >> 3;
  int v = x[tx] >> 1;
  v >>= 1;
  __syncthreads();
  x[tx] = v + warp;
}
// Declarations that look like calls or indices.
__global__ void declares(int *x) {
  alignas(16) int a[4];
  auto [b, c] = make_int2(tx, 2);
  decltype(b) d = c;
  a[1] = b;
  __syncthreads();
  x[tx] = a[1] + b + c + d;
}
__global__ void exchanges(int *x) {
  int a = x[tx], b = tx;
  __syncthreads();
  if (tx % 2) {
    decltype(a) old = a;
    a = b;
    b = old;
  }
  x[tx] = a * 1000 + b;
}
template <int n = 4>
__global__ void later(int *x);
template <int n>
__global__ void later(int *x) {
  x[tx] = n;
}

#define CUT(name, ...) \
  EXPORT run_##name(int *x) { \
    return guarded([&] { __VA_ARGS__; }); \
  }
CUT(returns, returns<<<1, many>>>(x))
CUT(refers, refers<<<1, many>>>(x))
CUT(adds, adds<<<1, many>>>(x))
CUT(changes, changes<<<1, many>>>(x))
CUT(casts, casts<<<1, many>>>(x))
CUT(steps, steps<<<1, many>>>(x))
CUT(highest, highest<<<1, many>>>(x))
CUT(loads, loads<<<1, many>>>(x))
CUT(hides, hides<<<1, many>>>(x, 0))
CUT(begins, begins<Sum, Fixed, int><<<1, many>>>(x, View(x)))
CUT(constants, constants<<<1, many>>>(x))
CUT(shifts, shifts<<<1, many>>>(x))
CUT(declares, declares<<<1, many>>>(x))
CUT(exchanges, exchanges<<<1, many>>>(x))
CUT(later, later<<<1, many>>>(x))
