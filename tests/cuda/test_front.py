"""CUDA sources wherever C++ ones go: pairs of them, kernels with a launch in their signature, back ends by name."""

from __future__ import annotations

import ctypes
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import ArgumentError, SourceError, ToolchainError, UnsupportedError
from opwright.codegen.source import KernelSource
from opwright.cuda import find_backend
from opwright.runtime import abi
from opwright.signature import DType
from opwright.toolchain import Options
from tests.cuda.kernels_for_front import CPU, CUDA, LAUNCHED

Write = Callable[..., Path]


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = tmp_path_factory.mktemp("launched") / "launched_kernels.cu"
    path.write_text(LAUNCHED)
    return opwright.load(path, backend="emulate")


def test_a_pair_is_one_operator_and_its_emulated_twin_has_a_namespace_of_its_own(write: Write) -> None:
    sources = write(CPU, "rounding.cpp"), write(CUDA, "rounding.cu")
    ops = opwright.load(*sources)
    twin = opwright.load(*sources, backend="emulate")
    x = torch.rand(3, 700, dtype=torch.float64)
    for name, each in (("rounding", ops), ("rounding_emulated", twin)):
        assert each.round is getattr(torch.ops, name).round.default
        torch.testing.assert_close(each.round(x), (x >= 0.5).double(), rtol=0, atol=0)
    assert ops.__loaded__.registered["round"].kernel.devices == {"cpu", "cuda"}
    assert twin.__loaded__.registered["round"].kernel.devices == {"cpu"}
    assert list(ops) == list(twin) == ["round"]


def test_a_cuda_source_alone_serves_cuda_alone(write: Write) -> None:
    ops = opwright.load(write(CUDA, "only_on_cuda.cu"))
    assert ops.__loaded__.registered["round"].kernel.devices == {"cuda"}
    with pytest.raises(ArgumentError, match=r"(?s)x is on cpu, but this operator has kernels for cuda only.*emulate"):
        ops.round(torch.rand(3))


@pytest.mark.slow
def test_an_edit_of_an_emulated_source_is_run(write: Write) -> None:
    path = write(CUDA, "edited_on_cuda.cu")
    ops = opwright.load(path, backend="emulate")
    assert ops.round(torch.tensor([0.6])).item() == 1
    write(CUDA.replace("T(1) : T(0)", "T(3) : T(2)"), "edited_on_cuda.cu")
    assert opwright.load(path, backend="emulate") is ops
    assert ops.round(torch.tensor([0.6, 0.1])).tolist() == [3, 2]


def test_inline_text_with_both_kernels() -> None:
    ops = opwright.load_inline("inline_pair", cpp=CPU, cuda=CUDA, backend="emulate")
    assert ops.round(torch.tensor([0.4, 0.5])).tolist() == [0, 1]


def test_pointers_go_by_name(launched: opwright.Operators) -> None:
    x, y = torch.rand(2, 1000, dtype=torch.float64).unbind()
    torch.testing.assert_close(launched.axpy(2.5, x, y), 2.5 * x + y)
    assert launched.axpy(2.5, x[:0], y[:0]).shape == (0,)  # no grid of no blocks


@pytest.mark.parametrize(
    ("m", "k", "what"),
    [
        (0, 7, "what the launch is over along x can't be computed: it divides by zero, or doesn't fit 64 bits"),
        (2**63 - 1, 8, "what the launch is over along x can't be computed: it divides by zero, or doesn't fit 64 bits"),
        (-(2**63), 6, "what the launch is over along x can't be computed: it divides by zero, or doesn't fit 64 bits"),
        (-(2**62), -1, "takes 162129586585337858 blocks along x, and a grid has at most 2147483647"),
        (0, 2**32, "the shared memory of the launch can't be computed: it divides by zero, or doesn't fit 64 bits"),
    ],
)
def test_launches_that_no_number_is_for(m: int, k: int, what: str, launched: opwright.Operators) -> None:
    assert launched.filled(torch.zeros(40), 0, 1).tolist() == [1] * 40
    with pytest.raises(opwright.KernelError, match=what):
        launched.filled(torch.zeros(40), m, k)


def test_shared_memory_and_the_elements_of_leading_axes(launched: opwright.Operators) -> None:
    x = torch.arange(75.0).reshape(3, 25)
    expected = torch.cat([piece.flip(0) for piece in x.flatten().split(32)]).reshape(3, 25)
    torch.testing.assert_close(launched.reverse(x, 4), expected, rtol=0, atol=0)


def test_views_go_by_position(launched: opwright.Operators) -> None:
    x = torch.rand(30, 70)
    torch.testing.assert_close(launched.transpose(x), x.t().contiguous(), rtol=0, atol=0)
    torch.testing.assert_close(launched.transpose(x.t()), x, rtol=0, atol=0)  # an accessor takes any strides


def test_a_batched_kernel_is_launched_for_each_place(launched: opwright.Operators) -> None:
    x = torch.rand(4, 2, 40, 3)
    torch.testing.assert_close(launched.rowsum(x), x.sum(-1))


def test_a_kernel_draws_what_the_cpu_draws(launched: opwright.Operators) -> None:
    cpu = opwright.load_inline(
        "drawn_on_the_cpu",
        cpp="""OPWRIGHT("dropped(x: f32[N], rng: generator(1)) -> (y: f32[N])")
        void dropped(Tensor<const float, 1> x, Tensor<float, 1> y, Generator rng) {
          for (int64_t i = 0; i < x.numel(); ++i) y[i] = rng[i].uniform() < 0.5f ? 0 : x[i];
        }""",
    )
    x, drawn = torch.ones(200), []
    for ops in (cpu, launched):
        torch.manual_seed(3)
        drawn.append(ops.dropped(x))
    torch.testing.assert_close(*drawn, rtol=0, atol=0)
    assert 50 < drawn[0].sum() < 150


def test_a_kernel_sees_the_sizes_of_a_view_of_any_rank(launched: opwright.Operators) -> None:
    assert launched.shape_of(torch.rand(5, 1, 7)).tolist() == [5, 1, 7, -1]


@pytest.fixture(scope="module")
def by_nvcc(tmp_path_factory: pytest.TempPathFactory) -> KernelSource:
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc on the PATH")
    path = tmp_path_factory.mktemp("nvcc") / "by_nvcc.cu"
    path.write_text(f"#include <opwright.h>\n{CUDA}{LAUNCHED}")
    return KernelSource(path, Options(), backend=find_backend("nvcc"))


@pytest.mark.slow
def test_nvcc_compiles_it_and_the_library_loads_without_a_gpu(by_nvcc: KernelSource) -> None:
    rows = _rows(by_nvcc.library({"T": DType.F32}, device="cuda"))
    assert list(rows) == [("round", "T=f32", "cuda"), ("axpy", "T=f32", "cuda")]
    rows = _rows(by_nvcc.library({}, device="cuda"))
    assert [name for name, *_ in rows] == ["reverse", "transpose", "rowsum", "dropped", "shape_of", "filled"]


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", ["round", "axpy"])
def test_a_call_without_a_gpu_says_so(name: str, by_nvcc: KernelSource) -> None:
    rows = _rows(by_nvcc.library({"T": DType.F32}, device="cuda"))
    sizes, said = (ctypes.c_int64 * 1)(4), []
    fail = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)(
        lambda _, text, __: said.append(text)
    )
    place = ctypes.addressof(sizes)
    tensors = (abi.TensorRow * 3)(*[abi.TensorRow(place, place, place, 4, 1, 6, 1)] * 3)  # which nobody reads
    call = abi.Call(ctypes.sizeof(abi.Call), tensors, (abi.Scalar * 1)(), sizes)
    call.fail = ctypes.cast(fail, ctypes.c_void_p)
    assert abi.ENTRY(rows[name, "T=f32", "cuda"])(ctypes.addressof(call)) == 1
    assert re.match(
        rb"a launch needs a GPU, and CUDA finds none that it can use: .+ \(cuda\w+\) \[.*by_nvcc.cu:\d+\]", said[0]
    )


def _rows(path: str) -> dict[tuple[str, str, str], int]:
    """Of each row of a library's table, the address of its function."""
    host = abi.Host(size=ctypes.sizeof(abi.Host), abi_version=abi.VERSION)
    table = ctypes.CDLL(path).opwright_library
    table.restype = ctypes.POINTER(abi.LibraryTable)
    found = table(ctypes.byref(host)).contents
    _KEPT.append(host)
    rows = [found.kernels[i] for i in range(found.count)]
    return {(row.name.decode(), row.instance.decode(), row.device.decode()): row.entry for row in rows}


_KEPT: list[abi.Host] = []
"""A library refers to its host for ever."""


def test_backends_by_name(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    assert find_backend("emulate").name == "emulate"
    assert find_backend("emulate").device == "cpu"
    with pytest.raises(ToolchainError, match=r"backend='cuda' names no back end .* expected one of 'nvcc', 'nvrtc'"):
        find_backend("cuda")
    monkeypatch.setattr("opwright.cuda._create_backend", _Missing)
    with pytest.raises(ToolchainError) as error:
        find_backend()
    assert str(error.value) == (
        "nothing here can compile CUDA code\n  nvcc: there is no nvcc\n      likely fix: install it\n"
        "  nvrtc: there is no nvrtc\n      likely fix: install it\n"
        '  likely fix: install one of them; or run the kernels on the CPU: load(..., backend="emulate")'
    )
    with pytest.raises(ToolchainError, match="the back end 'nvrtc' can't be used here: there is no nvrtc"):
        find_backend("nvrtc")
    for wrong in (3, opwright.emulate, type(opwright.emulate())):
        with pytest.raises(TypeError, match=r"^backend=.*, expected 'nvcc', 'nvrtc', 'emulate' or a back end, as opwr"):
            opwright.load(write(CUDA, "no_backend.cu"), backend=wrong)  # type: ignore[arg-type] # what is tested


class _Missing:
    def __init__(self, name: str) -> None:
        self.name = name

    def missing(self) -> str:
        return f"there is no {self.name}\n  likely fix: install it"


def test_kernels_of_one_operator_have_one_signature(write: Write) -> None:
    other = CUDA.replace("where T in (f32, f64)", "where T in (f32)")
    with pytest.raises(SourceError) as error:
        opwright.load(write(CPU, "unlike.cpp"), write(other, "unlike.cu"))
    text = str(error.value)
    assert "unlike.cu:10: round: its signature isn't that of the kernel in unlike.cpp; one operator has one" in text
    assert "signature:  round(x: T[...]) -> (y: T[...]) where T in (f32)  (" in text
    assert "expected:   round(x: T[...]) -> (y: T[...]) where T in (f32, f64)  (" in text
    with pytest.raises(SourceError, match=r"round is defined more than once: .*one\.cu:10, .*two\.cu:10"):
        opwright.load(write(CUDA, "one.cu"), write(CUDA, "two.cu"))


def test_nothing_to_emulate(write: Write) -> None:
    with pytest.raises(SourceError, match=r"(?s)plain_cpu\.cpp: there is no CUDA kernel in it to emulate.*leave back"):
        opwright.load(write(CPU, "plain_cpu.cpp"), backend="emulate")


def test_emulated_operators_are_not_bundled(write: Write, tmp_path: Path) -> None:
    ops = opwright.load(write(CUDA, "unbundled.cu"), backend="emulate")
    with pytest.raises(
        UnsupportedError, match=r"bundle\(\): the operators of unbundled\.cu are emulated, which is for"
    ):
        opwright.bundle(ops, tmp_path / "b.so")


def test_opwright_build_compiles_cuda_sources(write: Write) -> None:
    path = write(CUDA, "built.cu")
    command = [sys.executable, "-m", "opwright", "build", str(path), "--backend", "emulate", "--dtype", "f64"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "T=f64" in done.stdout
    assert "T=f32" not in done.stdout


def _problem(name: str) -> str:
    return "no nvcc on the PATH" if name == "nvcc" and not shutil.which("nvcc") else ""


def test_emulated_operators_are_pickled_by_their_sources(write: Write) -> None:
    ops = opwright.load(write(CUDA, "pickled_on_cuda.cu"), backend="emulate")
    assert pickle.loads(pickle.dumps(ops)) is ops  # noqa: S301 - our own
    restored, (kept, namespace, options, chosen, _) = ops.__reduce__()
    assert namespace == "pickled_on_cuda_emulated"
    assert chosen == find_backend("emulate")
    assert restored(kept, namespace, options, chosen) is ops
