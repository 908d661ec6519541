// Handles, and the names of status codes.
#include "../status_names.h"
#include "elements.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
};

namespace opwright::emulation::blas {
namespace {

constexpr const char *library = "cuBLAS";
Called plainly(const Call &call) { return {call.name, call.file, call.line}; }

bool checked(const Call &call) {
  if (handle_is_alive(library, call.handle)) return true;
  note(cudaErrorInvalidResourceHandle, plainly(call), "the handle isn't of cublasCreate, or was destroyed");
  return false;
}

template <class T> cublasStatus_t field(const Call &call, T cublasContext::*member, T *value, bool set) {
  if (!checked(call)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!value) return CUBLAS_STATUS_INVALID_VALUE;
  if (set) call.handle->*member = *value;
  else *value = call.handle->*member;
  return CUBLAS_STATUS_SUCCESS;
}

constexpr Named<cublasStatus_t> names[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the current device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR",
     "the requested functionality requires some license and an error was detected when trying to check the current "
     "licensing"},
};

}  // namespace

const char *status_name(cublasStatus_t status) { return name_of(names, status); }
const char *status_text(cublasStatus_t status) { return text_of(names, status); }

cublasStatus_t create(cublasHandle_t *handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  handle_created(library, *handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(const Call &call) {
  if (!checked(call)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle_destroyed(library, call.handle);
  wait_for_device();  // as cublasDestroy does
  delete call.handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t stream(const Call &call, cudaStream_t *value, bool set) {
  return field(call, &cublasContext::stream, value, set);
}
cublasStatus_t pointer_mode(const Call &call, cublasPointerMode_t *value, bool set) {
  return field(call, &cublasContext::mode, value, set);
}
cublasStatus_t math_mode(const Call &call, cublasMath_t *value, bool set) {
  return field(call, &cublasContext::math, value, set);
}
cublasStatus_t atomics_mode(const Call &call, cublasAtomicsMode_t *value, bool set) {
  return field(call, &cublasContext::atomics, value, set);
}

bool running(const Call &call, Running *run) {
  if (!checked(call)) return false;
  *run = {{call.name, call.file, call.line, call.handle->stream, true},
          call.handle->mode == CUBLAS_POINTER_MODE_DEVICE};
  return true;
}

cublasStatus_t transfer(Index rows, Index columns, Index bytes, const void *from, Index from_ld, void *to, Index to_ld,
                        const Called &called) {
  if (rows < 0 || columns < 0 || bytes < 1 || from_ld < rows || to_ld < rows) return CUBLAS_STATUS_INVALID_VALUE;
  const cudaError_t error = copy_rows(to, size_t(to_ld * bytes), from, size_t(from_ld * bytes), size_t(rows * bytes),
                                      size_t(columns), cudaMemcpyDefault, called);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

}  // namespace opwright::emulation::blas
