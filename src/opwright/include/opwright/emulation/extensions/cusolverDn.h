/* The types of cuSOLVER that PyTorch's headers name. The library isn't emulated. */
#ifndef OPWRIGHT_EMULATION_EXTENSIONS_CUSOLVER_H
#define OPWRIGHT_EMULATION_EXTENSIONS_CUSOLVER_H

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef enum { CUSOLVER_STATUS_SUCCESS = 0, CUSOLVER_STATUS_NOT_INITIALIZED = 1 } cusolverStatus_t;

#endif
