"""THC without a GPU: what it says then; and whole extensions, whose C runs on the CPU's memory."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from opwright.legacy import calls
from opwright.legacy.th_library import CSRC as LIBRARY
from tests.legacy.conftest import CSRC
from tests.legacy.extensions import Extension, FatalError, extension
from tests.legacy.th import Held, THError
from tests.legacy.thc import THC, on_the_cpu, thc

pytestmark = pytest.mark.native
without_cuda = pytest.mark.skipif(torch.version.cuda is not None, reason="this PyTorch has CUDA")
_LAUNCH = r"""
int pooling_launch(const float *features, float scale, int count, int channels, int height, int width, int rows,
                   int columns, const float *boxes, float *output, int *places, cudaStream_t stream) {
  for (int i = 0; i < count * channels * rows * columns; ++i) output[i] = scale * (float)i;
  return stream == NULL && features && boxes && places && height && width;
}
"""


@pytest.fixture(scope="module")
def pooling() -> Extension:
    """An extension as they were in 2017, its kernel's place taken by C."""
    text = (CSRC / "pooling.c").read_text() + _LAUNCH
    return extension((CSRC / "pooling.h").read_text(), text, include_dirs=(CSRC,))


@without_cuda
def test_cpu_tensors_are_refused(pooling: Extension) -> None:
    x = torch.ones(2, 2)
    wanted = "ctype 'struct THCudaTensor *' must be a pointer to same type, not cdata 'struct THFloatTensor *'"
    with pytest.raises(TypeError, match=re.escape(wanted)):
        pooling.scaled_add(x, x, 2.0, x)
    with pytest.raises(TypeError, match=r"THCudaDoubleTensor \*'.*'struct THDoubleTensor \*'"):
        pooling.total(x.double())


@without_cuda
def test_without_cuda_everything_says_so(pooling: Extension) -> None:
    text = (
        "THCState_getCurrentStream() needs a GPU: this PyTorch was built without CUDA\n"
        "  likely fix: call the extension's CPU function, or install a CUDA build of PyTorch (https://pytorch.org/get-started)"
    )
    with pytest.raises(FatalError) as caught:
        pooling.stream()
    assert str(caught.value) == text
    with pytest.raises(FatalError, match=re.escape("THCudaMalloc() needs a GPU")):
        pooling.later_form()


QUIET = {"THCudaFree", "THCRandom_shutdown"}  # there is nothing to do


@pytest.mark.slow
@without_cuda
def test_each_function_says_so() -> None:
    lib = thc()
    checked = 0
    for name, kind in lib._types.items():
        if not name.startswith("THC") or kind.ellipsis or kind.result.kind == "struct" or name in QUIET:
            continue
        if any(each.kind == "struct" for each in kind.args):
            continue
        arguments = [None if each.kind == "pointer" else b"n" if each.cname == "char" else 0 for each in kind.args[1:]]
        with pytest.raises(THError) as caught:
            lib.call(name, *arguments)
        generic = re.sub(r"THCuda(Half|Long|Int|Byte)?(Tensor|Storage)", r"THCuda*\2", name)
        expected = {name, generic, name.replace("Allocate_", "Malloc")}
        assert str(caught.value).partition("() needs a GPU: this PyTorch was built without CUDA\n")[0] in expected
        checked += 1
    assert checked > 1000


def test_status_codes(pooling: Extension) -> None:
    pooling.broken(0)
    with pytest.raises(FatalError, match=r"^cuda runtime error \(2\).* at .*:\d+$"):
        pooling.broken(2)


@pytest.fixture
def cpu() -> Iterator[None]:
    """THC on the CPU's memory."""
    with on_the_cpu():
        yield


@pytest.mark.usefixtures("cpu")
def test_an_extension(pooling: Extension) -> None:
    features, boxes = torch.rand(3, 8, 9), torch.tensor([[0.0, 0, 4, 4], [1, 1, 7, 7]])
    output, places = torch.empty(0), torch.empty(0, dtype=torch.int32)
    assert pooling.pooling_forward(2, 3, 0.5, features, boxes, output, places) == 1
    assert output.shape == places.shape == (2, 3, 2, 3)
    assert torch.equal(output.flatten(), 0.5 * torch.arange(36))
    assert (places == -1).all()
    assert pooling.pooling_forward(2, 3, 0.5, features, boxes[:, :3], output, places) == 0


@pytest.mark.usefixtures("cpu")
def test_arithmetic_of_an_extension(pooling: Extension) -> None:
    a, b, output = torch.rand(4, 3).t(), torch.rand(3, 4), torch.empty(0)
    assert pooling.scaled_add(a, b, 2.5, output) == 1
    torch.testing.assert_close(output, a + 2.5 * b)
    assert pooling.scaled_add(a, b, 1.0, a) == 1
    assert pooling.total(torch.arange(5.0, dtype=torch.float64)) == 10
    assert pooling.on_one_gpu(a, torch.ones(2, dtype=torch.int64)) == 1
    assert pooling.later_form() == 1
    with pytest.raises(FatalError, match="invalid argument 2: sizes differ at "):
        pooling.scaled_add(a, b[:2], 1.0, output)
    with pytest.raises(TypeError, match="must be a pointer to same type"):
        pooling.scaled_add(a, b.double(), 1.0, output)


@pytest.mark.usefixtures("cpu")
def test_a_tensor_that_c_returns(pooling: Extension, monkeypatch: pytest.MonkeyPatch) -> None:
    elements = tuple(each._replace(device="cpu") for each in calls.ELEMENTS)
    monkeypatch.setattr(calls, "ELEMENTS", elements)
    x = torch.rand(3, 2)
    assert torch.equal(pooling.doubled(x.t()), 2 * x.t())


@pytest.fixture
def lib(cpu: None) -> THC:
    """THC's functions by TH's names."""
    return thc()


def _matrix(value: torch.Tensor, ld: int) -> torch.Tensor:
    """`value` as BLAS has it: column by column, each `ld` after the last."""
    room = torch.zeros(value.shape[1], ld, dtype=value.dtype)
    room[:, : value.shape[0]] = value.t()
    return room


@pytest.mark.parametrize("letter", ["S", "D"])
@pytest.mark.parametrize(("transa", "transb"), [(b"n", b"n"), (b"t", b"n"), (b"n", b"t"), (b"c", b"T")])
def test_matrix_products(letter: str, transa: bytes, transb: bytes, lib: THC) -> None:
    dtype = torch.float32 if letter == "S" else torch.float64
    m, n, k = 3, 4, 5
    a, b, c = (torch.randn(shape, dtype=dtype) for shape in ((m, k), (k, n), (m, n)))
    given_a, given_b = a if transa == b"n" else a.t(), b if transb == b"n" else b.t()
    ma, mb, mc = _matrix(given_a, 7), _matrix(given_b, 8), _matrix(c, 6)
    pa, pb, pc = (lib.ffi.cast("void *", each.data_ptr()) for each in (ma, mb, mc))
    lib.call(f"THCudaBlas_{letter}gemm", transa, transb, m, n, k, 1.5, pa, 7, pb, 8, 0.5, pc, 6)
    torch.testing.assert_close(mc[:, :m].t(), 1.5 * a @ b + 0.5 * c)
    assert (mc[:, m:] == 0).all()


@pytest.mark.parametrize("letter", ["S", "D"])
def test_batches_of_matrix_products(letter: str, lib: THC) -> None:
    dtype = torch.float32 if letter == "S" else torch.float64
    a, b, c = (torch.randn(shape, dtype=dtype) for shape in ((2, 3, 4), (2, 5, 3), (2, 5, 4)))  # columns first
    expected = b @ a
    pa, pb, pc = (lib.ffi.cast("void *", each.data_ptr()) for each in (a, b, c))
    sizes = (b"n", b"n", 4, 5, 3)
    lib.call(f"THCudaBlas_{letter}gemmStridedBatched", *sizes, 1.0, pa, 4, 12, pb, 3, 15, 0.0, pc, 4, 20, 2)
    torch.testing.assert_close(c, expected)
    c.fill_(1)
    places = [[lib.ffi.cast("void *", row.data_ptr()) for row in each] for each in (a, b, c)]
    pa, pb, pc = (lib.ffi.new("void *[]", each) for each in places)
    lib.call(f"THCudaBlas_{letter}gemmBatched", *sizes, 1.0, pa, 4, pb, 3, 2.0, pc, 4, 2)
    torch.testing.assert_close(c, expected + 2)


@pytest.mark.parametrize("letter", ["S", "D"])
def test_vectors(letter: str, lib: THC) -> None:
    dtype = torch.float32 if letter == "S" else torch.float64
    a, x, y = torch.randn(3, 4, dtype=dtype), torch.randn(8, dtype=dtype), torch.randn(3, dtype=dtype)
    ma = _matrix(a, 5)
    before = y.clone()
    pa, px, py = (lib.ffi.cast("void *", each.data_ptr()) for each in (ma, x, y))
    lib.call(f"THCudaBlas_{letter}gemv", b"n", 3, 4, 2.0, pa, 5, px, 2, 0.5, py, 1)
    torch.testing.assert_close(y, 2 * a @ x[::2] + 0.5 * before)
    assert lib.call(f"THCudaBlas_{letter}dot", 3, px, 2, py, -1) == pytest.approx(float(x[:6:2] @ y.flip(0)), rel=1e-5)
    lib.call(f"THCudaBlas_{letter}ger", 3, 4, 1.5, py, 1, px, 2, pa, 5)
    torch.testing.assert_close(ma[:, :3].t(), a + 1.5 * torch.outer(y, x[::2]))
    expected = y + 3 * x[:3]
    lib.call(f"THCudaBlas_{letter}axpy", 3, 3.0, px, 1, py, 1)
    torch.testing.assert_close(y, expected)
    lib.call(f"THCudaBlas_{letter}scal", 2, 4.0, py, 2)
    torch.testing.assert_close(y, expected * torch.tensor([4, 1, 4], dtype=dtype))
    lib.call(f"THCudaBlas_{letter}copy", 3, py, 1, px, 2)
    assert torch.equal(x[:6:2], y)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((b"x", b"n", 1, 1, 1, 1, 1, 1), "invalid argument 2: expected 'n', 't' or 'c', got 'x'"),
        ((b"n", b"n", -1, 1, 1, 1, 1, 1), "invalid argument 4: expected at least 0, got -1"),
        ((b"n", b"n", 3, 2, 2, 2, 2, 3), "invalid argument 9: the leading dimension is 2"),
        ((b"n", b"n", 3, 2, 2, 3, 2, 1), "invalid argument 14: the leading dimension is 1"),
    ],
)
def test_wrong_arguments_of_blas(arguments: tuple[object, ...], text: str, lib: THC) -> None:
    *sizes, lda, ldb, ldc = arguments
    with pytest.raises(THError, match=re.escape(text)):
        lib.call("THCudaBlas_Sgemm", *sizes, 0.0, None, lda, None, ldb, 0.0, None, ldc)


def test_memory(lib: THC) -> None:
    place = lib.ffi.new("void *[1]")
    assert lib.call("THCudaMalloc", place, 100) == 0
    lib.ffi.memmove(place[0], b"x" * 100, 100)
    storage = lib.call("THFloatStorage_newWithData", lib.ffi.cast("float *", place[0]), 25)
    assert storage.size == 25
    assert lib.call("THFloatStorage_getDevice", storage) == -1
    lib.call("THFloatStorage_resize", storage, 50)
    assert lib.ffi.buffer(storage.data, 100)[:] == b"x" * 100
    lib.call("THFloatStorage_free", storage)
    assert lib.call("THCudaFree", None) == 0
    with pytest.raises(THError, match="memory"):
        lib.call("THCudaAllocate_", (1 << 63) - 1)
    with pytest.raises(THError, match="a storage can't have -1 elements"):
        lib.call("THFloatStorage_newWithSize", -1)


def test_storages_do_not_leak(lib: THC) -> None:
    from opwright.legacy.th_library import load_library

    before = load_library().alive()
    for _ in range(3):
        held = Held(lib, torch.rand(3, 4))
        lib.call("THFloatTensor_resize2d", held, 5, 6)
        with pytest.raises(THError):
            lib.call("THFloatTensor_select", held, None, 7, 0)
        del held
    assert load_library().alive() == before


SYMBOLS = {
    "_ZN2at4cuda26getCurrentDevicePropertiesEv": "at::cuda::getCurrentDeviceProperties()",
    "_ZN2at4cuda19getDevicePropertiesEa": "at::cuda::getDeviceProperties(signed char)",
    "_ZN2at4cuda24getCurrentCUDABlasHandleEb": "at::cuda::getCurrentCUDABlasHandle(bool)",
    "_ZN2at4cuda24getCurrentCUDABlasHandleEv": "at::cuda::getCurrentCUDABlasHandle()",
    "_ZN2at4cuda26getCurrentCUDASparseHandleEv": "at::cuda::getCurrentCUDASparseHandle()",
}


def test_what_is_looked_up_in_pytorchs_libraries() -> None:
    """PyTorch's headers declare them, so that a CUDA build exports them by these names."""
    text = "".join(path.read_text() for path in LIBRARY.glob("thc_*.cpp"))
    assert set(re.findall(r'"(_Z\w+)"', text)) == set(SYMBOLS)
    done = subprocess.run([shutil.which("c++filt") or "c++filt", *SYMBOLS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(SYMBOLS.values())
    header = (Path(torch.__file__).parent / "include/ATen/cuda/CUDAContextLight.h").read_text()
    assert "getCurrentDeviceProperties()" in header
    assert "getDeviceProperties(c10::DeviceIndex device)" in header
    assert "getCurrentCUDASparseHandle()" in header
    assert re.search(r"getCurrentCUDABlasHandle\((bool setup = true)?\)", header)
