/* The types of cuBLASLt that PyTorch's headers name. */
#ifndef OPWRIGHT_EMULATION_EXTENSIONS_CUBLASLT_H
#define OPWRIGHT_EMULATION_EXTENSIONS_CUBLASLT_H

typedef struct cublasLtContext *cublasLtHandle_t;

#endif
