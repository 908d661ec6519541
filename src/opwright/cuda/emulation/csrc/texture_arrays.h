// CUDA's arrays: memory in rows and slices, without padding.
#pragma once

#include <opwright/emulation/textures/api.h>

#include <string>

struct cudaArray {
  cudaChannelFormatDesc desc;
  cudaExtent extent;
  unsigned flags;
  char *memory;
  size_t texel;  // bytes
  opwright::emulation::Called called;

  size_t row() const { return extent.width * texel; }
  size_t rows() const { return extent.height ? extent.height : 1; }
  size_t slices() const { return extent.depth ? extent.depth : 1; }
};

namespace opwright::emulation {

// Why no texel is like that, or "".
std::string unfit(const cudaChannelFormatDesc &desc);
int channels_of(const cudaChannelFormatDesc &desc);
size_t texel_bytes(const cudaChannelFormatDesc &desc);

// Why a copy can't be done, or "".
std::string unfit(const cudaMemcpy3DParms *how);

// Whether an array was made, and isn't freed.
bool exists(cudaArray_const_t array);

// "the array of cudaMallocArray at k.cu:7, of 8 x 4 texels of 4 bytes"
std::string described(const cudaArray &array);

}  // namespace opwright::emulation
