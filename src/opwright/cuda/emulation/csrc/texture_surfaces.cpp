// Surfaces: reads and writes of an array by bytes and rows.
#include <algorithm>
#include <cstring>

#include "texture_access.h"

namespace opwright {
namespace emulation {
namespace {

// Where a value of `bytes` bytes lies; null: outside of the array, and the mode says that this is no fault.
char *place(const Object &o, Shape shape, const Spot &spot, size_t bytes, cudaSurfaceBoundaryMode mode,
            const Fetch &at) {
  expect_shape(o, shape, at);
  const long long row = o.size[0] * static_cast<long long>(o.texel), size = static_cast<long long>(bytes);
  long long x = spot.x, y = spot.y, z = spot.z;
  const bool inside = x >= 0 && x + size <= row && y >= 0 && y < o.size[1] && z >= 0 && z < o.size[2];
  if (!inside && mode == cudaBoundaryModeZero) return nullptr;
  if (!inside && mode == cudaBoundaryModeClamp) {
    x = std::clamp(x, 0ll, std::max(0ll, row - size));
    y = std::clamp(y, 0ll, o.size[1] - 1);
    z = std::clamp(z, 0ll, o.size[2] - 1);
  } else if (!inside) {
    wrong(at, "touches " + std::to_string(bytes) + " bytes at byte " + std::to_string(spot.x) + ", row " +
                  std::to_string(spot.y) + (o.size[2] > 1 ? ", slice " + std::to_string(spot.z) : std::string()) +
                  " of " + o.name + ", whose rows have " + std::to_string(row) +
                  " bytes\n  likely fix: x counts bytes, x * sizeof(T); compare the indices with the sizes, or name a "
                  "boundary mode");
  }
  if (x % size)
    wrong(at, "touches " + std::to_string(bytes) + " bytes at byte " + std::to_string(spot.x) +
                  ", which is no multiple of that\n  likely fix: x counts bytes, x * sizeof(T)");
  return o.memory + size_t(x) + size_t(y) * o.pitch + size_t(z) * o.slice;
}

}  // namespace

void read_surface(void *value, size_t bytes, cudaSurfaceObject_t surface, Shape shape, const Spot &spot,
                  cudaSurfaceBoundaryMode mode, const Fetch &at) {
  const char *from = place(object_of(surface, true, at), shape, spot, bytes, mode, at);
  if (!from) {
    std::memset(value, 0, bytes);
    return;
  }
  touch(from, bytes, false, __builtin_return_address(0));
  std::memcpy(value, from, bytes);
}

void write_surface(const void *value, size_t bytes, cudaSurfaceObject_t surface, Shape shape, const Spot &spot,
                   cudaSurfaceBoundaryMode mode, const Fetch &at) {
  char *to = place(object_of(surface, true, at), shape, spot, bytes, mode, at);
  if (!to) return;
  touch(to, bytes, true, __builtin_return_address(0));
  std::memcpy(to, value, bytes);
}

}  // namespace emulation
}  // namespace opwright
