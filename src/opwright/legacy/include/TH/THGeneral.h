/* What everything in TH builds on: exported names, errors, memory, and names made of a type's name.
 *
 * Types and functions are those of TH in PyTorch 0.4, so that C written for it compiles unchanged; what they do is done by
 * today's PyTorch. Nothing here needs PyTorch's own headers. */
#ifndef TH_GENERAL_INC
#define TH_GENERAL_INC

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
#define TH_EXTERNC extern "C"
#else
#define TH_EXTERNC extern
#endif

#define TH_API TH_EXTERNC
#define TH_CPP_API

#if defined(__GNUC__)
#define TH_NO_RETURN __attribute__((noreturn))
#define TH_PRINTF_(text, first) __attribute__((format(printf, text, first)))
#define TH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define TH_NO_RETURN
#define TH_PRINTF_(text, first)
#define TH_UNLIKELY(condition) (condition)
#endif
#define __thalign__(bytes) __attribute__((aligned(bytes)))

#ifndef TH_INLINE
#define TH_INLINE inline
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#ifndef TH_INDEX_BASE
#define TH_INDEX_BASE 0
#endif
#define THInf HUGE_VAL
#define THMin(a, b) ((a) < (b) ? (a) : (b))
#define THMax(a, b) ((a) > (b) ? (a) : (b))

/* Python sees each of these as torch.FatalError. They never return: they leave by way of the C code's callers, which is why
 * extensions are compiled with -fexceptions. */
TH_API TH_NO_RETURN void _THError(const char *file, const int line, const char *format, ...) TH_PRINTF_(3, 4);
TH_API TH_NO_RETURN void _THAssertionFailed(const char *file, const int line, const char *expression, const char *format,
                                            ...);
TH_API void _THArgCheck(const char *file, int line, int condition, int argument, const char *format, ...) TH_PRINTF_(5, 6);

/* "<text> at <file>:<line>" */
#define THError(...) _THError(__FILE__, __LINE__, __VA_ARGS__)
/* "invalid argument <argument>: <text> at <file>:<line>" */
#define THArgCheck(condition, argument, ...) \
  (TH_UNLIKELY(!(condition)) ? _THArgCheck(__FILE__, __LINE__, 0, (argument), __VA_ARGS__) : (void)0)
#define THArgCheckWithCleanup(condition, cleanup, argument, ...)                \
  do {                                                                          \
    if (TH_UNLIKELY(!(condition))) {                                            \
      cleanup _THArgCheck(__FILE__, __LINE__, 0, (argument), __VA_ARGS__);      \
    }                                                                           \
  } while (0)
#define THCleanup(...) __VA_ARGS__
/* "Assertion `<condition>' failed. <text> at <file>:<line>" */
#define THAssertMsg(condition, ...) \
  (TH_UNLIKELY(!(condition)) ? _THAssertionFailed(__FILE__, __LINE__, #condition, __VA_ARGS__) : (void)0)
#define THAssert(condition) THAssertMsg(condition, "%s", "")

/* Called before an error is thrown, for one thread or for all that have none of their own. */
typedef void (*THErrorHandlerFunction)(const char *text, void *data);
typedef void (*THArgErrorHandlerFunction)(int argument, const char *text, void *data);
TH_API void THSetErrorHandler(THErrorHandlerFunction handler, void *data);
TH_API void THSetDefaultErrorHandler(THErrorHandlerFunction handler, void *data);
TH_API void THSetArgErrorHandler(THArgErrorHandlerFunction handler, void *data);
TH_API void THSetDefaultArgErrorHandler(THArgErrorHandlerFunction handler, void *data);

/* malloc, which throws instead of returning null where there is no memory, and aligns large blocks. */
TH_API void *THAlloc(ptrdiff_t bytes);
TH_API void *THRealloc(void *memory, ptrdiff_t bytes);
TH_API void THFree(void *memory);
TH_API void THSetGCHandler(void (*handler)(void *data), void *data);
TH_API void THHeapUpdate(ptrdiff_t bytes);

/* How many threads PyTorch works with. */
TH_API int THGetNumThreads(void);
TH_API void THSetNumThreads(int count);
TH_API int THGetNumCores(void);
TH_API void THInferNumThreads(void);

#define TH_CONCAT_STRING_2(a, b) TH_CONCAT_STRING_2_EXPAND(a, b)
#define TH_CONCAT_STRING_2_EXPAND(a, b) #a #b
#define TH_CONCAT_STRING_3(a, b, c) TH_CONCAT_STRING_3_EXPAND(a, b, c)
#define TH_CONCAT_STRING_3_EXPAND(a, b, c) #a #b #c
#define TH_CONCAT_STRING_4(a, b, c, d) TH_CONCAT_STRING_4_EXPAND(a, b, c, d)
#define TH_CONCAT_STRING_4_EXPAND(a, b, c, d) #a #b #c #d
#define TH_CONCAT_2(a, b) TH_CONCAT_2_EXPAND(a, b)
#define TH_CONCAT_2_EXPAND(a, b) a##b
#define TH_CONCAT_3(a, b, c) TH_CONCAT_3_EXPAND(a, b, c)
#define TH_CONCAT_3_EXPAND(a, b, c) a##b##c
#define TH_CONCAT_4(a, b, c, d) TH_CONCAT_4_EXPAND(a, b, c, d)
#define TH_CONCAT_4_EXPAND(a, b, c, d) a##b##c##d
#define TH_CONCAT_5(a, b, c, d, e) TH_CONCAT_5_EXPAND(a, b, c, d, e)
#define TH_CONCAT_5_EXPAND(a, b, c, d, e) a##b##c##d##e

#endif
