// A tensor of one element as a number, toCInt() and its relatives; a tensor of another type, toLongTensor() and its.
#pragma once

#include <ATen/core/Tensor.h>

#define toCByte() item<uint8_t>()
#define toCInt() item<int>()
#define toCLong() item<int64_t>()
#define toCFloat() item<float>()
#define toCDouble() item<double>()

#define toByteTensor() to(at::kByte)
#define toCharTensor() to(at::kChar)
#define toShortTensor() to(at::kShort)
#define toIntTensor() to(at::kInt)
#define toLongTensor() to(at::kLong)
#define toHalfTensor() to(at::kHalf)
#define toFloatTensor() to(at::kFloat)
#define toDoubleTensor() to(at::kDouble)
