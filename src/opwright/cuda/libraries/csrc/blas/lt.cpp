// cuBLASLt: products of matrices with what follows them, in one call.
#include <opwright/emulation/shadow/cublasLt.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "elements.h"
#include "host_blas.h"

struct cublasLtContext { int unused; };

namespace opwright::emulation::blas {
namespace {

struct Layout {
  int32_t type, order;
  uint64_t rows, columns;
  int64_t ld, offset;
  int32_t batch, unused;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "it lies in the program's own variable");

struct Matmul {
  int32_t compute, scale, pointer_mode, ta, tb, tc, fill;
  uint32_t epilogue;
  const void *bias;
  int64_t bias_stride;
  void *aux;
  int64_t aux_ld, aux_stride;
  const void *scales[4];
  int32_t aux_type, bias_type;
};
static_assert(sizeof(Matmul) <= sizeof(cublasLtMatmulDescOpaque_t), "it lies in the program's own variable");
constexpr int32_t not_said = -1;

Layout &of(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout *>(layout->data); }
Matmul &of(cublasLtMatmulDesc_t matmul) { return *reinterpret_cast<Matmul *>(matmul->data); }

template <class T> cublasStatus_t moved(T *field, void *value, size_t bytes, bool set) {
  if (!value || bytes < sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(set ? static_cast<void *>(field) : value, set ? value : static_cast<void *>(field), sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t lt_create(cublasLtHandle_t *handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext{};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_destroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_init(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows, uint64_t columns,
                           int64_t ld) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  new (layout->data) Layout{type, CUBLASLT_ORDER_COL, rows, columns, ld, 0, 1, 0};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_field(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which, void *value,
                            size_t bytes, bool set) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  Layout &l = of(layout);
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return moved(&l.type, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return moved(&l.order, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return moved(&l.rows, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return moved(&l.columns, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_LD: return moved(&l.ld, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return moved(&l.batch, value, bytes, set);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return moved(&l.offset, value, bytes, set);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t matmul_init(cublasLtMatmulDesc_t matmul, cublasComputeType_t compute, cudaDataType scale) {
  if (!matmul) return CUBLAS_STATUS_INVALID_VALUE;
  new (matmul->data) Matmul{};
  Matmul &m = of(matmul);
  m.compute = compute, m.scale = scale, m.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  m.aux_type = m.bias_type = not_said;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t matmul_field(cublasLtMatmulDesc_t matmul, cublasLtMatmulDescAttributes_t which, void *value,
                            size_t bytes, bool set) {
  if (!matmul) return CUBLAS_STATUS_INVALID_VALUE;
  Matmul &m = of(matmul);
  int32_t of_no_account = 0;
  int8_t also = 0;
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return moved(&m.compute, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return moved(&m.scale, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return moved(&m.pointer_mode, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_TRANSA: return moved(&m.ta, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_TRANSB: return moved(&m.tb, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_TRANSC: return moved(&m.tc, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_FILL_MODE: return moved(&m.fill, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return moved(&m.epilogue, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return moved(&m.bias, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return moved(&m.bias_stride, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return moved(&m.aux, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return moved(&m.aux_ld, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return moved(&m.aux_stride, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return moved(&m.aux_type, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return moved(&m.bias_type, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return moved(&m.scales[0], value, bytes, set);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return moved(&m.scales[1], value, bytes, set);
    case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER: return moved(&m.scales[2], value, bytes, set);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER: return moved(&m.scales[3], value, bytes, set);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return moved(&of_no_account, value, bytes, set);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return moved(&also, value, bytes, set);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

namespace {

constexpr uint32_t relu = 2, bias = 4, d_relu = 8, bias_gradient = 16, gelu = 32, d_gelu = 64, aux = 128,
                   gradient_a = 256, gradient_b = 512;

// What stands in the way; "" where nothing does.
std::string obstacle(const Matmul &m, const Product &product) {
  constexpr const char *names = "ABCD";
  for (int i = 0; i < 4; ++i) {
    const Layout &l = of(product.layouts[i]);
    if (!size_of(cudaDataType(l.type)))
      return std::string("cudaDataType ") + std::to_string(l.type) + " of " + names[i] + " isn't known here";
    if (l.order != CUBLASLT_ORDER_COL && l.order != CUBLASLT_ORDER_ROW)
      return std::string("the order of ") + names[i] + " is neither by columns nor by rows";
    if (m.scales[i]) return std::string("a scale pointer for ") + names[i] + ", which 8-bit floats have";
  }
  switch (m.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case relu:
    case bias:
    case relu | bias:
    case gelu:
    case gelu | bias:
    case gelu | aux:
    case gelu | aux | bias:
    case d_gelu | aux:
    case d_gelu | aux | bias_gradient:
    case gradient_a:
    case gradient_b: break;
    default: return "the epilogue " + std::to_string(m.epilogue);
  }
  if (m.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE) return "a vector of alphas";
  if (m.tc) return "a transposed C";
  return "";
}

bool fits(const Matmul &m, const Product &product) {
  const auto rows = [&](int i, int32_t op) {
    return op ? of(product.layouts[i]).columns : of(product.layouts[i]).rows;
  };
  const auto columns = [&](int i, int32_t op) {
    return op ? of(product.layouts[i]).rows : of(product.layouts[i]).columns;
  };
  for (int i = 0; i < 4; ++i) {
    const Layout &l = of(product.layouts[i]);
    const uint64_t least = l.order == CUBLASLT_ORDER_ROW ? l.columns : l.rows;
    if (l.batch < 1 || l.ld < int64_t(least) || l.batch != of(product.layouts[3]).batch) return false;
  }
  return rows(0, m.ta) == rows(3, 0) && columns(1, m.tb) == columns(3, 0) && columns(0, m.ta) == rows(1, m.tb) &&
         rows(2, 0) == rows(3, 0) && columns(2, 0) == columns(3, 0);
}

View view(const Product &product, int which, int batch) {
  const Layout &l = of(product.layouts[which]);
  const bool by_rows = l.order == CUBLASLT_ORDER_ROW;
  const cudaDataType type = cudaDataType(l.type);
  char *data = static_cast<char *>(const_cast<void *>(product.data[which])) + batch * l.offset * int64_t(size_of(type));
  return {data, type, Index(by_rows ? l.columns : l.rows), Index(by_rows ? l.rows : l.columns), l.ld};
}

// The matrix as it is meant, with op applied.
template <class T> bool read(const Running &run, const Product &product, int which, int batch, int32_t op,
                             Dense<T> *into) {
  constexpr const char *names[] = {"A", "B", "C", "D"};
  const View at = view(product, which, batch);
  if (!at.touched(run.called, names[which], false)) return false;
  Dense<T> stored;
  load(at, &stored);
  const bool by_rows = of(product.layouts[which]).order == CUBLASLT_ORDER_ROW, turn = by_rows != (op != CUBLAS_OP_N);
  if (!turn && op != CUBLAS_OP_C) return *into = std::move(stored), true;
  *into = turn ? Dense<T>(stored.columns, stored.rows) : Dense<T>(stored.rows, stored.columns);
  for (Index j = 0; j < stored.columns; ++j)
    for (Index i = 0; i < stored.rows; ++i) {
      const T value = op == CUBLAS_OP_C ? conjugated(stored(i, j)) : stored(i, j);
      (turn ? (*into)(j, i) : (*into)(i, j)) = value;
    }
  return true;
}
template <class T> bool write(const Running &run, const Product &product, int batch, const Dense<T> &values) {
  const View at = view(product, 3, batch);
  if (!at.touched(run.called, "D", true)) return false;
  if (of(product.layouts[3]).order == CUBLASLT_ORDER_COL) return store(at, values), true;
  Dense<T> turned(values.columns, values.rows);
  for (Index j = 0; j < values.columns; ++j)
    for (Index i = 0; i < values.rows; ++i) turned(j, i) = values(i, j);
  return store(at, turned), true;
}

// GELU as cuBLASLt computes it: with a hyperbolic tangent.
constexpr double root = 0.7978845608028654, cubed = 0.044715;
template <class T> T gelu_of(T x) { return T(0.5) * x * (T(1) + std::tanh(T(root) * (x + T(cubed) * x * x * x))); }
template <class T> T gelu_slope(T x) {
  const T tanh = std::tanh(T(root) * (x + T(cubed) * x * x * x));
  return T(0.5) * (T(1) + tanh) + T(0.5) * x * (T(1) - tanh * tanh) * T(root) * (T(1) + T(3 * cubed) * x * x);
}

template <class T> bool finish(const Running &run, const Matmul &m, const Product &product, int batch, Dense<T> *d) {
  const cudaDataType d_type = cudaDataType(of(product.layouts[3]).type);
  const auto type_or_d = [&](int32_t type) { return type == not_said ? d_type : cudaDataType(type); };
  const cudaDataType bias_type = type_or_d(m.bias_type), aux_type = type_or_d(m.aux_type);
  char *const bias_at =
      static_cast<char *>(const_cast<void *>(m.bias)) + batch * m.bias_stride * int64_t(size_of(bias_type));
  char *const aux_at = static_cast<char *>(m.aux) + batch * m.aux_stride * int64_t(size_of(aux_type));
  const View side{bias_at, bias_type, d->rows, 1, d->rows};
  const View kept{aux_at, aux_type, d->rows, d->columns, m.aux_ld ? Index(m.aux_ld) : d->rows};
  Dense<T> vector(d->rows, 1), before;
  if (m.epilogue & bias) {
    if (!side.touched(run.called, "the bias", false)) return false;
    load(side, &vector);
    for (Index j = 0; j < d->columns; ++j)
      for (Index i = 0; i < d->rows; ++i) (*d)(i, j) += vector(i, 0);
  }
  if constexpr (!is_complex<T> && !std::is_integral_v<T>) {
    if (m.epilogue & d_gelu) {
      if (!kept.touched(run.called, "the auxiliary matrix", false)) return false;
      load(kept, &before);
      for (size_t i = 0; i < d->data.size(); ++i) d->data[i] *= gelu_slope(before.data[i]);
    } else if (m.epilogue & aux) {
      if (!kept.touched(run.called, "the auxiliary matrix", true)) return false;
      store(kept, *d);
    }
    if (m.epilogue & gelu) std::transform(d->data.begin(), d->data.end(), d->data.begin(), gelu_of<T>);
    if (m.epilogue & relu)
      for (T &each : d->data) each = each > T(0) ? each : each == each ? T(0) : each;
  }
  if (m.epilogue & bias_gradient) {
    for (Index j = 0; j < d->columns; ++j)
      for (Index i = 0; i < d->rows; ++i) vector(i, 0) += (*d)(i, j);
    if (!side.touched(run.called, "the bias's gradient", true)) return false;
    store(side, vector);
  }
  return true;
}

// The sums of op(A) over its columns, or of op(B) over its rows.
template <class T>
bool operand_gradient(const Running &run, const Matmul &m, const Product &product, const Dense<T> &a,
                      const Dense<T> &b) {
  const bool of_a = m.epilogue == gradient_a;
  if (!of_a && m.epilogue != gradient_b) return true;
  Dense<T> sum(of_a ? a.rows : b.columns, 1);
  const Dense<T> &from = of_a ? a : b;
  for (Index j = 0; j < from.columns; ++j)
    for (Index i = 0; i < from.rows; ++i) sum(of_a ? i : j, 0) += from(i, j);
  const cudaDataType type = cudaDataType(m.bias_type == not_said ? of(product.layouts[3]).type : m.bias_type);
  const View at{static_cast<char *>(const_cast<void *>(m.bias)), type, sum.rows, 1, sum.rows};
  if (!at.touched(run.called, "the bias's gradient", true)) return false;
  store(at, sum);
  return true;
}

}  // namespace

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void *alpha, const void *beta,
                      const Product &product, bool only_ask, const Called &called) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto &layouts = product.layouts;
  if (!description || !layouts[0] || !layouts[1] || !layouts[2] || !layouts[3]) return CUBLAS_STATUS_INVALID_VALUE;
  const Matmul &m = of(description);
  const std::string in_the_way = obstacle(m, product);
  if (!in_the_way.empty()) {
    refuse_call(called, in_the_way.c_str());
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!fits(m, product)) return CUBLAS_STATUS_INVALID_VALUE;
  if (only_ask) return CUBLAS_STATUS_SUCCESS;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  const Running run{called, m.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE};
  const cudaDataType scale = cudaDataType(m.scale);
  return computed(run, scale, [&](auto kind) {
    using T = decltype(kind);
    T by{}, keep{};
    if (!scalar(run, alpha, scale, "alpha", &by) || !scalar(run, beta, scale, "beta", &keep))
      return CUBLAS_STATUS_EXECUTION_FAILED;
    for (int at = 0; at < of(layouts[3]).batch; ++at) {
      Dense<T> a, b, d(Index(of(layouts[3]).rows), Index(of(layouts[3]).columns));
      if (!read(run, product, 0, at, m.ta, &a) || !read(run, product, 1, at, m.tb, &b) ||
          (keep != T(0) && !read(run, product, 2, at, 0, &d)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
      multiply<T>('N', 'N', a.rows, b.columns, a.columns, by, a.data.data(), std::max<Index>(1, a.rows), b.data.data(),
                  std::max<Index>(1, b.rows), keep, d.data.data(), std::max<Index>(1, d.rows));
      if (!operand_gradient(run, m, product, a, b) || !finish(run, m, product, at, &d) || !write(run, product, at, d))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace opwright::emulation::blas
