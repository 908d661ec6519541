/* What can't be emulated, so that the compiler says so at the line that uses it. */
#ifndef OPWRIGHT_EMULATION_REFUSED_H
#define OPWRIGHT_EMULATION_REFUSED_H

namespace opwright {
namespace emulation {
template <class...> constexpr bool never = false;
}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_EMULATION_NO_TEXTURE(name)                                                               \
  template <class... T, class... A>                                                                       \
  auto name(A &&...) -> decltype(auto) {                                                                  \
    static_assert(::opwright::emulation::never<A...>, "textures and surfaces can't be emulated (" #name   \
                                                      "); read the array through a pointer, with __ldg"); \
    return 0;                                                                                             \
  }
OPWRIGHT_EMULATION_NO_TEXTURE(tex1D)
OPWRIGHT_EMULATION_NO_TEXTURE(tex1Dfetch)
OPWRIGHT_EMULATION_NO_TEXTURE(tex1DLayered)
OPWRIGHT_EMULATION_NO_TEXTURE(tex1DLod)
OPWRIGHT_EMULATION_NO_TEXTURE(tex2D)
OPWRIGHT_EMULATION_NO_TEXTURE(tex2DLayered)
OPWRIGHT_EMULATION_NO_TEXTURE(tex2DLod)
OPWRIGHT_EMULATION_NO_TEXTURE(tex2Dgather)
OPWRIGHT_EMULATION_NO_TEXTURE(tex3D)
OPWRIGHT_EMULATION_NO_TEXTURE(tex3DLod)
OPWRIGHT_EMULATION_NO_TEXTURE(texCubemap)
OPWRIGHT_EMULATION_NO_TEXTURE(surf1Dread)
OPWRIGHT_EMULATION_NO_TEXTURE(surf1Dwrite)
OPWRIGHT_EMULATION_NO_TEXTURE(surf2Dread)
OPWRIGHT_EMULATION_NO_TEXTURE(surf2Dwrite)
OPWRIGHT_EMULATION_NO_TEXTURE(surf3Dread)
OPWRIGHT_EMULATION_NO_TEXTURE(surf3Dwrite)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaCreateTextureObject)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaDestroyTextureObject)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaCreateSurfaceObject)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaDestroySurfaceObject)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaBindTexture)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaBindTexture2D)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaBindTextureToArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaUnbindTexture)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaMallocArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaMalloc3DArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaFreeArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaMemcpyToArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaMemcpy2DToArray)
OPWRIGHT_EMULATION_NO_TEXTURE(cudaCreateChannelDesc)
#undef OPWRIGHT_EMULATION_NO_TEXTURE

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;
template <class T, int dimensions = 1, int mode = 0>
struct texture {
  static_assert(::opwright::emulation::never<T>,
                "textures can't be emulated; read the array through a pointer, with __ldg");
};
template <class T, int dimensions = 1>
struct surface {
  static_assert(::opwright::emulation::never<T>, "surfaces can't be emulated; read the array through a pointer");
};

#endif
