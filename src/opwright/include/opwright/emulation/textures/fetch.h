/* What kernels call: fetches from textures, reads and writes of surfaces. Addresses and filters are the runtime's
 * (csrc/texture_fetch.cpp), so that no kernel has to compile them.
 */
#ifndef OPWRIGHT_EMULATION_TEXTURES_FETCH_H
#define OPWRIGHT_EMULATION_TEXTURES_FETCH_H

#include "../barrier.h"
#include "texel.h"

namespace opwright {
namespace emulation {

/* What a texture or a surface is addressed by. */
enum class Shape : unsigned char { linear, one, two, three, one_layered, two_layered };

/* One call of a kernel: the function's name, and the author's line. */
struct Fetch {
  const char *name, *file;
  int line;
};

struct Point {
  float x, y, z;
  int layer;
};
struct Spot { int x, y, z; /* x in bytes; z is the layer of what has layers */ };

OPWRIGHT_EMULATION_API Texel fetch_linear(cudaTextureObject_t texture, int x, const Fetch &at);
OPWRIGHT_EMULATION_API Texel fetch(cudaTextureObject_t texture, Shape shape, const Point &point, const Fetch &at);
/* Channel `component` of the four texels that a linear filter would blend. */
OPWRIGHT_EMULATION_API Texel gather(cudaTextureObject_t texture, const Point &point, int component, const Fetch &at);
OPWRIGHT_EMULATION_API void read_surface(void *value, size_t bytes, cudaSurfaceObject_t surface, Shape shape,
                                         const Spot &spot, cudaSurfaceBoundaryMode mode, const Fetch &at);
OPWRIGHT_EMULATION_API void write_surface(const void *value, size_t bytes, cudaSurfaceObject_t surface, Shape shape,
                                          const Spot &spot, cudaSurfaceBoundaryMode mode, const Fetch &at);

template <class T> OPWRIGHT_EMULATION_INLINE T texel_as(const Texel &texel) {
  static_assert(TexelOf<T>::channels > 0,
                "a texture has no values of this type; its types are char, short, int, their unsigned kinds and float, "
                "alone or as vectors of 1, 2 or 4");
  return TexelOf<T>::from(texel);
}
template <class T> constexpr bool fits_surface() {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0,
                "a surface is read and written in values of 1, 2, 4, 8 or 16 bytes");
  return true;
}

}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_UNPACK(...) __VA_ARGS__
#define OPWRIGHT_EMULATION_AT(name) \
  ::opwright::emulation::Fetch { #name, file, line }

/* name<T>(texture, coordinates) and name(&value, texture, coordinates). */
#define OPWRIGHT_EMULATION_FETCHES(name, parameters, names, function, ...)                                         \
  template <class T>                                                                                               \
  OPWRIGHT_EMULATION_INLINE T name(cudaTextureObject_t texture, OPWRIGHT_EMULATION_UNPACK parameters,              \
                                   OPWRIGHT_EMULATION_HERE) {                                                      \
    return ::opwright::emulation::texel_as<T>(                                                                     \
        ::opwright::emulation::function(texture, __VA_ARGS__, OPWRIGHT_EMULATION_AT(name)));                       \
  }                                                                                                                \
  template <class T>                                                                                               \
  OPWRIGHT_EMULATION_INLINE void name(T *value, cudaTextureObject_t texture, OPWRIGHT_EMULATION_UNPACK parameters, \
                                      OPWRIGHT_EMULATION_HERE) {                                                   \
    *value = name<T>(texture, OPWRIGHT_EMULATION_UNPACK names, file, line);                                        \
  }
#define OPWRIGHT_EMULATION_SHAPED(shape, ...) \
  ::opwright::emulation::Shape::shape, ::opwright::emulation::Point { __VA_ARGS__ }
OPWRIGHT_EMULATION_FETCHES(tex1Dfetch, (int x), (x), fetch_linear, x)
OPWRIGHT_EMULATION_FETCHES(tex1D, (float x), (x), fetch, OPWRIGHT_EMULATION_SHAPED(one, x, 0, 0, 0))
OPWRIGHT_EMULATION_FETCHES(tex2D, (float x, float y), (x, y), fetch, OPWRIGHT_EMULATION_SHAPED(two, x, y, 0, 0))
OPWRIGHT_EMULATION_FETCHES(tex3D, (float x, float y, float z), (x, y, z), fetch,
                           OPWRIGHT_EMULATION_SHAPED(three, x, y, z, 0))
OPWRIGHT_EMULATION_FETCHES(tex1DLayered, (float x, int layer), (x, layer), fetch,
                           OPWRIGHT_EMULATION_SHAPED(one_layered, x, 0, 0, layer))
OPWRIGHT_EMULATION_FETCHES(tex2DLayered, (float x, float y, int layer), (x, y, layer), fetch,
                           OPWRIGHT_EMULATION_SHAPED(two_layered, x, y, 0, layer))
OPWRIGHT_EMULATION_FETCHES(tex2Dgather, (float x, float y, int component = 0), (x, y, component), gather,
                           (::opwright::emulation::Point{x, y, 0, 0}), component)
#undef OPWRIGHT_EMULATION_SHAPED
#undef OPWRIGHT_EMULATION_FETCHES

#define OPWRIGHT_EMULATION_SURFACES(name, parameters, names, shape, ...)                                    \
  template <class T>                                                                                        \
  OPWRIGHT_EMULATION_INLINE T name##read(cudaSurfaceObject_t surface, OPWRIGHT_EMULATION_UNPACK parameters, \
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,               \
                                         OPWRIGHT_EMULATION_HERE) {                                         \
    static_assert(::opwright::emulation::fits_surface<T>(), "");                                            \
    T value;                                                                                                \
    ::opwright::emulation::read_surface(&value, sizeof(T), surface, ::opwright::emulation::Shape::shape,    \
                                        ::opwright::emulation::Spot{__VA_ARGS__}, mode,                     \
                                        OPWRIGHT_EMULATION_AT(name##read));                                 \
    return value;                                                                                           \
  }                                                                                                         \
  template <class T>                                                                                        \
  OPWRIGHT_EMULATION_INLINE void name##read(                                                                \
      T *value, cudaSurfaceObject_t surface, OPWRIGHT_EMULATION_UNPACK parameters,                          \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, OPWRIGHT_EMULATION_HERE) {                       \
    *value = name##read<T>(surface, OPWRIGHT_EMULATION_UNPACK names, mode, file, line);                     \
  }                                                                                                         \
  template <class T>                                                                                        \
  OPWRIGHT_EMULATION_INLINE void name##write(                                                               \
      T value, cudaSurfaceObject_t surface, OPWRIGHT_EMULATION_UNPACK parameters,                           \
      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, OPWRIGHT_EMULATION_HERE) {                       \
    static_assert(::opwright::emulation::fits_surface<T>(), "");                                            \
    ::opwright::emulation::write_surface(&value, sizeof(T), surface, ::opwright::emulation::Shape::shape,   \
                                         ::opwright::emulation::Spot{__VA_ARGS__}, mode,                    \
                                         OPWRIGHT_EMULATION_AT(name##write));                               \
  }
OPWRIGHT_EMULATION_SURFACES(surf1D, (int x), (x), one, x, 0, 0)
OPWRIGHT_EMULATION_SURFACES(surf2D, (int x, int y), (x, y), two, x, y, 0)
OPWRIGHT_EMULATION_SURFACES(surf3D, (int x, int y, int z), (x, y, z), three, x, y, z)
OPWRIGHT_EMULATION_SURFACES(surf1DLayered, (int x, int layer), (x, layer), one_layered, x, 0, layer)
OPWRIGHT_EMULATION_SURFACES(surf2DLayered, (int x, int y, int layer), (x, y, layer), two_layered, x, y, layer)
#undef OPWRIGHT_EMULATION_SURFACES
#undef OPWRIGHT_EMULATION_AT
#undef OPWRIGHT_EMULATION_UNPACK

#endif
