// Exports the list OPW_LIST for every element type. Included again and again; no #pragma once.
//
// A list says OP(result, name, (parameters), expression): TH<T>Tensor_<name> returns the expression. STORAGE_OP is the same
// for TH<T>Storage_<name>; QUICK_OP and QUICK_STORAGE_OP are for what doesn't touch ATen. In all of them `real` is the
// element type, `accreal` what its sums are kept in, and TYPE its opw::th::Type. What names none of these three is SAME_OP
// and so on: then all types have one function, by many names, which is compiled once. IF_FLOATING(...) holds what only
// floating types have, IF_BYTE(...) what only bytes have, IF_HOST(...) what needs a type of TH's as well. Where OPW_CUDA is
// defined the names are THCuda<T>Tensor_..., each with a THCState * in front, and each says so where there is no GPU.
#define OPW_JOIN_(a, b, c, d) a##b##c##d
#define OPW_JOIN(a, b, c, d) OPW_JOIN_(a, b, c, d)
#define OPW_TEXT_(text) #text
#define OPW_TEXT(text) OPW_TEXT_(text)
#ifdef OPW_CUDA
#define OPW_TH THCuda
#define OPW_DEVICE cuda_device
#define OPW_PARAMETERS(...) (THCState * __VA_OPT__(, ) __VA_ARGS__)
#define OPW_BEGIN(name) needs_cuda(name)
#else
#define OPW_TH TH
#define OPW_DEVICE at::kCPU
#define OPW_PARAMETERS(...) (__VA_ARGS__)
#define OPW_BEGIN(name)
#endif
#define OPW_VISIBLE __attribute__((visibility("default")))
// Thousands of functions that only call another one: to optimise them takes longer than all the others.
#ifdef __clang__
#define OPW_BRIEFLY __attribute__((optnone, noinline))
#else
#define OPW_BRIEFLY __attribute__((optimize("O0")))
#endif
#define TENSOR_(name) OPW_JOIN(OPW_TH, Real, Tensor_, name)
#define STORAGE_(name) OPW_JOIN(OPW_TH, Real, Storage_, name)
#define OPW_FUNCTION(result, function, text, parameters, setup, ...) \
  extern "C" OPW_VISIBLE result function OPW_PARAMETERS parameters { \
    OPW_BEGIN(text);                                                 \
    setup;                                                           \
    return __VA_ARGS__;                                              \
  }
#define OPW_EXPORT(result, function, parameters, setup, ...) \
  OPW_FUNCTION(result, function, __func__, parameters, setup, __VA_ARGS__)
#define OP(result, name, parameters, ...) \
  OPW_EXPORT(OPW_BRIEFLY result, TENSOR_(name), parameters, Below below, __VA_ARGS__)
#define STORAGE_OP(result, name, parameters, ...) \
  OPW_EXPORT(OPW_BRIEFLY result, STORAGE_(name), parameters, Below below, __VA_ARGS__)
#define QUICK_OP(result, name, parameters, ...) OPW_EXPORT(result, TENSOR_(name), parameters, , __VA_ARGS__)
#define QUICK_STORAGE_OP(result, name, parameters, ...) OPW_EXPORT(result, STORAGE_(name), parameters, , __VA_ARGS__)

// The first type's function; the others' are its aliases.
#define OPW_SAME(result, kind, name, parameters, setup, ...)                                                    \
  OPW_FUNCTION(result, OPW_JOIN(OPW_TH, Real, kind, name), OPW_TEXT(OPW_TH) "*" #kind #name, parameters, setup, \
               __VA_ARGS__)
#define SAME_OP(result, name, parameters, ...) OPW_SAME(result, Tensor_, name, parameters, Below below, __VA_ARGS__)
#define SAME_STORAGE_OP(result, name, parameters, ...) \
  OPW_SAME(result, Storage_, name, parameters, Below below, __VA_ARGS__)
#define SAME_QUICK_OP(result, name, parameters, ...) OPW_SAME(result, Tensor_, name, parameters, , __VA_ARGS__)
#define SAME_QUICK_STORAGE_OP(result, name, parameters, ...) OPW_SAME(result, Storage_, name, parameters, , __VA_ARGS__)

namespace opw::th {

#define TYPE (Type{OPW_SCALAR, OPW_DEVICE})

#define IF_FLOATING(...) __VA_ARGS__
#define IF_BYTE(...)
#define IF_HOST(...) __VA_ARGS__
#define Real Double
#define real double
#define accreal double
#define OPW_SCALAR at::kDouble
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#ifndef __APPLE__  // whose linker knows no aliases
#undef OPW_SAME
#define OPW_SAME(result, kind, name, parameters, ...)              \
  extern "C" OPW_VISIBLE result OPW_JOIN(OPW_TH, Real, kind, name) \
  OPW_PARAMETERS parameters __attribute__((alias(OPW_TEXT(OPW_JOIN(OPW_TH, Double, kind, name)))));
#endif

#ifdef OPW_CUDA
#undef accreal
#define accreal float
#define Real
#else
#define Real Float
#endif
#define real float
#define OPW_SCALAR at::kFloat
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#ifdef OPW_CUDA
#undef IF_HOST
#define IF_HOST(...)
#define Real Half
#define real c10::Half
#define OPW_SCALAR at::kHalf
#include OPW_LIST
#undef IF_HOST
#define IF_HOST(...) __VA_ARGS__
#undef Real
#undef real
#undef OPW_SCALAR
#endif

#undef accreal
#undef IF_FLOATING
#define accreal int64_t
#define IF_FLOATING(...)
#define Real Long
#define real int64_t
#define OPW_SCALAR at::kLong
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#define Real Int
#define real int32_t
#define OPW_SCALAR at::kInt
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#define Real Short
#define real int16_t
#define OPW_SCALAR at::kShort
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#define Real Char
#define real int8_t
#define OPW_SCALAR at::kChar
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#undef IF_BYTE
#define IF_BYTE(...) __VA_ARGS__
#define Real Byte
#define real uint8_t
#define OPW_SCALAR at::kByte
#include OPW_LIST
#undef Real
#undef real
#undef OPW_SCALAR

#undef accreal
#undef IF_FLOATING
#undef IF_BYTE
#undef IF_HOST
#undef TYPE

}  // namespace opw::th

#undef OP
#undef STORAGE_OP
#undef QUICK_OP
#undef QUICK_STORAGE_OP
#undef SAME_OP
#undef SAME_STORAGE_OP
#undef SAME_QUICK_OP
#undef SAME_QUICK_STORAGE_OP
#undef OPW_SAME
#undef OPW_EXPORT
#undef OPW_FUNCTION
#undef TENSOR_
#undef STORAGE_
#undef OPW_VISIBLE
#undef OPW_BRIEFLY
#undef OPW_PARAMETERS
#undef OPW_BEGIN
#undef OPW_DEVICE
#undef OPW_TH
#undef OPW_JOIN
#undef OPW_JOIN_
#undef OPW_TEXT
#undef OPW_TEXT_
#undef OPW_LIST
