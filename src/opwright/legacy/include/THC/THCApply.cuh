#ifndef THC_APPLY_INC
#define THC_APPLY_INC

#include "THCReduceApplyUtils.cuh"
#include "THCTensorTypeUtils.cuh"

/* A function of each element, or of one element of each of two or three tensors, in the order of the elements:
 *
 *   struct AddTo { __device__ void operator()(float *a, float *b) const { *a += *b; } };
 *   THC_pointwiseApply2(state, a, b, AddTo());
 *
 * false: the tensors haven't as many elements, or too many dimensions. */

namespace thc_detail {

#define THC_APPLY_LOOP_(number, count)                                                           \
  for (IndexType number = blockIdx.x * IndexType(blockDim.x) + threadIdx.x; number < count;      \
       number += gridDim.x * IndexType(blockDim.x))

template <int A, typename IndexType, typename TA, typename Op>
__global__ void apply1(TensorInfo<TA, IndexType> a, IndexType count, Op op) {
  THC_APPLY_LOOP_(i, count) op(&a.data[IndexToOffset<TA, IndexType, A>::get(i, a)]);
}

template <int A, int B, typename IndexType, typename TA, typename TB, typename Op>
__global__ void apply2(TensorInfo<TA, IndexType> a, TensorInfo<TB, IndexType> b, IndexType count, Op op) {
  THC_APPLY_LOOP_(i, count)
  op(&a.data[IndexToOffset<TA, IndexType, A>::get(i, a)], &b.data[IndexToOffset<TB, IndexType, B>::get(i, b)]);
}

template <int A, int B, int C, typename IndexType, typename TA, typename TB, typename TC, typename Op>
__global__ void apply3(TensorInfo<TA, IndexType> a, TensorInfo<TB, IndexType> b, TensorInfo<TC, IndexType> c,
                       IndexType count, Op op) {
  THC_APPLY_LOOP_(i, count)
  op(&a.data[IndexToOffset<TA, IndexType, A>::get(i, a)], &b.data[IndexToOffset<TB, IndexType, B>::get(i, b)],
     &c.data[IndexToOffset<TC, IndexType, C>::get(i, c)]);
}

#undef THC_APPLY_LOOP_

/* A tensor for the time of a call: of one that is written and has several elements at one place, a copy, whose values go
   there afterwards. */
template <typename TensorType>
struct Applied {
  typedef TensorUtils<TensorType> Utils;

  Applied(THCState *state, TensorType *given, TensorArgType type) : state(state), given(given), used(given) {
    if (type == ReadWrite && Utils::overlappingIndices(state, given)) used = Utils::newContiguous(state, given);
  }
  ~Applied() {
    if (used != given) Utils::free(state, used);
  }
  void finish() {
    if (used != given) Utils::copyIgnoringOverlaps(state, given, used);
  }
  template <typename IndexType>
  TensorInfo<typename Utils::DataType, IndexType> info() const {
    TensorInfo<typename Utils::DataType, IndexType> made = getTensorInfo<TensorType, IndexType>(state, used);
    made.collapseDims();
    return made;
  }
  bool small() const {
    return Utils::canUse32BitIndexMath(state, used);
  }

  THCState *state;
  TensorType *given, *used;
};

template <typename TensorType>
bool applies(THCState *state, TensorType *t, ptrdiff_t elements) {
  typedef TensorUtils<TensorType> Utils;
  return Utils::getNumElements(state, t) == elements && Utils::getDims(state, t) <= MAX_CUTORCH_DIMS;
}

template <typename IndexType, typename A, typename Op>
void launch1(THCState *state, dim3 grid, IndexType count, A a, const Op &op) {
  cudaStream_t stream = THCState_getCurrentStream(state);
  if (a.isContiguous()) apply1<-2, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, count, op);
  else apply1<-1, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, count, op);
}

template <typename IndexType, typename A, typename B, typename Op>
void launch2(THCState *state, dim3 grid, IndexType count, A a, B b, const Op &op) {
  cudaStream_t stream = THCState_getCurrentStream(state);
  if (a.isContiguous() && b.isContiguous())
    apply2<-2, -2, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, b, count, op);
  else
    apply2<-1, -1, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, b, count, op);
}

template <typename IndexType, typename A, typename B, typename C, typename Op>
void launch3(THCState *state, dim3 grid, IndexType count, A a, B b, C c, const Op &op) {
  cudaStream_t stream = THCState_getCurrentStream(state);
  if (a.isContiguous() && b.isContiguous() && c.isContiguous())
    apply3<-2, -2, -2, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, b, c, count, op);
  else
    apply3<-1, -1, -1, IndexType><<<grid, getApplyBlock(), 0, stream>>>(a, b, c, count, op);
}

}  // namespace thc_detail

template <typename TensorTypeA, typename Op>
bool THC_pointwiseApply1(THCState *state, TensorTypeA *a, const Op &op, TensorArgType aType = ReadWrite) {
  using namespace thc_detail;
  const ptrdiff_t count = TensorUtils<TensorTypeA>::getNumElements(state, a);
  if (!applies(state, a, count)) return false;
  if (count == 0) return true;
  dim3 grid;
  if (!getApplyGrid(state, static_cast<uint64_t>(count), grid)) return false;
  Applied<TensorTypeA> ta(state, a, aType);
  if (ta.small())
    launch1(state, grid, static_cast<unsigned int>(count), ta.template info<unsigned int>(), op);
  else
    launch1(state, grid, static_cast<uint64_t>(count), ta.template info<uint64_t>(), op);
  THCudaCheck(cudaGetLastError());
  ta.finish();
  return true;
}

template <typename TensorTypeA, typename TensorTypeB, typename Op>
bool THC_pointwiseApply2(THCState *state, TensorTypeA *a, TensorTypeB *b, const Op &op,
                         TensorArgType aType = ReadWrite, TensorArgType bType = ReadOnly) {
  using namespace thc_detail;
  const ptrdiff_t count = TensorUtils<TensorTypeA>::getNumElements(state, a);
  if (!applies(state, a, count) || !applies(state, b, count)) return false;
  if (count == 0) return true;
  dim3 grid;
  if (!getApplyGrid(state, static_cast<uint64_t>(count), grid)) return false;
  Applied<TensorTypeA> ta(state, a, aType);
  Applied<TensorTypeB> tb(state, b, bType);
  if (ta.small() && tb.small())
    launch2(state, grid, static_cast<unsigned int>(count), ta.template info<unsigned int>(),
            tb.template info<unsigned int>(), op);
  else
    launch2(state, grid, static_cast<uint64_t>(count), ta.template info<uint64_t>(), tb.template info<uint64_t>(), op);
  THCudaCheck(cudaGetLastError());
  tb.finish();
  ta.finish();
  return true;
}

template <typename TensorTypeA, typename TensorTypeB, typename TensorTypeC, typename Op>
bool THC_pointwiseApply3(THCState *state, TensorTypeA *a, TensorTypeB *b, TensorTypeC *c, const Op &op,
                         TensorArgType aType = ReadWrite, TensorArgType bType = ReadOnly,
                         TensorArgType cType = ReadOnly) {
  using namespace thc_detail;
  const ptrdiff_t count = TensorUtils<TensorTypeA>::getNumElements(state, a);
  if (!applies(state, a, count) || !applies(state, b, count) || !applies(state, c, count)) return false;
  if (count == 0) return true;
  dim3 grid;
  if (!getApplyGrid(state, static_cast<uint64_t>(count), grid)) return false;
  Applied<TensorTypeA> ta(state, a, aType);
  Applied<TensorTypeB> tb(state, b, bType);
  Applied<TensorTypeC> tc(state, c, cType);
  if (ta.small() && tb.small() && tc.small())
    launch3(state, grid, static_cast<unsigned int>(count), ta.template info<unsigned int>(),
            tb.template info<unsigned int>(), tc.template info<unsigned int>(), op);
  else
    launch3(state, grid, static_cast<uint64_t>(count), ta.template info<uint64_t>(), tb.template info<uint64_t>(),
            tc.template info<uint64_t>(), op);
  THCudaCheck(cudaGetLastError());
  tc.finish();
  tb.finish();
  ta.finish();
  return true;
}

#endif
