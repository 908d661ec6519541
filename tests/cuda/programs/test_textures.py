"""Textures, arrays and surfaces in whole programs: what holds, and what is refused, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cuda.programs.conftest import Command

SOURCES = Path(__file__).parents[1] / "emulation" / "textures"
CHECKED = [False, pytest.param(True, marks=pytest.mark.slow)]


@pytest.mark.parametrize("check", CHECKED, ids=["plain", "checked"])
@pytest.mark.parametrize("name", ["arrays", "references"])
def test_every_line_holds(command: Command, name: str, check: bool) -> None:
    status, out, err = command("emulate", *["--check"] * check, str(SOURCES / f"{name}.cu"))
    assert (status, out) == (0, "all holds\n"), err


REFUSED = """
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void fetched(cudaTextureObject_t texture) { tex3D<float>(texture, 1, 1, 1); }
__host__ __device__ float anywhere(cudaTextureObject_t texture) { return tex1D<float>(texture, 1); }
int main(int argc, char **argv) {
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource = {};
  cudaTextureDesc how = {};
  cudaResourceViewDesc view = {};
  cudaTextureObject_t texture = 0;
  cudaArray_t array;
  char *memory;
  cudaMalloc(&memory, 4096);
  cudaMallocArray(&array, &desc, 8, 8);
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaResourceDesc rows = {};
  rows.resType = cudaResourceTypePitch2D;
  rows.res.pitch2D = {memory, desc, 8, 8, 64};
  cudaResourceDesc line = {};
  line.resType = cudaResourceTypeLinear;
  line.res.linear = {memory, desc, 4096};
  cudaError_t error = cudaSuccess;
  switch (atoi(argv[1])) {
    case 0: how.sRGB = 1; break;
    case 1: resource.resType = cudaResourceTypeMipmappedArray; break;
    case 2: view.format = cudaResourceViewFormat(1); break;
    case 3: error = cudaMalloc3DArray(&array, &desc, make_cudaExtent(8, 8, 6), cudaArrayCubemap); break;
    case 4: rows.res.pitch2D.pitchInBytes = 40, resource = rows; break;
    case 5: rows.res.pitch2D.height = 65, resource = rows; break;
    case 6: line.res.linear.devPtr = memory + 4, resource = line; break;
    case 7: cudaFreeArray(array); break;
    case 8: error = cudaCreateSurfaceObject(&texture, &resource); break;
    case 9: cudaCreateTextureObject(&texture, &resource, &how, nullptr); fetched<<<1, 1>>>(texture); break;
    case 10: fetched<<<1, 1>>>(0); break;
    case 11: anywhere(0); break;
    case 12: error = cudaDestroyTextureObject(77); break;
    case 13: error = cudaCreateTextureObject(nullptr, &resource, &how, nullptr); break;
  }
  if (error == cudaSuccess) error = cudaCreateTextureObject(&texture, &resource, &how, &view);
  printf("%s\\n", cudaGetErrorName(error));
}
"""
WARNING = "opwright: warning: "


def line(text: str) -> int:
    """The number of the line that begins with `text`."""
    return 1 + next(i for i, each in enumerate(REFUSED.splitlines()) if each.strip().startswith(text))


INVALID, UNSUPPORTED = "cudaErrorInvalidValue", "cudaErrorNotSupported"


def test_what_is_refused(command: Command, files: Callable[..., None], tmp_path: Path) -> None:
    files(**{"textures_refused.cu": REFUSED})
    assert command("nvcc", "textures_refused.cu", "-o", "refused").status == 0
    file = f"{tmp_path}/textures_refused.cu"
    place = f"{file}:{line('if (error == cudaSuccess)')}: cudaCreateTextureObject"
    array = f"the array of cudaMallocArray at {file}:{line('cudaMallocArray')}, of 8 x 8 texels of 4 bytes"
    fetch, host = f"{file}:{line('__global__')}: tex3D()", f"[{file}:{line('__host__')}]"
    refused = f"{place} can't be emulated"
    cube = f"{file}:{line('case 3')}: cudaMalloc3DArray can't be emulated"
    for number, status, out, err in (
        (0, 0, UNSUPPORTED, f"{WARNING}{refused}: sRGB; likely fix: sRGB = 0"),
        (1, 0, UNSUPPORTED, f"{refused}: mipmapped arrays; likely fix: an array of one level"),
        (2, 0, UNSUPPORTED, f"{refused}: views of a resource; likely fix: a texture of the whole array"),
        (3, 0, UNSUPPORTED, f"{cube}: cubemaps; likely fix: six layers"),
        (4, 0, INVALID, ""),
        (5, 0, INVALID, ""),
        (6, 0, INVALID, ""),
        (7, 0, INVALID, ""),
        (8, 0, INVALID, ""),
        (9, 70, "", f"error: {fetch} doesn't read {array}\n  likely fix: tex2D\n  in fetched"),
        (10, 70, "", f"error: {fetch} gets 0, which is no texture, or one that was destroyed\n  likely fix: "),
        (11, 70, "", f"tex1D outside of a kernel, in host code {host}"),
        (12, 0, INVALID, ""),
        (13, 0, INVALID, ""),
    ):
        ended = command(str(number), program=(str(tmp_path / "refused"),))
        assert ended.status == status, ended
        assert ended.out == (f"{out}\n" if out else ""), ended
        assert err in ended.err, ended.err


@pytest.mark.slow
def test_the_checker_says_why_a_call_fails(command: Command, files: Callable[..., None], tmp_path: Path) -> None:
    files(**{"textures_why.cu": REFUSED})
    assert command("nvcc", "--check", "textures_why.cu", "-o", "why").status == 0
    file = f"{tmp_path}/textures_why.cu"
    memory = f"the memory of cudaMalloc at {file}:{line('cudaMalloc(')}"
    for number, why in (
        (4, "its pitch is 40 bytes: expected at least a row, 32, and a multiple of texturePitchAlignment, 32; "),
        (5, f"it reads 4128 bytes at byte 0 of {memory}, which has 4096"),
        (6, "its memory is no multiple of textureAlignment, 512 bytes"),
        (7, "its array is none, or was freed before"),
        (8, "of 8 x 8 texels of 4 bytes, was made without cudaArraySurfaceLoadStore"),
        (12, "there is no such texture, or it was destroyed before"),
        (13, "the place for the texture is null"),
    ):
        ended = command(str(number), program=(str(tmp_path / "why"),))
        assert why in ended.err, ended
