#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorTypeUtils.cuh"
#else

template <>
struct TensorUtils<THCTensor> {
  typedef real DataType;
  typedef accreal AccDataType;

  static THCTensor *newTensor(THCState *state) {
    return THCTensor_(new)(state);
  }
  static THCTensor *newContiguous(THCState *state, THCTensor *t) {
    return THCTensor_(newContiguous)(state, t);
  }
  static THCTensor *newTranspose(THCState *state, THCTensor *t, int one, int other) {
    return THCTensor_(newTranspose)(state, t, one, other);
  }
  static void retain(THCState *state, THCTensor *t) {
    THCTensor_(retain)(state, t);
  }
  static void free(THCState *state, THCTensor *t) {
    THCTensor_(free)(state, t);
  }
  static void freeCopyTo(THCState *state, THCTensor *from, THCTensor *to) {
    THCTensor_(freeCopyTo)(state, from, to);
  }
  static void resize(THCState *state, THCTensor *t, THLongStorage *sizes, THLongStorage *strides) {
    THCTensor_(resize)(state, t, sizes, strides);
  }
  static void resizeAs(THCState *state, THCTensor *t, THCTensor *like) {
    THCTensor_(resizeAs)(state, t, like);
  }
  static void squeeze1d(THCState *state, THCTensor *t, THCTensor *from, int dim) {
    THCTensor_(squeeze1d)(state, t, from, dim);
  }
  static void unsqueeze1d(THCState *state, THCTensor *t, THCTensor *from, int dim) {
    THCTensor_(unsqueeze1d)(state, t, from, dim);
  }
  static real *getData(THCState *state, THCTensor *t) {
    return THCTensor_(data)(state, t);
  }
  static ptrdiff_t getNumElements(THCState *state, THCTensor *t) {
    return THCTensor_(nElement)(state, t);
  }
  static int64_t getSize(THCState *state, THCTensor *t, int dim) {
    return THCTensor_(size)(state, t, dim);
  }
  static int64_t getStride(THCState *state, THCTensor *t, int dim) {
    return THCTensor_(stride)(state, t, dim);
  }
  static int getDims(THCState *state, THCTensor *t) {
    return THCTensor_(nDimension)(state, t);
  }
  static bool isContiguous(THCState *state, THCTensor *t) {
    return THCTensor_(isContiguous)(state, t);
  }
  static bool allContiguous(THCState *state, THCTensor **tensors, int count) {
    for (int i = 0; i < count; ++i)
      if (!isContiguous(state, tensors[i])) return false;
    return true;
  }
  static int getDevice(THCState *state, THCTensor *t) {
    return THCTensor_(getDevice)(state, t);
  }
  static bool allSameDevice(THCState *state, THCTensor **tensors, int count) {
    for (int i = 1; i < count; ++i)
      if (getDevice(state, tensors[i]) != getDevice(state, tensors[0])) return false;
    return true;
  }
  static void copyIgnoringOverlaps(THCState *state, THCTensor *to, THCTensor *from) {
    THCTensor_(copyIgnoringOverlaps)(state, to, from);
  }

  /* Whether two elements may lie at one place: where sorted strides don't each reach beyond the dimension before. */
  static bool overlappingIndices(THCState *state, THCTensor *t) {
    const int dims = getDims(state, t);
    int64_t reach = 0;
    bool seen[MAX_CUTORCH_DIMS] = {};
    for (int round = 0; round < dims && dims <= MAX_CUTORCH_DIMS; ++round) {
      int least = -1;
      for (int d = 0; d < dims; ++d)
        if (!seen[d] && (least < 0 || getStride(state, t, d) < getStride(state, t, least))) least = d;
      seen[least] = true;
      if (getSize(state, t, least) <= 1) continue;
      if (getStride(state, t, least) <= reach) return true;
      reach += (getSize(state, t, least) - 1) * getStride(state, t, least);
    }
    return false;
  }

  /* Whether 32 bits are enough to number the elements, and to say where each is. */
  static bool canUse32BitIndexMath(THCState *state, THCTensor *t, ptrdiff_t most = UINT32_MAX) {
    int64_t last = 0;
    for (int d = 0; d < getDims(state, t); ++d) last += (getSize(state, t, d) - 1) * getStride(state, t, d);
    return getNumElements(state, t) < most && last < most;
  }
  static bool all32BitIndexable(THCState *state, THCTensor **tensors, int count) {
    for (int i = 0; i < count; ++i)
      if (!canUse32BitIndexMath(state, tensors[i])) return false;
    return true;
  }
};

#endif
