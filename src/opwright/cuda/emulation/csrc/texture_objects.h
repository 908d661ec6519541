// Textures and surfaces by their numbers, as kernels get them.
#pragma once

#include <opwright/emulation/textures/api.h>
#include <opwright/emulation/textures/fetch.h>

#include <string>

namespace opwright::emulation {

struct Object {
  unsigned long long number = 0;
  bool surface = false;
  Shape shape = Shape::linear;
  char *memory = nullptr;
  size_t pitch = 0, slice = 0, texel = 0;  // bytes
  long long size[3] = {1, 1, 1};           // in texels: width, height, and depth or layers
  cudaChannelFormatDesc desc{};
  int channels = 0;
  bool floats = false;  // a fetch gives floats, converted where they are none
  bool can_gather = true;
  std::string name;  // of what it reads
  cudaResourceDesc resource{};
  cudaTextureDesc how{};
};

// Null where there is none of that number, or it is of the other kind.
const Object *find_object(unsigned long long number, bool surface);

}  // namespace opwright::emulation
