#include "gemm/gemm.h"

namespace opw {
namespace {

// A matrix in memory: element (i, j) at data[i * row + j * column].
template <class T>
struct Matrix {
  T *data;
  int64_t row, column;
  T *at(int64_t i, int64_t j) const { return data + i * row + j * column; }
  Matrix from(int64_t i, int64_t j) const { return {at(i, j), row, column}; }
  Matrix transposed() const { return {data, column, row}; }
};

// out = alpha left right + beta out. left: rows x k, right: k x columns; one of out's strides is 1.
template <class T>
struct Product {
  int64_t rows, columns, k;
  T alpha, beta;
  Matrix<const T> left, right;
  Matrix<T> out;

  Product transposed() const {
    return {columns, rows, k, alpha, beta, right.transposed(), left.transposed(), out.transposed()};
  }
  // Whether an element of the result is a sum over neighbours in both operands.
  bool is_dots() const { return left.column == 1 && right.row == 1 && right.column != 1; }
};

constexpr int64_t few_rows = 4;  // of the left operand, for which sums along k are faster than tiles

#ifdef __clang__
template <int... I>
struct Ints {};
template <class, int... I>
using IntsOf = Ints<I...>;
#endif

// What tiles.h makes of it for a processor with vectors.
#if defined(__x86_64__)
namespace avx512 {
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,fma")
#endif
#define OPW_VECTOR 64
#define OPW_REGISTERS 32
#include "gemm/tiles.h"
#undef OPW_VECTOR
#undef OPW_REGISTERS
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
}  // namespace avx512

namespace avx2 {
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define OPW_VECTOR 32
#define OPW_REGISTERS 16
#include "gemm/tiles.h"
#undef OPW_VECTOR
#undef OPW_REGISTERS
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
}  // namespace avx2
#elif defined(__aarch64__)
namespace baseline {
#define OPW_VECTOR 16
#define OPW_REGISTERS 32
#include "gemm/tiles.h"
}  // namespace baseline
#endif

constexpr int64_t least_work = int64_t(1) << 19;  // multiply-adds; with less a thread has too little to do
constexpr int64_t unit = 48;  // rows or columns are dealt out to threads by these: a multiple of every tile's

// The product or its transpose, whichever suits the tiles.
template <class T>
Product<T> arranged(const Product<T> &p) {
  if (p.columns <= few_rows && p.columns < p.rows) return p.transposed();
  if (p.right.column == 1 || (p.rows <= few_rows && p.is_dots())) return p;
  return p.left.row == 1 || p.rows <= p.columns ? p.transposed() : p;
}

template <class T>
struct Pieces {
  Product<T> product;
  void (*piece)(const Product<T> &);
  bool by_rows = product.rows >= product.columns;

  int64_t size() const { return by_rows ? product.rows : product.columns; }
  int64_t count() const { return (size() + unit - 1) / unit; }
  int64_t grain() const {
    const int64_t work = product.rows * product.columns * product.k / count();
    return least_work / (work + 1) + 1;
  }
  static void run(void *self, int64_t begin, int64_t end) {
    const Pieces &pieces = *static_cast<Pieces *>(self);
    Product<T> part = pieces.product;
    const int64_t size = pieces.size(), from = begin * unit, to = end * unit < size ? end * unit : size;
    if (pieces.by_rows) part.rows = to - from, part.left = part.left.from(from, 0), part.out = part.out.from(from, 0);
    else part.columns = to - from, part.right = part.right.from(0, from), part.out = part.out.from(0, from);
    pieces.piece(part);
  }
};

template <class T>
void scale(const Gemm &g, T *c) {
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) c[i * g.ldc + j] = g.beta == 0 ? T(0) : static_cast<T>(g.beta) * c[i * g.ldc + j];
}

template <class T>
bool by_tiles(Multiplier by, const Gemm &g, const void *a, const void *b, void *c) {
  T *const out = static_cast<T *>(c);
  void (*piece)(const Product<T> &) = nullptr;
#if defined(__x86_64__)
  if (by == Multiplier::Avx512) piece = avx512::piece<T>;
  if (by == Multiplier::Avx2) piece = avx2::piece<T>;
#elif defined(__aarch64__)
  if (by == Multiplier::Baseline) piece = baseline::piece<T>;
#endif
  if (!piece) return false;
  if (g.k == 0) {
    scale(g, out);
    return true;
  }
  const Matrix<const T> left{static_cast<const T *>(a), g.transpose_a ? 1 : g.lda, g.transpose_a ? g.lda : 1};
  const Matrix<const T> right{static_cast<const T *>(b), g.transpose_b ? 1 : g.ldb, g.transpose_b ? g.ldb : 1};
  const Product<T> product{
      g.m, g.n, g.k, static_cast<T>(g.alpha), static_cast<T>(g.beta), left, right, {out, g.ldc, 1}};
  Pieces<T> pieces{arranged(product), piece};
  if (pieces.count() <= pieces.grain()) Pieces<T>::run(&pieces, 0, pieces.count());
  else parallel_for(0, pieces.count(), pieces.grain(), &Pieces<T>::run, &pieces);
  return true;
}

Multiplier found_tiles() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return Multiplier::Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Multiplier::Avx2;
#elif defined(__aarch64__)
  return Multiplier::Baseline;
#endif
  return Multiplier::Blas;
}

}  // namespace

Multiplier widest_tiles() {
  static const Multiplier widest = found_tiles();
  return widest;
}

bool multiply_by_tiles(Multiplier by, bool is_double, const Gemm &g, const void *a, const void *b, void *c) {
  if (by > widest_tiles()) return false;
  return is_double ? by_tiles<double>(by, g, a, b, c) : by_tiles<float>(by, g, a, b, c);
}

}  // namespace opw
