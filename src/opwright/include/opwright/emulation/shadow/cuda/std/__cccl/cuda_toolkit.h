/* CCCL is to include none of the toolkit's headers. */
#ifndef OPWRIGHT_EMULATION_CCCL_TOOLKIT_H
#define OPWRIGHT_EMULATION_CCCL_TOOLKIT_H

#include <cuda/std/__cccl/compiler.h>
#include <cuda/std/__cccl/preprocessor.h>

#define _CCCL_HAS_CTK() 0
#define _CCCL_CTK() _CCCL_VERSION_INVALID()
#define _CCCL_CTK_MAKE_VERSION(major, minor) ((major) * 1000 + (minor) * 10)
#define _CCCL_CTK_BELOW(...) _CCCL_VERSION_COMPARE(_CCCL_CTK_, _CCCL_CTK, <, __VA_ARGS__)
#define _CCCL_CTK_AT_LEAST(...) _CCCL_VERSION_COMPARE(_CCCL_CTK_, _CCCL_CTK, >=, __VA_ARGS__)

#endif
