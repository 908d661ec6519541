/* CUDA's runtime API for arrays, textures and surfaces. An array's memory is the emulator's own: kernels meet it through
 * textures and surfaces alone.
 */
#ifndef OPWRIGHT_EMULATION_TEXTURES_API_H
#define OPWRIGHT_EMULATION_TEXTURES_API_H

#include "../cuda_api.h"
#include "texel.h"
#include "types.h"

namespace opwright {
namespace emulation {

/* One side of a copy: a box that begins at (x bytes, y, z) of an array, or of memory whose rows begin `pitch` bytes apart and whose
 * slices `rows` rows. */
struct Side {
  cudaArray_const_t array;
  const void *memory;
  size_t pitch, rows, x, y, z;
};

/* The runtime's part (csrc/texture_*.cpp). */
OPWRIGHT_EMULATION_API cudaError_t create_array(cudaArray_t *array, const cudaChannelFormatDesc *desc,
                                                const cudaExtent &extent, unsigned flags, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t free_array(cudaArray_t array, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t describe_array(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned *flags,
                                                  cudaArray_const_t array, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t copy_box(const Side &to, const Side &from, size_t width, size_t height, size_t depth,
                                            cudaMemcpyKind kind, const Called &called);
/* So many bytes, row after row of the array, from byte x of row y on; the other side has no rows. */
OPWRIGHT_EMULATION_API cudaError_t copy_run(cudaArray_const_t array, size_t x, size_t y, const void *memory,
                                            size_t bytes, bool to_array, cudaMemcpyKind kind, const Called &called);
/* The same of two arrays. */
OPWRIGHT_EMULATION_API cudaError_t copy_between(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                                size_t from_x, size_t from_y, size_t bytes, cudaMemcpyKind kind,
                                                const Called &called);
OPWRIGHT_EMULATION_API cudaError_t copy_3d(const cudaMemcpy3DParms *copied, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t fill_3d(const cudaPitchedPtr &memory, int value, const cudaExtent &extent,
                                           const Called &called);
OPWRIGHT_EMULATION_API cudaError_t create_texture(cudaTextureObject_t *texture, const cudaResourceDesc *resource,
                                                  const cudaTextureDesc *how, const cudaResourceViewDesc *view,
                                                  const Called &called);
OPWRIGHT_EMULATION_API cudaError_t create_surface(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource,
                                                  const Called &called);
OPWRIGHT_EMULATION_API cudaError_t destroy_object(unsigned long long object, bool surface, const Called &called);
OPWRIGHT_EMULATION_API cudaError_t describe_object(cudaResourceDesc *resource, cudaTextureDesc *how,
                                                   unsigned long long object, bool surface, const Called &called);

}  // namespace emulation
}  // namespace opwright

/* Arrays. */
inline cudaError_t cudaMallocArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, size_t width,
                                   size_t height = 0, unsigned flags = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::create_array(array, desc, {width, height, 0}, flags, {"cudaMallocArray", file, line});
}
inline cudaError_t cudaMalloc3DArray(cudaArray_t *array, const cudaChannelFormatDesc *desc, cudaExtent extent,
                                     unsigned flags = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::create_array(array, desc, extent, flags, {"cudaMalloc3DArray", file, line});
}
inline cudaError_t cudaFreeArray(cudaArray_t array, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::free_array(array, {"cudaFreeArray", file, line});
}
inline cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *desc, cudaExtent *extent, unsigned *flags, cudaArray_t array,
                                    OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::describe_array(desc, extent, flags, array, {"cudaArrayGetInfo", file, line});
}
inline cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *desc, cudaArray_const_t array, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::describe_array(desc, nullptr, nullptr, array, {"cudaGetChannelDesc", file, line});
}
inline cudaError_t cudaMalloc3D(cudaPitchedPtr *made, cudaExtent extent, OPWRIGHT_EMULATION_HERE) {
  *made = {nullptr, ::opwright::emulation::row_pitch(extent.width), extent.width, extent.height};
  return ::opwright::emulation::allocate(&made->ptr, made->pitch * extent.height * extent.depth, cudaMemoryTypeDevice,
                                         {"cudaMalloc3D", file, line});
}

/* Copies. What CUDA calls an offset in width counts bytes. */
inline cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                     cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_run(to, x, y, from, bytes, true, kind, {"cudaMemcpyToArray", file, line});
}
inline cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_run(to, x, y, from, bytes, true, kind,
                                         {"cudaMemcpyToArrayAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                       cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_run(from, x, y, to, bytes, false, kind, {"cudaMemcpyFromArray", file, line});
}
inline cudaError_t cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                            cudaMemcpyKind kind, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_run(from, x, y, to, bytes, false, kind,
                                         {"cudaMemcpyFromArrayAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_box({to, nullptr, 0, 0, x, y, 0}, {nullptr, from, pitch, height, 0, 0, 0}, width,
                                         height, 1, kind, {"cudaMemcpy2DToArray", file, line});
}
inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                                            OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_box({to, nullptr, 0, 0, x, y, 0}, {nullptr, from, pitch, height, 0, 0, 0}, width,
                                         height, 1, kind, {"cudaMemcpy2DToArrayAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                         size_t width, size_t height, cudaMemcpyKind kind, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_box({nullptr, to, pitch, height, 0, 0, 0}, {from, nullptr, 0, 0, x, y, 0}, width,
                                         height, 1, kind, {"cudaMemcpy2DFromArray", file, line});
}
inline cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                                              OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_box({nullptr, to, pitch, height, 0, 0, 0}, {from, nullptr, 0, 0, x, y, 0}, width,
                                         height, 1, kind, {"cudaMemcpy2DFromArrayAsync", file, line, stream, true});
}
inline cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                          size_t from_x, size_t from_y, size_t bytes,
                                          cudaMemcpyKind kind = cudaMemcpyDeviceToDevice, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_between(to, to_x, to_y, from, from_x, from_y, bytes, kind,
                                             {"cudaMemcpyArrayToArray", file, line});
}
inline cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                            size_t from_x, size_t from_y, size_t width, size_t height,
                                            cudaMemcpyKind kind = cudaMemcpyDeviceToDevice, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_box({to, nullptr, 0, 0, to_x, to_y, 0}, {from, nullptr, 0, 0, from_x, from_y, 0},
                                         width, height, 1, kind, {"cudaMemcpy2DArrayToArray", file, line});
}
inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *copied, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_3d(copied, {"cudaMemcpy3D", file, line});
}
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *copied, cudaStream_t stream = 0,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::copy_3d(copied, {"cudaMemcpy3DAsync", file, line, stream, true});
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr memory, int value, cudaExtent extent, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_3d(memory, value, extent, {"cudaMemset3D", file, line});
}
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr memory, int value, cudaExtent extent, cudaStream_t stream = 0,
                                     OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::fill_3d(memory, value, extent, {"cudaMemset3DAsync", file, line, stream, true});
}

/* Objects. */
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const cudaResourceDesc *resource,
                                           const cudaTextureDesc *how, const cudaResourceViewDesc *view,
                                           OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::create_texture(texture, resource, how, view, {"cudaCreateTextureObject", file, line});
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::destroy_object(texture, false, {"cudaDestroyTextureObject", file, line});
}
inline cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *resource, cudaTextureObject_t texture,
                                                    OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::describe_object(resource, nullptr, texture, false,
                                                {"cudaGetTextureObjectResourceDesc", file, line});
}
inline cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *how, cudaTextureObject_t texture,
                                                   OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::describe_object(nullptr, how, texture, false,
                                                {"cudaGetTextureObjectTextureDesc", file, line});
}
inline cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource,
                                           OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::create_surface(surface, resource, {"cudaCreateSurfaceObject", file, line});
}
inline cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::destroy_object(surface, true, {"cudaDestroySurfaceObject", file, line});
}
inline cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *resource, cudaSurfaceObject_t surface,
                                                    OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::describe_object(resource, nullptr, surface, true,
                                                {"cudaGetSurfaceObjectResourceDesc", file, line});
}

#endif
