// Fetches: coordinates to texels, as the programming guide's appendix on texture fetching has it. x, y and z count texels
// from the texture's corner; texel i covers [i, i + 1).
#include <opwright/elements/half.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "texture_access.h"

namespace opwright {
namespace emulation {
namespace {

// What an axis contributes: one texel, or two with weights. An index of -1 is the border.
struct Picked {
  long long index[2];
  double weight[2];
  int count;
};

constexpr double steps = 256;  // weights have 8 bits after the point

// The coordinate in texels; wrapped and mirrored ones lie in [0, size].
double placed(float given, long long size, cudaTextureAddressMode mode, bool normalized) {
  double x = std::isnan(given) ? 0 : double(given);
  if (!normalized) return x;
  if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror) {
    if (std::isinf(x)) x = 0;
    const double whole = std::floor(x);
    x -= whole;
    if (mode == cudaAddressModeMirror && std::fmod(whole, 2) != 0) x = 1 - x;
  }
  return x * double(size);
}

long long resolved(double index, long long size, cudaTextureAddressMode mode, bool normalized) {
  if (index >= 0 && index < double(size)) return static_cast<long long>(index);
  if (mode == cudaAddressModeBorder) return -1;
  if (mode == cudaAddressModeWrap && normalized) return index < 0 ? size - 1 : 0; /* one step outside */
  return index < 0 ? 0 : size - 1;
}

Picked pick(float given, long long size, cudaTextureAddressMode mode, bool normalized, bool linear) {
  const double x = placed(given, size, mode, normalized);
  if (!linear) return {{resolved(std::floor(x), size, mode, normalized), 0}, {1, 0}, 1};
  const double fixed = std::floor((x - 0.5) * steps + 0.5) / steps, low = std::floor(fixed), weight = fixed - low;
  return {{resolved(low, size, mode, normalized), resolved(low + 1, size, mode, normalized)},
          {1 - weight, weight},
          weight > 0 ? 2 : 1};
}

template <class T>
T loaded(const char *memory) {
  T value;
  std::memcpy(&value, memory, sizeof(T));
  return value;
}

unsigned bits_of(float value) { return loaded<unsigned>(reinterpret_cast<const char *>(&value)); }
float float_of(unsigned bits) { return loaded<float>(reinterpret_cast<const char *>(&bits)); }

// The least whole number and the one above it are both -1.
template <class T>
unsigned decoded(const char *memory, bool floats) {
  const T value = loaded<T>(memory);
  if (!floats) return unsigned(value);
  const float scaled = float(value) / float(static_cast<T>(~T(0)) < 0 ? (1u << (8 * sizeof(T) - 1)) - 1 : T(~T(0)));
  return bits_of(scaled < -1 ? -1.0f : scaled);
}

unsigned channel_at(const Object &o, const char *memory) {
  const bool whole = o.desc.f != cudaChannelFormatKindFloat, with_sign = o.desc.f == cudaChannelFormatKindSigned;
  if (o.desc.x == 32) return loaded<unsigned>(memory);
  if (!whole) return bits_of(::opwright::detail::from_float16(loaded<uint16_t>(memory)));
  if (o.desc.x == 16) return with_sign ? decoded<int16_t>(memory, o.floats) : decoded<uint16_t>(memory, o.floats);
  return with_sign ? decoded<int8_t>(memory, o.floats) : decoded<uint8_t>(memory, o.floats);
}

Texel texel_at(const Object &o, long long x, long long y, long long z, const void *code) {
  Texel texel = {};
  if (x < 0 || y < 0 || z < 0) { /* a border of whole numbers has their bits */
    for (int i = 0; i < o.channels; ++i) texel.channels[i] = bits_of(o.how.borderColor[i]);
    return texel;
  }
  const char *memory = o.memory + size_t(x) * o.texel + size_t(y) * o.pitch + size_t(z) * o.slice;
  touch(memory, o.texel, false, code);
  const size_t channel = size_t(o.desc.x) / 8;
  for (int i = 0; i < o.channels; ++i) texel.channels[i] = channel_at(o, memory + size_t(i) * channel);
  return texel;
}

long long layer_of(const Object &o, int layer) { return layer < 0 ? 0 : layer >= o.size[2] ? o.size[2] - 1 : layer; }

}  // namespace

Texel fetch_linear(cudaTextureObject_t texture, int x, const Fetch &at) {
  const void *code = __builtin_return_address(0);
  const Object &o = object_of(texture, false, at);
  if (o.shape != Shape::linear) expect_shape(o, Shape::linear, at);
  if (x < 0 || x >= o.size[0]) return {};
  return texel_at(o, x, 0, 0, code);
}

Texel fetch(cudaTextureObject_t texture, Shape shape, const Point &point, const Fetch &at) {
  const void *code = __builtin_return_address(0);
  const Object &o = object_of(texture, false, at);
  expect_shape(o, shape, at);
  const bool normalized = o.how.normalizedCoords, linear = o.how.filterMode == cudaFilterModeLinear;
  const float given[] = {point.x, point.y, point.z};
  const int axes = shape == Shape::three ? 3 : shape == Shape::two || shape == Shape::two_layered ? 2 : 1;
  Picked axis[3] = {{{0, 0}, {1, 0}, 1}, {{0, 0}, {1, 0}, 1}, {{0, 0}, {1, 0}, 1}};
  for (int i = 0; i < axes; ++i) axis[i] = pick(given[i], o.size[i], o.how.addressMode[i], normalized, linear);
  if (shape == Shape::one_layered || shape == Shape::two_layered) axis[2].index[0] = layer_of(o, point.layer);
  if (axis[0].count * axis[1].count * axis[2].count == 1)
    return texel_at(o, axis[0].index[0], axis[1].index[0], axis[2].index[0], code);
  double sums[4] = {};
  for (int k = 0; k < axis[2].count; ++k)
    for (int j = 0; j < axis[1].count; ++j)
      for (int i = 0; i < axis[0].count; ++i) {
        const Texel texel = texel_at(o, axis[0].index[i], axis[1].index[j], axis[2].index[k], code);
        const double weight = axis[0].weight[i] * axis[1].weight[j] * axis[2].weight[k];
        for (int c = 0; c < o.channels; ++c) sums[c] += weight * double(float_of(texel.channels[c]));
      }
  Texel result = {};
  for (int c = 0; c < o.channels; ++c) result.channels[c] = bits_of(float(sums[c]));
  return result;
}

// Counterclockwise from the lower left: (x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y).
Texel gather(cudaTextureObject_t texture, const Point &point, int component, const Fetch &at) {
  const void *code = __builtin_return_address(0);
  const Object &o = object_of(texture, false, at);
  expect_shape(o, Shape::two, at);
  if (!o.can_gather)
    wrong(at, "reads " + o.name + ", which was made without cudaArrayTextureGather\n  likely fix: add that flag");
  if (component < 0 || component >= 4)
    wrong(at, "gets component " + std::to_string(component) + "\n  likely fix: 0 to 3, as a number in the source");
  const bool normalized = o.how.normalizedCoords;
  const float given[] = {point.x, point.y};
  long long index[2][2];
  for (int i = 0; i < 2; ++i) {
    const cudaTextureAddressMode mode = o.how.addressMode[i];
    const double low =
        std::floor(std::floor((placed(given[i], o.size[i], mode, normalized) - 0.5) * steps + 0.5) / steps);
    for (int step = 0; step < 2; ++step) index[i][step] = resolved(low + step, o.size[i], mode, normalized);
  }
  constexpr int right[] = {0, 1, 1, 0}, down[] = {1, 1, 0, 0};
  Texel result = {};
  for (int i = 0; i < 4; ++i)
    result.channels[i] = texel_at(o, index[0][right[i]], index[1][down[i]], 0, code).channels[component];
  return result;
}

}  // namespace emulation
}  // namespace opwright
