// A tensor of one element as a number: toCInt() and its relatives.
#pragma once

#include <ATen/core/Tensor.h>

#define toCByte() item<uint8_t>()
#define toCInt() item<int>()
#define toCLong() item<int64_t>()
#define toCFloat() item<float>()
#define toCDouble() item<double>()
