/* The types of cuBLAS that PyTorch's headers name. */
#ifndef OPWRIGHT_EMULATION_EXTENSIONS_CUBLAS_H
#define OPWRIGHT_EMULATION_EXTENSIONS_CUBLAS_H

typedef struct cublasContext *cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1 } cublasStatus_t;

#endif
