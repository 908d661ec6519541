// The checks of 2018: AT_CHECK, AT_WARN, AT_INDEX_ERROR, CHECK_EQ and its like.
#pragma once

#include <c10/util/Exception.h>

#ifndef AT_CHECK
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
// Device code can't throw: a failed check stops the kernel, as an assertion does.
#include <c10/macros/Macros.h>
#define AT_CHECK(condition, ...) CUDA_KERNEL_ASSERT(condition)
#else
#define AT_CHECK(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#endif
#endif

#ifndef AT_WARN
#define AT_WARN(...) TORCH_WARN(__VA_ARGS__)
#endif

#ifndef AT_INDEX_ERROR
#define AT_INDEX_ERROR(...) TORCH_CHECK_INDEX(false, ::c10::str(__VA_ARGS__))
#endif

#ifndef CHECK_EQ
#define CHECK_EQ(a, b) TORCH_CHECK_EQ(a, b)
#define CHECK_NE(a, b) TORCH_CHECK_NE(a, b)
#define CHECK_LE(a, b) TORCH_CHECK_LE(a, b)
#define CHECK_LT(a, b) TORCH_CHECK_LT(a, b)
#define CHECK_GE(a, b) TORCH_CHECK_GE(a, b)
#define CHECK_GT(a, b) TORCH_CHECK_GT(a, b)
#endif
