/* NVTX marks what a profiler shows: here they do nothing. */
#ifndef OPWRIGHT_EMULATION_NVTOOLSEXT_H
#define OPWRIGHT_EMULATION_NVTOOLSEXT_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum nvtxMessageType_t {
  NVTX_MESSAGE_UNKNOWN = 0,
  NVTX_MESSAGE_TYPE_ASCII = 1,
  NVTX_MESSAGE_TYPE_UNICODE = 2,
  NVTX_MESSAGE_TYPE_REGISTERED = 3
};
enum nvtxPayloadType_t {
  NVTX_PAYLOAD_UNKNOWN = 0,
  NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
  NVTX_PAYLOAD_TYPE_INT64 = 2,
  NVTX_PAYLOAD_TYPE_DOUBLE = 3
};
typedef union {
  const char *ascii;
  const wchar_t *unicode;
  nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
} nvtxEventAttributes_t;

#define OPWRIGHT_NVTX(name, T, ...) \
  inline T name(__VA_ARGS__) { return T(); }
OPWRIGHT_NVTX(nvtxRangePushA, int, const char *)
OPWRIGHT_NVTX(nvtxRangePushW, int, const wchar_t *)
OPWRIGHT_NVTX(nvtxRangePushEx, int, const nvtxEventAttributes_t *)
OPWRIGHT_NVTX(nvtxRangePop, int, void)
OPWRIGHT_NVTX(nvtxRangeStartA, nvtxRangeId_t, const char *)
OPWRIGHT_NVTX(nvtxRangeStartEx, nvtxRangeId_t, const nvtxEventAttributes_t *)
OPWRIGHT_NVTX(nvtxRangeEnd, void, nvtxRangeId_t)
OPWRIGHT_NVTX(nvtxMarkA, void, const char *)
OPWRIGHT_NVTX(nvtxMarkEx, void, const nvtxEventAttributes_t *)
OPWRIGHT_NVTX(nvtxNameOsThreadA, void, uint32_t, const char *)
OPWRIGHT_NVTX(nvtxNameCategoryA, void, uint32_t, const char *)
OPWRIGHT_NVTX(nvtxDomainCreateA, nvtxDomainHandle_t, const char *)
OPWRIGHT_NVTX(nvtxDomainDestroy, void, nvtxDomainHandle_t)
OPWRIGHT_NVTX(nvtxDomainRangePushEx, int, nvtxDomainHandle_t, const nvtxEventAttributes_t *)
OPWRIGHT_NVTX(nvtxDomainRangePop, int, nvtxDomainHandle_t)
OPWRIGHT_NVTX(nvtxDomainMarkEx, void, nvtxDomainHandle_t, const nvtxEventAttributes_t *)
#undef OPWRIGHT_NVTX
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA

#endif
