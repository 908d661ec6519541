/* The standard library's header, for the device half; NVRTC knows size_t by itself. */
#ifndef OPWRIGHT_DEVICE_STDDEF_H
#define OPWRIGHT_DEVICE_STDDEF_H
typedef long ptrdiff_t;
#undef NULL
#define NULL 0
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
