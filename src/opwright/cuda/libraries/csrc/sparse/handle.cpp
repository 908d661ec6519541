// cuSPARSE's handles and status codes.
#include "../status_names.h"
#include "matrices.h"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace opwright::emulation::sparse {
namespace {

constexpr const char *library = "cuSPARSE";

constexpr Named<cusparseStatus_t> names[] = {
    {CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success"},
    {CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
};

}  // namespace

bool running(const Call &call, Running *run) {
  if (!handle_is_alive(library, call.handle)) {
    note(cudaErrorInvalidResourceHandle, {call.name, call.file, call.line},
         "the handle isn't of cusparseCreate, or was destroyed");
    return false;
  }
  *run = {{call.name, call.file, call.line, call.handle->stream, true},
          call.handle->mode == CUSPARSE_POINTER_MODE_DEVICE};
  return true;
}

cusparseStatus_t create(cusparseHandle_t *handle) {
  if (!handle) return CUSPARSE_STATUS_INVALID_VALUE;
  *handle = new cusparseContext;
  handle_created(library, *handle);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t destroy(const Call &call) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  handle_destroyed(library, call.handle);
  delete call.handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t stream(const Call &call, cudaStream_t value) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  call.handle->stream = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t pointer_mode(const Call &call, cusparsePointerMode_t value) {
  Running run;
  if (!running(call, &run)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  call.handle->mode = value;
  return CUSPARSE_STATUS_SUCCESS;
}
const char *status_name(cusparseStatus_t status) { return name_of(names, status); }
const char *status_text(cusparseStatus_t status) { return text_of(names, status); }

}  // namespace opwright::emulation::sparse
