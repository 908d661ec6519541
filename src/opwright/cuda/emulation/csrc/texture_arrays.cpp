// CUDA's arrays: made, freed, described.
#include "texture_arrays.h"

#include <opwright/emulation/forks.h>

#include <set>

namespace opwright {
namespace emulation {
namespace {

Mutex<> mutex;

Lasting<std::set<const cudaArray *>> arrays;

// What the device allows, or "".
std::string too_large(const cudaExtent &extent, bool layered) {
  const bool flat = !extent.height, deep = extent.depth && !layered;
  const cudaDeviceAttr first = deep   ? cudaDevAttrMaxTexture3DWidth
                               : flat ? cudaDevAttrMaxTexture1DWidth
                                      : cudaDevAttrMaxTexture2DWidth;
  const size_t sizes[] = {extent.width, extent.height, extent.depth};
  const char *names[] = {"width", "height", "depth"};
  for (int axis = 0; axis < (deep ? 3 : flat ? 1 : 2); ++axis) {
    int most = 0;
    device_attribute(&most, cudaDeviceAttr(first + axis), 0);
    if (sizes[axis] > size_t(most))
      return std::string("its ") + names[axis] + " is " + std::to_string(sizes[axis]) + ", the most is " +
             std::to_string(most);
  }
  int layers = 0;
  device_attribute(&layers, cudaDevAttrMaxTexture2DLayeredLayers, 0);
  if (layered && extent.depth > size_t(layers))
    return "it has " + std::to_string(extent.depth) + " layers, the most is " + std::to_string(layers);
  return "";
}

}  // namespace

int channels_of(const cudaChannelFormatDesc &desc) { return (desc.x > 0) + (desc.y > 0) + (desc.z > 0) + (desc.w > 0); }
size_t texel_bytes(const cudaChannelFormatDesc &desc) { return size_t(channels_of(desc) * desc.x / 8); }

std::string unfit(const cudaChannelFormatDesc &desc) {
  const int bits[] = {desc.x, desc.y, desc.z, desc.w}, count = channels_of(desc);
  std::string given = "its channels have " + std::to_string(desc.x);
  for (int i = 1; i < 4; ++i) given += (i < 3 ? ", " : " and ") + std::to_string(bits[i]);
  for (int i = 0; i < 4; ++i)
    if (bits[i] != (i < count ? desc.x : 0) || count == 3)
      return given + " bits; a texel has 1, 2 or 4 channels of one size (pad three to four)";
  if (desc.f != cudaChannelFormatKindSigned && desc.f != cudaChannelFormatKindUnsigned &&
      desc.f != cudaChannelFormatKindFloat)
    return "its kind is none of signed, unsigned and float: cudaCreateChannelDesc<T>() has one for char, short, int, "
           "their unsigned kinds and float, alone or as vectors";
  const bool floats = desc.f == cudaChannelFormatKindFloat;
  if (!(desc.x == 8 && !floats) && desc.x != 16 && desc.x != 32)
    return given + " bits; " + (floats ? "floats have 16 or 32" : "whole numbers have 8, 16 or 32");
  return "";
}

bool exists(cudaArray_const_t array) {
  const std::lock_guard lock(mutex);
  return arrays->count(array);
}

std::string described(const cudaArray &array) {
  std::string sizes = std::to_string(array.extent.width);
  if (array.extent.height) sizes += " x " + std::to_string(array.extent.height);
  if (array.extent.depth)
    sizes += (array.flags & cudaArrayLayered ? ", in layers: " : " x ") + std::to_string(array.extent.depth);
  return std::string("the array of ") + array.called.name + " at " + array.called.file + ":" +
         std::to_string(array.called.line) + ", of " + sizes + " texels of " + std::to_string(array.texel) + " bytes";
}

cudaError_t create_array(cudaArray_t *array, const cudaChannelFormatDesc *desc, const cudaExtent &extent,
                         unsigned flags, const Called &called) {
  if (!array || !desc)
    return note(cudaErrorInvalidValue, called,
                array ? "the channel descriptor is null" : "the place for the array is null");
  *array = nullptr;
  const std::string why = unfit(*desc);
  if (!why.empty()) return note(cudaErrorInvalidChannelDescriptor, called, why.c_str());
  if (flags & (cudaArrayCubemap | cudaArraySparse | cudaArrayDeferredMapping)) {
    refuse_call(called, flags & cudaArrayCubemap
                            ? "cubemaps; likely fix: six layers (cudaArrayLayered), and tex2DLayered of the face"
                            : "sparse arrays and deferred mapping; likely fix: an array without these flags");
    return cudaErrorNotSupported;
  }
  const bool layered = flags & cudaArrayLayered;
  if (!extent.width || (layered && !extent.depth) || (!layered && extent.depth && !extent.height))
    return note(cudaErrorInvalidValue, called,
                !extent.width ? "its width is 0"
                : layered     ? "it is layered and has no layers: the extent's depth is 0"
                              : "it has a depth and no height");
  const std::string large = too_large(extent, layered);
  if (!large.empty()) return note(cudaErrorInvalidValue, called, large.c_str());
  auto *made = new cudaArray{*desc, extent, flags, nullptr, texel_bytes(*desc), called};
  void *memory = nullptr;
  const cudaError_t error =
      allocate(&memory, made->row() * made->rows() * made->slices(), cudaMemoryTypeDevice, called);
  if (error != cudaSuccess) {
    delete made;
    return error;
  }
  made->memory = static_cast<char *>(memory);
  const std::lock_guard lock(mutex);
  arrays->insert(made);
  *array = made;
  return cudaSuccess;
}

cudaError_t free_array(cudaArray_t array, const Called &called) {
  if (!array) return cudaSuccess;
  {
    const std::lock_guard lock(mutex);
    if (!arrays->erase(array)) return note(cudaErrorInvalidValue, called, "this is no array, or it was freed before");
  }
  const cudaError_t error = release(array->memory, false, called);
  delete array;
  return error;
}

cudaError_t describe_array(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned *flags, cudaArray_const_t array,
                           const Called &called) {
  if (!exists(array)) return note(cudaErrorInvalidValue, called, "this is no array, or it was freed before");
  if (desc) *desc = array->desc;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return cudaSuccess;
}

}  // namespace emulation
}  // namespace opwright
