// A product of matrices that fit the caches, where a BLAS spends more on its preparations than on the product.
//
// C is made in tiles of some rows times some vectors of columns, which stay in registers while k runs. A tile takes vectors
// from the right operand and single elements from the left one; so the right one's columns must be neighbours in memory.
// Where they aren't, C's transpose is computed, which swaps the operands, or a copy is made (`pack`).
//
// Included by gemm.cpp once for each kind of processor, in a namespace of its own, after
//   OPW_VECTOR     the bytes of a register
//   OPW_REGISTERS  how many there are
// and with nothing of anybody else's: all that stands here is compiled for that processor.

// The build forbids a * b + c to become a fused multiply-add, but in these functions, whose sums have no written order.
#ifdef __clang__
#define OPW_FUSED __attribute__((noinline))
#define OPW_FUSE _Pragma("clang fp contract(fast)")
#define OPW_UNROLL _Pragma("clang loop unroll(full)")
#else
#define OPW_FUSED __attribute__((noinline, noclone, optimize("fp-contract=fast")))
#define OPW_FUSE
#define OPW_UNROLL _Pragma("GCC unroll 32")
#endif

constexpr int tallest = OPW_REGISTERS == 32 ? 16 : 12;  // rows of a tile of one vector, so that sums fill the registers
constexpr int taller = OPW_REGISTERS == 32 ? 8 : 6;     // of two
constexpr int tall = OPW_REGISTERS == 32 ? 8 : 4;       // of three
constexpr int64_t strip = 48;                           // rows that are finished together: a multiple of all these
constexpr int64_t packed_bytes = 48 * 1024;             // of the right operand that are copied at a time

template <class T>
struct Lanes {
  static constexpr int count = OPW_VECTOR / sizeof(T);
  typedef T Vector __attribute__((vector_size(OPW_VECTOR)));
  typedef T Anywhere __attribute__((vector_size(OPW_VECTOR), aligned(alignof(T)), may_alias));

  static const Anywhere &at(const T *data) { return *reinterpret_cast<const Anywhere *>(data); }
  static Anywhere &at(T *data) { return *reinterpret_cast<Anywhere *>(data); }
};

// R x N vectors of C, whose columns are neighbours, as right's are. The first `skip` rows aren't written. What it is given
// comes in registers: read from memory, it would wait for the stores of the tile before.
template <class T>
using Tile = void (*)(int64_t k, const T *left, int64_t left_row, int64_t left_column, const T *right,
                      int64_t right_row, T *out, int64_t out_row, T alpha, T beta, int skip);

template <class T, int R, int N>
OPW_FUSED void tile(int64_t k, const T *left, int64_t left_row, int64_t left_column, const T *right, int64_t right_row,
                    T *out, int64_t out_row, T alpha, T beta, int skip) {
  OPW_FUSE
  using Vector = typename Lanes<T>::Vector;
  constexpr int L = Lanes<T>::count,
                P = (R + 7) / 8;  // a pointer for each 8 rows: they and 7 strides stay in registers
  Vector sum[R][N];
  const T *l[P];
  OPW_UNROLL
  for (int i = 0; i < P; ++i) l[i] = left + 8 * i * left_row;
  OPW_UNROLL
  for (int i = 0; i < R; ++i) OPW_UNROLL
  for (int j = 0; j < N; ++j) sum[i][j] = Vector{};
  for (int64_t p = 0; p < k; ++p) {
    Vector columns[N];
    OPW_UNROLL
    for (int j = 0; j < N; ++j) columns[j] = Lanes<T>::at(right + j * L);
    OPW_UNROLL
    for (int i = 0; i < R; ++i) {
      const Vector element = l[i / 8][i % 8 * left_row] - Vector{};
      OPW_UNROLL
      for (int j = 0; j < N; ++j) sum[i][j] += element * columns[j];
    }
    right += right_row;
    OPW_UNROLL
    for (int i = 0; i < P; ++i) l[i] += left_column;
  }
  OPW_UNROLL
  for (int i = 0; i < R; ++i, out += out_row) {
    if (i < skip) continue;
    OPW_UNROLL
    for (int j = 0; j < N; ++j) {
      const Vector value = alpha * sum[i][j];
      Lanes<T>::at(out + j * L) = beta == 0 ? value : value + beta * Lanes<T>::at(out + j * L);
    }
  }
}

// Elements 0, 2, 4... (First = 0) or 1, 3, 5... (First = 1) of x and then of y.
#ifdef __clang__
template <int First, class Vector, int... I>
inline __attribute__((always_inline)) Vector pick(Vector x, Vector y, Ints<I...>) {
  return __builtin_shufflevector(x, y, 2 * I + First...);
}
#endif
template <int First, class Vector>
inline __attribute__((always_inline)) Vector every_second(Vector x, Vector y) {
  constexpr int L = sizeof(Vector) / sizeof(x[0]);
#ifdef __clang__
  return pick<First>(x, y, __make_integer_seq<IntsOf, int, L>{});
#else
  decltype(x < y) at;
  OPW_UNROLL
  for (int i = 0; i < L; ++i) at[i] = 2 * i + First;
  return __builtin_shuffle(x, y, at);
#endif
}

// to[j * to_row + i] = from[i * from_row + j], L x L elements.
template <class T>
__attribute__((noinline, noclone)) void transpose_block(const T *from, int64_t from_row, T *to, int64_t to_row) {
  constexpr int L = Lanes<T>::count;
  typename Lanes<T>::Vector x[L], y[L];
  OPW_UNROLL
  for (int i = 0; i < L; ++i) x[i] = Lanes<T>::at(from + i * from_row);
  OPW_UNROLL
  for (int stage = 1; stage < L;
       stage *= 2) {  // each moves one bit of the elements' column numbers to their row numbers
    OPW_UNROLL
    for (int i = 0; i < L / 2; ++i) {
      y[i] = every_second<0>(x[2 * i], x[2 * i + 1]);
      y[L / 2 + i] = every_second<1>(x[2 * i], x[2 * i + 1]);
    }
    OPW_UNROLL
    for (int i = 0; i < L; ++i) x[i] = y[i];
  }
  OPW_UNROLL
  for (int i = 0; i < L; ++i) Lanes<T>::at(to + i * to_row) = x[i];
}

// The same for m x n elements.
template <class T>
__attribute__((noinline, noclone)) void transpose(int64_t m, int64_t n, const T *from, int64_t from_row, T *to,
                                                  int64_t to_row) {
  constexpr int L = Lanes<T>::count;
  for (int64_t i = 0; i < m; i += L) {
    for (int64_t j = 0; j < n; j += L) {
      const T *const f = from + i * from_row + j;
      T *const t = to + j * to_row + i;
      if (m - i >= L && n - j >= L) {
        transpose_block(f, from_row, t, to_row);
        continue;
      }
      for (int64_t q = 0; q < L && i + q < m; ++q)
        for (int64_t r = 0; r < L && j + r < n; ++r) t[r * to_row + q] = f[q * from_row + r];
    }
  }
}

// out = sums + beta * out; a row of sums every `width` elements.
template <class T>
__attribute__((noinline, noclone)) void add(int64_t rows, int64_t columns, const T *sums, int64_t width, T beta,
                                            Matrix<T> out) {
  for (int64_t i = 0; i < rows; ++i, sums += width) {
    T *const c = out.at(i, 0);
    int64_t j = 0;
    if (out.column == 1)
      for (; j + Lanes<T>::count <= columns; j += Lanes<T>::count) {
        const typename Lanes<T>::Vector value = Lanes<T>::at(sums + j);
        Lanes<T>::at(c + j) = beta == 0 ? value : value + beta * Lanes<T>::at(c + j);
      }
    for (; j < columns; ++j) c[j * out.column] = beta == 0 ? sums[j] : sums[j] + beta * c[j * out.column];
  }
}

// Puts sums that couldn't be made in place where they belong: C's last columns, or C's transpose.
template <class T>
void finish(int64_t rows, int64_t columns, const T *sums, int64_t width, T beta, Matrix<T> out) {
  if (out.row != 1) return add(rows, columns, sums, width, beta, out);
  if (beta == 0) return transpose(rows, columns, sums, width, out.data, out.column);
  alignas(64) T turned[strip * 3 * Lanes<T>::count];
  transpose(rows, columns, sums, width, turned, rows);
  add(columns, rows, turned, rows, beta, out.transposed());
}

template <class T>
struct Shape {
  int rows;
  Tile<T> tile;
};

// Tiles of 1, 2 and 3 vectors, the tallest first: as many rows as keep the registers busy, and fewer for small matrices.
template <class T>
constexpr Shape<T> shapes[3][3] = {
    {{tallest, tile<T, tallest, 1>}, {4, tile<T, 4, 1>}, {1, tile<T, 1, 1>}},
    {{taller, tile<T, taller, 2>}, {2, tile<T, 2, 2>}, {1, tile<T, 1, 2>}},
    {{tall, tile<T, tall, 3>}, {2, tile<T, 2, 3>}, {1, tile<T, 1, 3>}},
};

// All rows of C, of `vectors` vectors in place. The last tile overlaps the one before.
template <class T>
__attribute__((noinline, noclone)) void rows(const Product<T> &p, int vectors) {
  const Shape<T> *shape = shapes<T>[vectors - 1];
  while (shape->rows > p.rows) ++shape;
  for (int64_t i = 0; i < p.rows; i += shape->rows) {
    const int64_t first = i + shape->rows <= p.rows ? i : p.rows - shape->rows;
    shape->tile(p.k, p.left.at(first, 0), p.left.row, p.left.column, p.right.data, p.right.row, p.out.at(first, 0),
                p.out.row, p.alpha, p.beta, static_cast<int>(i - first));
  }
}

// The same where C has fewer columns, or they aren't neighbours.
template <class T>
__attribute__((noinline, noclone)) void panel(const Product<T> &p, int vectors) {
  const int width = vectors * Lanes<T>::count;
  if (p.out.column == 1 && p.columns == width) return rows(p, vectors);
  alignas(64) T sums[strip * 3 * Lanes<T>::count];
  for (int64_t i = 0; i < p.rows; i += strip) {
    Product<T> part = p;
    part.rows = p.rows - i < strip ? p.rows - i : strip;
    part.beta = 0, part.left = p.left.from(i, 0), part.out = {sums, width, 1};
    rows(part, vectors);
    finish<T>(part.rows, p.columns, sums, width, p.beta, p.out.from(i, 0));
  }
}

// k x columns of the right operand, columns side by side, zeros beyond them.
template <class T>
__attribute__((noinline, noclone)) void pack(int64_t k, int64_t columns, Matrix<const T> right, T *packed,
                                             int64_t width) {
  if (right.column == 1) add<T>(k, columns, right.data, right.row, T(0), {packed, width, 1});
  else transpose(columns, k, right.data, right.column, packed, width);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = columns; j < width; ++j) packed[p * width + j] = 0;
}

// `panel` with as much of k at a time as is to be copied.
template <class T>
void packed_panel(Product<T> p, int vectors) {
  const int width = vectors * Lanes<T>::count;
  const bool is_read_often = p.rows >= 32 && p.k * width * int64_t{sizeof(T)} > packed_bytes / 2;
  if (p.right.column == 1 && p.columns == width && !is_read_often) return panel(p, vectors);
  alignas(64) T packed[packed_bytes / sizeof(T)];
  const int64_t most = packed_bytes / sizeof(T) / width;
  for (int64_t done = 0; done < p.k; done += most, p.beta = 1) {
    Product<T> part = p;
    part.k = p.k - done < most ? p.k - done : most;
    part.left = p.left.from(0, done), part.right = {packed, width, 1};
    pack<T>(part.k, p.columns, p.right.from(done, 0), packed, width);
    panel(part, vectors);
  }
}

// Panels of three vectors, or of two and one where that comes out even.
template <class T>
void product(const Product<T> &p) {
  constexpr int L = Lanes<T>::count;
  for (int64_t j = 0, width; j < p.columns; j += width) {
    const int64_t rest = p.columns - j, vectors = (rest + L - 1) / L;
    const int n = vectors == 1 ? 1 : vectors == 2 || vectors == 4 ? 2 : 3;
    width = n * L;
    Product<T> part = p;
    part.columns = rest < width ? rest : width;
    part.right = p.right.from(0, j), part.out = p.out.from(0, j);
    packed_panel(part, n);
  }
}

// A left operand of few rows, and a right one whose columns are runs of k: sums along k, for L columns at a time.
template <class T>
OPW_FUSED void dots(const Product<T> &p) {
  OPW_FUSE
  using Vector = typename Lanes<T>::Vector;
  constexpr int L = Lanes<T>::count, P = (L + 7) / 8;
  for (int64_t j = 0; j < p.columns; j += L) {
    const int64_t first = j + L <= p.columns ? j : p.columns - L;
    for (int64_t i = 0; i < p.rows; ++i) {
      Vector sum[L];
      OPW_UNROLL
      for (int q = 0; q < L; ++q) sum[q] = Vector{};
      const T *l = p.left.at(i, 0), *r[P];
      OPW_UNROLL
      for (int q = 0; q < P; ++q) r[q] = p.right.at(0, first + 8 * q);
      int64_t k = p.k;
      for (; k >= L; k -= L, l += L) {
        const Vector row = Lanes<T>::at(l);
        OPW_UNROLL
        for (int q = 0; q < L; ++q) sum[q] += row * Lanes<T>::at(r[q / 8] + q % 8 * p.right.column);
        OPW_UNROLL
        for (int q = 0; q < P; ++q) r[q] += L;
      }
      OPW_UNROLL
      for (int n = L / 2; n > 0; n /= 2) {
        OPW_UNROLL
        for (int q = 0; q < n; ++q)
          sum[q] = every_second<0>(sum[2 * q], sum[2 * q + 1]) + every_second<1>(sum[2 * q], sum[2 * q + 1]);
      }
      T total[L];
      Lanes<T>::at(total) = sum[0];
      for (int64_t rest = 0; rest < k; ++rest)
        for (int q = 0; q < L; ++q) total[q] += l[rest] * r[q / 8][q % 8 * p.right.column + rest];
      for (int q = 0; q < L; ++q) total[q] *= p.alpha;
      add<T>(1, first + L - j, total + (j - first), L, p.beta, p.out.from(i, j));
    }
  }
}

// A piece of a product, in this thread.
template <class T>
void piece(const Product<T> &p) {
  if (p.is_dots() && p.rows <= few_rows && p.columns >= Lanes<T>::count) dots(p);
  else product(p);
}

#undef OPW_FUSED
#undef OPW_FUSE
#undef OPW_UNROLL
