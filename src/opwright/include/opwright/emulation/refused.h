/* What can't be emulated, so that the compiler says so at the line that uses it. */
#ifndef OPWRIGHT_EMULATION_REFUSED_H
#define OPWRIGHT_EMULATION_REFUSED_H

namespace opwright {
namespace emulation {
template <class...> constexpr bool never = false;
template <int... sizes> struct Cluster {
  static_assert(never<Cluster>,
                "thread block clusters can't be emulated (__cluster_dims__); likely fix: a kernel without them, "
                "#ifdef OPWRIGHT_EMULATION");
  static constexpr int alignment = 16;
};
}  // namespace emulation
}  // namespace opwright

/* An attribute, as it stands before or after __global__. */
#define __cluster_dims__(...) __attribute__((aligned(::opwright::emulation::Cluster<__VA_ARGS__>::alignment)))

#define OPWRIGHT_EMULATION_NO(name, what, fix)                                                                  \
  template <class... T, class... A>                                                                             \
  auto name(A &&...) -> decltype(auto) {                                                                        \
    static_assert(::opwright::emulation::never<A...>, what " can't be emulated (" #name "); likely fix: " fix); \
    return 0;                                                                                                   \
  }
#define OPWRIGHT_EMULATION_NO_LEVELS(name, fix) \
  OPWRIGHT_EMULATION_NO(name##Lod, "mipmaps", fix) OPWRIGHT_EMULATION_NO(name##Grad, "mipmaps", fix)
OPWRIGHT_EMULATION_NO_LEVELS(tex1D, "an array of one level, and tex1D")
OPWRIGHT_EMULATION_NO_LEVELS(tex2D, "an array of one level, and tex2D")
OPWRIGHT_EMULATION_NO_LEVELS(tex3D, "an array of one level, and tex3D")
OPWRIGHT_EMULATION_NO_LEVELS(tex1DLayered, "an array of one level, and tex1DLayered")
OPWRIGHT_EMULATION_NO_LEVELS(tex2DLayered, "an array of one level, and tex2DLayered")
OPWRIGHT_EMULATION_NO(cudaMallocMipmappedArray, "mipmaps", "an array for each level, by cudaMallocArray")
OPWRIGHT_EMULATION_NO(cudaGetMipmappedArrayLevel, "mipmaps", "an array for each level, by cudaMallocArray")
OPWRIGHT_EMULATION_NO(cudaFreeMipmappedArray, "mipmaps", "an array for each level, by cudaMallocArray")
#define OPWRIGHT_EMULATION_NO_CUBEMAP(name) \
  OPWRIGHT_EMULATION_NO(name, "cubemaps", "an array of six layers (cudaArrayLayered), and tex2DLayered of the face")
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemap)
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemapLod)
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemapGrad)
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemapLayered)
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemapLayeredLod)
OPWRIGHT_EMULATION_NO_CUBEMAP(texCubemapLayeredGrad)
OPWRIGHT_EMULATION_NO_CUBEMAP(surfCubemapread)
OPWRIGHT_EMULATION_NO_CUBEMAP(surfCubemapwrite)
OPWRIGHT_EMULATION_NO_CUBEMAP(surfCubemapLayeredread)
OPWRIGHT_EMULATION_NO_CUBEMAP(surfCubemapLayeredwrite)

/* The forms that say whether a texel is there, of arrays of which parts may be missing. */
#define OPWRIGHT_EMULATION_NO_SPARSE(name, ...)                                                     \
  template <class T>                                                                                \
  T name(unsigned long long, __VA_ARGS__, bool *, int = 0) {                                        \
    static_assert(::opwright::emulation::never<T>,                                                  \
                  "sparse arrays can't be emulated (" #name                                         \
                  "); likely fix: an array without cudaArraySparse, and " #name " without bool *"); \
    return T();                                                                                     \
  }                                                                                                 \
  template <class T>                                                                                \
  void name(T *, unsigned long long, __VA_ARGS__, bool *, int = 0) {                                \
    static_assert(::opwright::emulation::never<T>,                                                  \
                  "sparse arrays can't be emulated (" #name                                         \
                  "); likely fix: an array without cudaArraySparse, and " #name " without bool *"); \
  }
OPWRIGHT_EMULATION_NO_SPARSE(tex2D, float, float)
OPWRIGHT_EMULATION_NO_SPARSE(tex3D, float, float, float)
OPWRIGHT_EMULATION_NO_SPARSE(tex2DLayered, float, float, int)
OPWRIGHT_EMULATION_NO_SPARSE(tex2Dgather, float, float)
#undef OPWRIGHT_EMULATION_NO_SPARSE
#undef OPWRIGHT_EMULATION_NO_CUBEMAP
#undef OPWRIGHT_EMULATION_NO_LEVELS
#undef OPWRIGHT_EMULATION_NO

#endif
