// Macros that were renamed.
#pragma once

#include <c10/macros/Macros.h>

#ifndef CAFFE2_API
#define CAFFE2_API TORCH_API
#endif
#ifndef AT_API
#define AT_API TORCH_API
#endif
#ifndef AT_CUDA_API
#define AT_CUDA_API TORCH_CUDA_CU_API
#endif
#ifndef TORCH_CUDA_API
#define TORCH_CUDA_API TORCH_CUDA_CU_API
#endif
#ifndef AT_HOST_DEVICE
#define AT_HOST_DEVICE C10_HOST_DEVICE
#endif
#ifndef AT_DEVICE
#define AT_DEVICE C10_DEVICE
#endif
#ifndef AT_HOST
#define AT_HOST C10_HOST
#endif
#ifndef C10_FALLTHROUGH
#define C10_FALLTHROUGH [[fallthrough]]
#endif
#ifndef TH_API
#define TH_API extern "C" __attribute__((__visibility__("default")))
#endif
#ifndef THC_API
#define THC_API extern "C" __attribute__((__visibility__("default")))
#endif
