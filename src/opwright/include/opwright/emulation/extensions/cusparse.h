/* The types of cuSPARSE that PyTorch's headers name. The library isn't emulated here. */
#ifndef OPWRIGHT_EMULATION_EXTENSIONS_CUSPARSE_H
#define OPWRIGHT_EMULATION_EXTENSIONS_CUSPARSE_H

typedef struct cusparseContext *cusparseHandle_t;
typedef struct cusparseMatDescr *cusparseMatDescr_t;
typedef enum { CUSPARSE_STATUS_SUCCESS = 0, CUSPARSE_STATUS_NOT_INITIALIZED = 1 } cusparseStatus_t;

inline const char *cusparseGetErrorString(cusparseStatus_t status) { return status ? "not emulated" : "success"; }

#endif
