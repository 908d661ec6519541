/* X(its name, its struct) for each element type, on the CPU and on GPUs. KIND is Tensor or Storage. */
#ifndef TH_SHARED_TYPES_INC
#define TH_SHARED_TYPES_INC

#define TH_EACH_TYPE(X, KIND) \
  X(Byte, THByte##KIND)       \
  X(Char, THChar##KIND)       \
  X(Short, THShort##KIND)     \
  X(Int, THInt##KIND)         \
  X(Long, THLong##KIND)       \
  X(Float, THFloat##KIND)     \
  X(Double, THDouble##KIND)
#define TH_EACH_CUDA_TYPE(X, KIND) \
  X(Byte, THCudaByte##KIND)        \
  X(Char, THCudaChar##KIND)        \
  X(Short, THCudaShort##KIND)      \
  X(Int, THCudaInt##KIND)          \
  X(Long, THCudaLong##KIND)        \
  X(Float, THCuda##KIND)           \
  X(Double, THCudaDouble##KIND)    \
  X(Half, THCudaHalf##KIND)

#endif
