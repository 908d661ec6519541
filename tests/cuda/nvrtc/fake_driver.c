/* Stands for libcuda.so.1: notes every call, and fails where it is told to. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

static char notes[1 << 16];
static const char *sizes = "";
static __thread void *current;
static int loaded;

static int note(const char *name, const char *format, ...) {
  char line[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  const size_t length = strlen(notes);
  snprintf(notes + length, sizeof(notes) - length, "%s %s\n", name, line);
  const char *fails = getenv("FAKE_FAILS"); /* "cuLaunchKernel=700" */
  const size_t known = strlen(name);
  return fails && !strncmp(fails, name, known) && fails[known] == '=' ? atoi(fails + known + 1) : 0;
}

SHOWN const char *fake_notes(void) { return notes; }
SHOWN void fake_clear(void) { notes[0] = 0; }
/* The sizes in bytes of the next kernel's parameters, a digit each. */
SHOWN void fake_sizes(const char *given) { sizes = given; }
SHOWN void fake_context(void *context) { current = context; }

SHOWN int cuInit(unsigned flags) { return note("cuInit", "%u", flags); }
SHOWN int cuGetErrorName(int error, const char **name) { return *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "?", 0; }
SHOWN int cuGetErrorString(int error, const char **text) {
  return *text = error == 700 ? "an illegal memory access was encountered" : error == 100 ? "no device" : "some error", 0;
}
SHOWN int cuCtxGetCurrent(void **context) { return *context = current, 0; }
SHOWN int cuCtxSetCurrent(void *context) { return current = context, note("cuCtxSetCurrent", "%p", context); }
SHOWN int cuCtxGetDevice(int *device) { return *device = 0, 0; }
SHOWN int cuDeviceGet(int *device, int number) { return *device = number, 0; }
SHOWN int cuDevicePrimaryCtxRetain(void **context, int device) {
  return *context = (void *)(size_t)(0xc0 + device), note("cuDevicePrimaryCtxRetain", "%d", device);
}
SHOWN int cuDeviceGetAttribute(int *value, int attribute, int device) {
  const int card = atoi(getenv("FAKE_CARD") ? getenv("FAKE_CARD") : "90");
  switch (attribute) {
    case 1: return *value = 1024, 0; /* threads of a block, of a warp, of a multiprocessor */
    case 10: return *value = 32, 0;
    case 39: return *value = 1536, 0;
    case 16: return *value = 132, 0; /* multiprocessors */
    case 75: return *value = card / 10, 0;
    case 76: return *value = card % 10, 0;
    default: return *value = 0;
  }
}
SHOWN int cuThreadExchangeStreamCaptureMode(int *mode) {
  const int before = *mode;
  return *mode = 0, note("cuThreadExchangeStreamCaptureMode", "%d", before);
}
SHOWN int cuModuleLoadData(void **module, const void *image) {
  const unsigned char *bytes = image;
  *module = (void *)(size_t)(0x100 + ++loaded);
  const char *kind = !memcmp(bytes, "\177ELF", 4) ? "cubin" : strstr((const char *)image, ".target") ? "ptx" : "?";
  return note("cuModuleLoadData", "%s", kind);
}
SHOWN int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = (void *)strdup(name);
  return note("cuModuleGetFunction", "%p %s", module, name);
}
SHOWN int cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, void *stream, void **parameters, void **extra) {
  char bytes[512] = "";
  for (int i = 0; sizes[i]; ++i) {
    strcat(bytes, " ");
    for (int b = 0; b < sizes[i] - '0'; ++b)
      sprintf(bytes + strlen(bytes), "%02x", ((unsigned char *)parameters[i])[b]);
  }
  return note("cuLaunchKernel", "%s %u,%u,%u %u,%u,%u %u %p%s%s", function, gx, gy, gz, bx, by, bz, shared, stream, bytes,
              extra ? " extra" : "");
}
SHOWN int cuFuncSetAttribute(const char *function, int attribute, int value) {
  return note("cuFuncSetAttribute", "%s %d %d", function, attribute, value);
}
SHOWN int cuFuncGetAttribute(int *value, int attribute, const char *function) {
  return *value = attribute == 0 ? 1024 : 10 + attribute, 0;
}
SHOWN int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const char *function, int threads, size_t shared) {
  return *blocks = threads > 512 ? 1 : 1536 / threads, 0;
}
SHOWN int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const char *function, int threads,
                                                               size_t shared, unsigned flags) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
SHOWN int cuMemcpyAsync(size_t to, size_t from, size_t bytes, void *stream) {
  return note("cuMemcpyAsync", "%zx %zx %zu %p", to, from, bytes, stream);
}
SHOWN int cuMemsetD8Async(size_t to, unsigned char value, size_t bytes, void *stream) {
  return note("cuMemsetD8Async", "%zx %u %zu %p", to, value, bytes, stream);
}
SHOWN int cuMemAlloc_v2(size_t *memory, size_t bytes) { return *memory = 0xa000, note("cuMemAlloc", "%zu", bytes); }
SHOWN int cuMemFree_v2(size_t memory) { return note("cuMemFree", "%zx", memory); }
SHOWN int cuStreamSynchronize(void *stream) { return note("cuStreamSynchronize", "%p", stream); }
SHOWN int cuEventCreate(void **event, unsigned flags) { return *event = (void *)0xe, note("cuEventCreate", "%u", flags); }
SHOWN int cuEventRecord(void *event, void *stream) { return note("cuEventRecord", "%p %p", event, stream); }
SHOWN int cuEventElapsedTime(float *time, void *a, void *b) { return *time = 1.5f, note("cuEventElapsedTime", "%p %p", a, b); }
