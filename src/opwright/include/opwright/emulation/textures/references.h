/* texture<> and surface<>, the global objects of CUDA before 12: bound to memory or to an array by the host, and passed by name.
 * Each binding makes an object; what is set in a reference counts from its next binding on.
 */
#ifndef OPWRIGHT_EMULATION_TEXTURES_REFERENCES_H
#define OPWRIGHT_EMULATION_TEXTURES_REFERENCES_H

#include "api.h"
#include "fetch.h"

struct textureReference {
  int normalized = 0;
  cudaTextureFilterMode filterMode = cudaFilterModePoint;
  cudaTextureAddressMode addressMode[3] = {cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp};
  cudaChannelFormatDesc channelDesc = {0, 0, 0, 0, cudaChannelFormatKindNone};
  int sRGB = 0;
  unsigned maxAnisotropy = 0;
  cudaTextureFilterMode mipmapFilterMode = cudaFilterModePoint;
  float mipmapLevelBias = 0, minMipmapLevelClamp = 0, maxMipmapLevelClamp = 0;
  mutable cudaTextureObject_t bound = 0;
};
struct surfaceReference {
  cudaChannelFormatDesc channelDesc = {0, 0, 0, 0, cudaChannelFormatKindNone};
  mutable cudaSurfaceObject_t bound = 0;
};

template <class T, int type = cudaTextureType1D, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture : textureReference {
  explicit texture(int normalized_ = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
                   cudaTextureAddressMode address = cudaAddressModeClamp,
                   cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>()) {
    normalized = normalized_;
    filterMode = filter;
    addressMode[0] = addressMode[1] = addressMode[2] = address;
    channelDesc = desc;
  }
};
template <class T, int type = cudaSurfaceType1D> struct surface : surfaceReference {
  OPWRIGHT_EMULATION_INLINE operator cudaSurfaceObject_t() const { return bound; }
};

namespace opwright {
namespace emulation {

inline cudaError_t bind(const textureReference &reference, cudaTextureReadMode mode, const cudaResourceDesc &resource,
                        const Called &called) {
  cudaTextureDesc how = {};
  for (int axis = 0; axis < 3; ++axis) how.addressMode[axis] = reference.addressMode[axis];
  how.filterMode = reference.filterMode;
  how.readMode = mode;
  how.sRGB = reference.sRGB;
  how.normalizedCoords = reference.normalized;
  const cudaTextureObject_t before = reference.bound;
  const cudaError_t error = create_texture(&reference.bound, &resource, &how, nullptr, called);
  if (before) destroy_object(before, false, called);
  return error;
}

}  // namespace emulation
}  // namespace opwright

/* The offset that a GPU gives for memory that isn't aligned: none is needed here. */
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture(size_t *offset, const texture<T, type, mode> &reference, const void *memory,
                                   const cudaChannelFormatDesc &desc, size_t bytes = 0xffffffffu,
                                   OPWRIGHT_EMULATION_HERE) {
  if (offset) *offset = 0;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void *>(memory);
  resource.res.linear.desc = desc;
  resource.res.linear.sizeInBytes =
      bytes == 0xffffffffu ? ::opwright::emulation::bytes_from(memory, bytes) : bytes; /* all that there is */
  return ::opwright::emulation::bind(reference, mode, resource, {"cudaBindTexture", file, line});
}
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture(size_t *offset, const texture<T, type, mode> &reference, const void *memory,
                                   size_t bytes = 0xffffffffu, OPWRIGHT_EMULATION_HERE) {
  return cudaBindTexture(offset, reference, memory, reference.channelDesc, bytes, file, line);
}
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture2D(size_t *offset, const texture<T, type, mode> &reference, const void *memory,
                                     const cudaChannelFormatDesc &desc, size_t width, size_t height, size_t pitch,
                                     OPWRIGHT_EMULATION_HERE) {
  if (offset) *offset = 0;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = const_cast<void *>(memory);
  resource.res.pitch2D.desc = desc;
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  return ::opwright::emulation::bind(reference, mode, resource, {"cudaBindTexture2D", file, line});
}
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTexture2D(size_t *offset, const texture<T, type, mode> &reference, const void *memory,
                                     size_t width, size_t height, size_t pitch, OPWRIGHT_EMULATION_HERE) {
  return cudaBindTexture2D(offset, reference, memory, reference.channelDesc, width, height, pitch, file, line);
}
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTextureToArray(const texture<T, type, mode> &reference, cudaArray_const_t array,
                                          OPWRIGHT_EMULATION_HERE) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = const_cast<cudaArray_t>(array);
  return ::opwright::emulation::bind(reference, mode, resource, {"cudaBindTextureToArray", file, line});
}
template <class T, int type, cudaTextureReadMode mode>
inline cudaError_t cudaBindTextureToArray(const texture<T, type, mode> &reference, cudaArray_const_t array,
                                          const cudaChannelFormatDesc &, OPWRIGHT_EMULATION_HERE) {
  return cudaBindTextureToArray(reference, array, file, line);
}
inline cudaError_t cudaUnbindTexture(const textureReference &reference, OPWRIGHT_EMULATION_HERE) {
  const cudaTextureObject_t before = reference.bound;
  reference.bound = 0;
  return before ? ::opwright::emulation::destroy_object(before, false, {"cudaUnbindTexture", file, line}) : cudaSuccess;
}
inline cudaError_t cudaGetTextureAlignmentOffset(size_t *offset, const textureReference &) {
  *offset = 0;
  return cudaSuccess;
}
inline cudaError_t cudaBindSurfaceToArray(const surfaceReference &reference, cudaArray_const_t array,
                                          OPWRIGHT_EMULATION_HERE) {
  const ::opwright::emulation::Called called{"cudaBindSurfaceToArray", file, line};
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = const_cast<cudaArray_t>(array);
  const cudaSurfaceObject_t before = reference.bound;
  const cudaError_t error = ::opwright::emulation::create_surface(&reference.bound, &resource, called);
  if (before) ::opwright::emulation::destroy_object(before, true, called);
  return error;
}
inline cudaError_t cudaBindSurfaceToArray(const surfaceReference &reference, cudaArray_const_t array,
                                          const cudaChannelFormatDesc &, OPWRIGHT_EMULATION_HERE) {
  return cudaBindSurfaceToArray(reference, array, file, line);
}

/* name(reference, coordinates). */
#define OPWRIGHT_EMULATION_UNPACK(...) __VA_ARGS__
#define OPWRIGHT_EMULATION_FETCHES(name, axes, parameters, ...)                                                     \
  template <class T, cudaTextureReadMode mode, class As = typename ::opwright::emulation::FetchedAs<T, mode>::type> \
  OPWRIGHT_EMULATION_INLINE As name(const texture<T, axes, mode> &reference, OPWRIGHT_EMULATION_UNPACK parameters,  \
                                    OPWRIGHT_EMULATION_HERE) {                                                      \
    return name<As>(reference.bound, __VA_ARGS__, file, line);                                                      \
  }
OPWRIGHT_EMULATION_FETCHES(tex1Dfetch, cudaTextureType1D, (int x), x)
OPWRIGHT_EMULATION_FETCHES(tex1D, cudaTextureType1D, (float x), x)
OPWRIGHT_EMULATION_FETCHES(tex2D, cudaTextureType2D, (float x, float y), x, y)
OPWRIGHT_EMULATION_FETCHES(tex3D, cudaTextureType3D, (float x, float y, float z), x, y, z)
OPWRIGHT_EMULATION_FETCHES(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), x, layer)
OPWRIGHT_EMULATION_FETCHES(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), x, y, layer)
OPWRIGHT_EMULATION_FETCHES(tex2Dgather, cudaTextureType2D, (float x, float y, int component = 0), x, y, component)
#undef OPWRIGHT_EMULATION_FETCHES
#undef OPWRIGHT_EMULATION_UNPACK

#endif
