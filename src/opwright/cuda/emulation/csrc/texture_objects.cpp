// Textures and surfaces: made from memory or from an array, found by their numbers while kernels run.
#include "texture_objects.h"

#include <opwright/emulation/forks.h>

#include <atomic>
#include <memory>

#include "allocations.h"
#include "texture_arrays.h"

namespace opwright {
namespace emulation {
namespace {

// A number is a place in the table and how many objects were there before: one that was destroyed isn't found again.
constexpr unsigned place_bits = 16, places = 1u << place_bits;
std::atomic<Object *> table[places];
Mutex<> mutex;
unsigned long long made = 0;
unsigned last = 0;

unsigned place_of(unsigned long long number) { return unsigned(number) & (places - 1); }

cudaError_t enter(unsigned long long *number, std::unique_ptr<Object> object, const Called &called) {
  const std::lock_guard lock(mutex);
  for (unsigned tried = 0; tried < places; ++tried) {
    last = (last + 1) & (places - 1);
    if (table[last].load(std::memory_order_relaxed)) continue;
    *number = object->number = ++made << place_bits | last;
    table[last].store(object.release(), std::memory_order_release);
    return cudaSuccess;
  }
  return note(cudaErrorMemoryAllocation, called, "there are 65536 textures and surfaces already");
}

cudaError_t refused(const Called &called, const char *why) {
  refuse_call(called, why);
  return cudaErrorNotSupported;
}

void set_sizes(Object &object, size_t width, size_t height, size_t depth) {
  const size_t sizes[] = {width, height ? height : 1, depth ? depth : 1};
  for (int axis = 0; axis < 3; ++axis) object.size[axis] = static_cast<long long>(sizes[axis]);
}

cudaError_t of_array(Object &object, const Called &called) {
  const cudaArray *array = object.resource.res.array.array;
  if (!exists(array)) return note(cudaErrorInvalidValue, called, "its array is none, or was freed before");
  const bool layered = array->flags & cudaArrayLayered, flat = !array->extent.height;
  object.shape = layered ? (flat ? Shape::one_layered : Shape::two_layered)
                         : (flat                  ? Shape::one
                            : array->extent.depth ? Shape::three
                                                  : Shape::two);
  object.memory = array->memory;
  object.pitch = array->row();
  object.slice = array->row() * array->rows();
  object.desc = array->desc;
  object.can_gather = array->flags & cudaArrayTextureGather;
  object.name = described(*array);
  set_sizes(object, array->extent.width, array->extent.height, array->extent.depth);
  return cudaSuccess;
}

// `bytes` bytes at `memory`, whose texels are like `desc`.
cudaError_t of_memory(Object &object, void *memory, size_t bytes, const cudaChannelFormatDesc &desc,
                      const Called &called) {
  if (!memory) return note(cudaErrorInvalidValue, called, "its memory is a null pointer");
  int alignment = 1;
  device_attribute(&alignment, cudaDevAttrTextureAlignment, 0);
  if (misaligned(memory, size_t(alignment)))
    return note(cudaErrorInvalidValue, called,
                ("its memory is no multiple of textureAlignment, " + std::to_string(alignment) + " bytes").c_str());
  const std::string why = misfit(memory, bytes, false);
  if (!why.empty()) return note(cudaErrorInvalidValue, called, why.c_str());
  object.memory = static_cast<char *>(memory);
  object.desc = desc;
  return cudaSuccess;
}

cudaError_t of_linear(Object &object, const Called &called) {
  const auto &linear = object.resource.res.linear;
  const std::string why = unfit(linear.desc);
  if (!why.empty()) return note(cudaErrorInvalidChannelDescriptor, called, why.c_str());
  const size_t texels = linear.sizeInBytes / texel_bytes(linear.desc);
  int most = 0;
  device_attribute(&most, cudaDevAttrMaxTexture1DLinearWidth, 0);
  if (!texels || texels > size_t(most))
    return note(cudaErrorInvalidValue, called,
                ("it has " + std::to_string(texels) + " texels; there are 1 to " + std::to_string(most)).c_str());
  object.name = "linear memory of " + std::to_string(texels) + " texels";
  set_sizes(object, texels, 1, 1);
  return of_memory(object, linear.devPtr, texels * texel_bytes(linear.desc), linear.desc, called);
}

cudaError_t of_rows(Object &object, const Called &called) {
  const auto &rows = object.resource.res.pitch2D;
  const std::string why = unfit(rows.desc);
  if (!why.empty()) return note(cudaErrorInvalidChannelDescriptor, called, why.c_str());
  const size_t row = rows.width * texel_bytes(rows.desc);
  int alignment = 1;
  device_attribute(&alignment, cudaDevAttrTexturePitchAlignment, 0);
  if (!row || !rows.height) return note(cudaErrorInvalidValue, called, "its width or its height is 0");
  if (rows.pitchInBytes < row || rows.pitchInBytes % size_t(alignment))
    return note(cudaErrorInvalidValue, called,
                ("its pitch is " + std::to_string(rows.pitchInBytes) + " bytes: expected at least a row, " +
                 std::to_string(row) + ", and a multiple of texturePitchAlignment, " + std::to_string(alignment) +
                 "; cudaMallocPitch gives such a pitch")
                    .c_str());
  object.shape = Shape::two;
  object.pitch = rows.pitchInBytes;
  object.name = "memory of " + std::to_string(rows.width) + " x " + std::to_string(rows.height) + " texels";
  set_sizes(object, rows.width, rows.height, 1);
  return of_memory(object, rows.devPtr, rows.pitchInBytes * (rows.height - 1) + row, rows.desc, called);
}

// Reads the resource; what the texels are follows from that.
cudaError_t describe(Object &object, const Called &called) {
  cudaError_t error = cudaErrorInvalidValue;
  switch (object.resource.resType) {
    case cudaResourceTypeArray: error = of_array(object, called); break;
    case cudaResourceTypeLinear: error = of_linear(object, called); break;
    case cudaResourceTypePitch2D: error = of_rows(object, called); break;
    case cudaResourceTypeMipmappedArray:
      return refused(called, "mipmapped arrays; likely fix: an array of one level, cudaResourceTypeArray");
    default: return note(error, called, "its resource is of no known type");
  }
  if (error != cudaSuccess) return error;
  object.channels = channels_of(object.desc);
  object.texel = texel_bytes(object.desc);
  return cudaSuccess;
}

}  // namespace

const Object *find_object(unsigned long long number, bool surface) {
  const Object *object = table[place_of(number)].load(std::memory_order_acquire);
  return object && object->number == number && object->surface == surface ? object : nullptr;
}

cudaError_t create_texture(cudaTextureObject_t *texture, const cudaResourceDesc *resource, const cudaTextureDesc *how,
                           const cudaResourceViewDesc *view, const Called &called) {
  if (!texture) return note(cudaErrorInvalidValue, called, "the place for the texture is null");
  *texture = 0;
  if (!resource || !how) return note(cudaErrorInvalidValue, called, "a descriptor is null");
  if (view && view->format != cudaResViewFormatNone)
    return refused(called, "views of a resource; likely fix: a texture of the whole array, in its own format");
  if (how->sRGB) return refused(called, "sRGB; likely fix: sRGB = 0, and the conversion in the kernel");
  std::unique_ptr<Object> object(new Object);
  object->resource = *resource;
  object->how = *how;
  const cudaError_t error = describe(*object, called);
  if (error != cudaSuccess) return error;
  object->floats = object->desc.f == cudaChannelFormatKindFloat ||
                   (how->readMode == cudaReadModeNormalizedFloat && object->desc.x < 32);
  const bool filtered = object->shape != Shape::linear && how->filterMode == cudaFilterModeLinear;
  if (filtered && !object->floats)
    return note(cudaErrorInvalidFilterSetting, called,
                "a linear filter needs floats; whole numbers of 8 or 16 bits become floats by "
                "cudaReadModeNormalizedFloat");
  return enter(texture, std::move(object), called);
}

cudaError_t create_surface(cudaSurfaceObject_t *surface, const cudaResourceDesc *resource, const Called &called) {
  if (!surface) return note(cudaErrorInvalidValue, called, "the place for the surface is null");
  *surface = 0;
  if (!resource) return note(cudaErrorInvalidValue, called, "the resource's descriptor is null");
  if (resource->resType != cudaResourceTypeArray)
    return note(cudaErrorInvalidValue, called, "a surface is of an array, cudaResourceTypeArray");
  std::unique_ptr<Object> object(new Object);
  object->surface = true;
  object->resource = *resource;
  const cudaError_t error = describe(*object, called);
  if (error != cudaSuccess) return error;
  if (!(resource->res.array.array->flags & cudaArraySurfaceLoadStore))
    return note(cudaErrorInvalidValue, called, (object->name + ", was made without cudaArraySurfaceLoadStore").c_str());
  return enter(surface, std::move(object), called);
}

cudaError_t destroy_object(unsigned long long number, bool surface, const Called &called) {
  const std::lock_guard lock(mutex);
  if (!find_object(number, surface))
    return note(cudaErrorInvalidValue, called,
                surface ? "there is no such surface, or it was destroyed before"
                        : "there is no such texture, or it was destroyed before");
  delete table[place_of(number)].exchange(nullptr);
  return cudaSuccess;
}

cudaError_t describe_object(cudaResourceDesc *resource, cudaTextureDesc *how, unsigned long long number, bool surface,
                            const Called &called) {
  const Object *object = find_object(number, surface);
  if (!object || (!resource && !how))
    return note(cudaErrorInvalidValue, called, object ? "the place for the answer is null" : "there is no such object");
  if (resource) *resource = object->resource;
  if (how) *how = object->how;
  return cudaSuccess;
}

}  // namespace emulation
}  // namespace opwright
