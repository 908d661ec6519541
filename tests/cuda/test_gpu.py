"""What only a GPU can show, by either compiler: streams, graphs, faults, large sizes, compiled callers, bundles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright.cuda import find_backend
from opwright.errors import ArgumentError, KernelError, ToolchainError

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU"),
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # PyTorch's own
    pytest.mark.filterwarnings("ignore:The CUDA Graph is empty:UserWarning"),  # of a graph that PyTorch only prepares
]

SOURCE = """
#include <opwright.h>
template <class T> __global__ void doubled(int64_t n, const T *x, T *y) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];
}
OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y, cudaStream_t stream) {
  doubled<<<32, 256, 0, stream>>>(x.numel(), x.data(), y.data());
}
OPWRIGHT("twice_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T>
void twice_backward(Tensor<const T, 1> grad_y, Tensor<T, 1> grad_x, cudaStream_t stream) {
  doubled<<<32, 256, 0, stream>>>(grad_y.numel(), grad_y.data(), grad_x.data());
}
__global__ void drawn(int64_t n, Generator rng, int64_t *y) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = rng[i].bits();
}
OPWRIGHT("noise(x: f32[N], rng: generator(1)) -> (y: i64[N])")
void noise(Tensor<const float, 1> x, Tensor<int64_t, 1> y, Generator rng, cudaStream_t stream) {
  drawn<<<(x.numel() + 255) / 256, 256, 0, stream>>>(x.numel(), rng, y.data());
}
OPWRIGHT("too_many(x: T[N]) -> (y: T[N])")
template <class T>
void too_many(Tensor<const T, 1> x, Tensor<T, 1> y, cudaStream_t stream) {
  doubled<<<1, 2048, 0, stream>>>(x.numel(), x.data(), y.data());
}
"""

POINTWISE = """
OPWRIGHT("bent(x: T, w: T, p: float = 0.5) -> (y: T)")
template <class T>
T bent(T x, T w, double p) { return w * exp(-x * x) + T(p) * tanh(x * w); }
OPWRIGHT("next(x: T) -> (y: T)")
template <class T>
T next(T x) { return x + T(1); }
OPWRIGHT("add_to(x: T!, y: T)")
template <class T>
void add_to(T &x, T y) { x += y; }
"""

FAULTY = """
#include <opwright.h>
__global__ void writes_nowhere(float *y) { y[int64_t(1) << 40] = 1; }
OPWRIGHT("fault(x: f32[N]) -> (y: f32[N])")
void fault(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  writes_nowhere<<<1, 1, 0, stream>>>(y.data());
}
"""

_FAULTING = """
import sys, torch, opwright
ops = opwright.load(sys.argv[1], backend=sys.argv[2])
try:
    ops.fault(torch.ones(3, device="cuda"))
    torch.cuda.synchronize()
except RuntimeError as error:
    print(type(error).__name__, error)
"""

_LOADED = """
import sys
sys.modules["opwright"] = None
import torch
torch.ops.load_library(sys.argv[1])
x = torch.arange(5.0, device="cuda", requires_grad=True)
y = torch.ops.gpu_bundle.twice(x)
y.sum().backward()
print(y.tolist(), x.grad.tolist())
"""

Write = Callable[[str, str], Path]


@pytest.fixture(scope="module", params=["nvcc", "nvrtc"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    try:
        find_backend(name)
    except ToolchainError as error:
        pytest.skip(str(error))
    return name


@pytest.fixture(scope="module")
def write(backend: str, tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Write a source; its name, which becomes the namespace, ends with the back end's."""
    folder = tmp_path_factory.mktemp(backend)

    def to(name: str, text: str) -> Path:
        stem, _, suffix = name.partition(".")
        path = folder / f"{stem}_{backend}.{suffix}"
        path.write_text(text)
        return path

    return to


@pytest.fixture(scope="module")
def ops(backend: str, write: Write) -> opwright.Operators:
    return opwright.load(write("gpu_ops.cu", SOURCE), backend=backend)


@pytest.fixture(scope="module")
def pointwise(backend: str, write: Write) -> opwright.Operators:
    return opwright.load(write("gpu_pointwise.cpp", POINTWISE), backend=backend)


def test_every_device_and_stream(ops: opwright.Operators) -> None:
    for index in range(torch.cuda.device_count()):
        x = torch.arange(1000.0, device=f"cuda:{index}")
        stream = torch.cuda.Stream(x.device)
        stream.wait_stream(torch.cuda.current_stream(x.device))
        with torch.cuda.stream(stream):
            y = ops.twice(x)
        stream.synchronize()
        assert y.device == x.device
        torch.testing.assert_close(y, 2 * x)
    with pytest.raises(ArgumentError, match=r"x is on cpu, but this operator has kernels for cuda only"):
        ops.twice(torch.ones(2))


def test_a_backward_is_ordered_after_a_slow_forward_on_its_stream(ops: opwright.Operators) -> None:
    x = torch.ones(1 << 20, device="cuda", requires_grad=True)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        y = ops.twice(x * 1.5)
        given = torch.full_like(y, 3.0)
        (grad,) = torch.autograd.grad(y, x, given)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(y, torch.full_like(y, 3.0))
    assert torch.equal(grad, torch.full_like(grad, 9.0))


def test_graphs(ops: opwright.Operators) -> None:
    x = torch.arange(100.0, device="cuda")
    ops.twice(x), ops.noise(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, first = ops.twice(x), ops.noise(x)
    x.fill_(3)
    graph.replay()
    before = first.clone()
    torch.testing.assert_close(y, torch.full_like(x, 6))
    graph.replay()
    assert not torch.equal(first, before)


def test_a_step_with_gradients_in_a_graph(ops: opwright.Operators) -> None:
    x = torch.arange(100.0, device="cuda", requires_grad=True)

    def step() -> torch.Tensor:
        return torch.autograd.grad(ops.twice(x).square().sum(), x)[0]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grad = step()
    with torch.no_grad():
        x.fill_(2)
    graph.replay()
    assert torch.equal(grad, torch.full_like(x, 16))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_caller(mode: str, ops: opwright.Operators, pointwise: opwright.Operators) -> None:
    def plain(x: torch.Tensor) -> torch.Tensor:
        bent: torch.Tensor = pointwise.bent(ops.twice(x) + 1, x)
        return bent.sum()

    torch.compiler.reset()
    compiled = torch.compile(plain, mode=mode, fullgraph=True)
    for _ in range(4):  # graphs are captured in the second and third calls
        x = torch.randn(300, device="cuda", requires_grad=True)
        found, expected = compiled(x), plain(x)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(torch.autograd.grad(found, x), torch.autograd.grad(expected, x))


def test_a_launch_that_is_refused_names_its_line(ops: opwright.Operators, backend: str) -> None:
    x = torch.ones(3, device="cuda")
    with pytest.raises(KernelError, match=rf"(?s)too_many.*gpu_ops_{backend}.cu"):
        ops.too_many(x)
    assert torch.equal(ops.twice(x), 2 * x)  # nothing is left of the error


@pytest.mark.parametrize("waits", ["0", "1"])
def test_a_fault_is_an_exception(waits: str, write: Write, backend: str) -> None:
    words = [sys.executable, "-c", _FAULTING, str(write("gpu_fault.cu", FAULTY)), backend]
    environment = {**os.environ, "OPWRIGHT_CUDA_SYNC": waits}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert "illegal memory access" in done.stdout, done.stdout + done.stderr
    assert ("fault" in done.stdout.partition("\n")[0]) == (waits == "1")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["dense", "transposed", "channels last", "broadcast", "unaligned", "empty"])
def test_pointwise(layout: str, dtype: torch.dtype, pointwise: opwright.Operators) -> None:
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 5, 4, 6, dtype=torch.float64).to(dtype)
    forms: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "transposed": lambda each: each.transpose(1, 3),
        "channels last": lambda each: each.to(memory_format=torch.channels_last),
        "unaligned": lambda each: each.flatten()[1:],
        "empty": lambda each: each[:, :0],
    }
    x, w = x.cuda(), w.cuda()
    there = [forms[layout](each) if layout in forms else each for each in (x, w)]
    there[1] = there[1][:, :1] if layout == "broadcast" else there[1]
    a, b = (each.detach().requires_grad_() for each in there)
    c, d = (each.detach().double().requires_grad_() for each in there)
    found, expected = pointwise.bent(a, b), d * torch.exp(-c * c) + 0.5 * torch.tanh(c * d)
    assert found.stride() == (a + b).stride()
    given = torch.randn_like(expected)
    tolerance = {torch.float64: 1e-12, torch.float16: 4e-3, torch.bfloat16: 3e-2}.get(dtype, 2e-5)
    torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    grads = torch.autograd.grad(found, (a, b), given.to(dtype))
    exact = torch.autograd.grad(expected, (c, d), given)
    for one, other in zip(grads, exact, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=8 * tolerance, atol=8 * tolerance)


def test_derivatives(pointwise: opwright.Operators) -> None:
    x, w = torch.randn(2, 3, 4, dtype=torch.float64, device="cuda", requires_grad=True).unbind()
    assert torch.autograd.gradcheck(pointwise.bent, (x, w), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(pointwise.bent, (x, w))


def test_more_elements_than_32_bits_count(pointwise: opwright.Operators, ops: opwright.Operators) -> None:
    count = (1 << 31) + (1 << 20) + 3
    if torch.cuda.mem_get_info()[0] < 16 * count:
        pytest.skip("too little memory is free")
    x = torch.zeros(count, dtype=torch.float16, device="cuda")
    x[-5:] = torch.arange(1, 6)
    y = pointwise.next(x)
    assert y[-5:].tolist() == [2, 3, 4, 5, 6]
    assert int(y[:-5].min()) == int(y[:-5].max()) == 1
    pointwise.add_to(x, y)
    assert x[-6:].tolist() == [1, 3, 5, 7, 9, 11]
    assert ops.twice(x[-(1 << 20) :])[-5:].tolist() == [6, 10, 14, 18, 22]


def test_opcheck(ops: opwright.Operators, pointwise: opwright.Operators) -> None:
    x, w = torch.randn(2, 7, device="cuda", requires_grad=True).unbind()
    torch.library.opcheck(ops.twice, (x.detach().requires_grad_(),))
    torch.library.opcheck(pointwise.bent, (x.detach().requires_grad_(), w.detach().requires_grad_()))


def test_a_bundle(backend: str, tmp_path: Path) -> None:
    source = tmp_path / "gpu_bundle.cu"
    source.write_text(SOURCE)
    code = "import sys, opwright; opwright.bundle(opwright.load(sys.argv[1], backend=sys.argv[2]), sys.argv[3])"
    path = tmp_path / "bundle.so"
    subprocess.run([sys.executable, "-c", code, str(source), backend, str(path)], check=True)
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0, 8.0] [2.0, 2.0, 2.0, 2.0, 2.0]\n", done.stderr
