/* The device half, as it lies in the library. */
#ifndef OPWRIGHT_NVRTC_IMAGES_H
#define OPWRIGHT_NVRTC_IMAGES_H

#include <stddef.h>

namespace opwright {
namespace nvrtc {

/* What the host half calls a kernel, and what it is called in the image. */
struct Name { const char *key, *lowered; };

struct Image {
  const char *architecture; /* "sm_90", "sm_90a", "compute_120" */
  int number;               /* 90 */
  bool is_ptx;              /* the driver compiles it, for any newer card */
  bool exact;               /* it is for this architecture alone, as sm_90a is */
  const unsigned char *data;
  const Name *names;
  size_t count;
};

extern const Image images[];
extern const size_t image_count;

}  // namespace nvrtc
}  // namespace opwright
#endif
