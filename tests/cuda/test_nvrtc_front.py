"""What sources may hold, loaded and built with NVRTC, and called where a driver takes notes of the launches."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import opwright
from opwright import ArgumentError
from opwright.runtime import abi
from opwright.signature import DType
from tests.cuda.kernels_for_front import CPU, CUDA, LAUNCHED
from tests.cuda.nvrtc import conftest as nvrtc

Write = Callable[..., Path]
Play = Callable[..., Any]

needs_nvrtc = nvrtc.needs_nvrtc
fake_driver = nvrtc.fake_driver
play = nvrtc.play

ARCHITECTURES = "7.5;9.0;12.0"
NUMBERS = {"f32": 6, "f16": 5, "bf16": 15}
"""Element types as the C ABI has them."""
POINTWISE = """
OPWRIGHT("bent(x: T, w: T, a: float = 0.5) -> (y: T)")
template <class T>
T bent(T x, T w, double a) {
  return x > 0 ? tanh(x * w) : T(a) * expm1(x);
}
"""
_CALLS = f"""
import runpy, types
abi = types.SimpleNamespace(**runpy.run_path({abi.__file__!r}))
host = abi.Host(size=ctypes.sizeof(abi.Host), abi_version=abi.VERSION)
kernels.opwright_library.restype = ctypes.POINTER(abi.LibraryTable)
table = kernels.opwright_library(ctypes.byref(host)).contents
rows = {{row.name.decode(): row.entry for row in (table.kernels[i] for i in range(table.count))}}
failed, took = [], ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
fail = took(lambda _, text, __: failed.append(text.decode()))

def call(name, tensors, scalars=(), axes=(), rng=(0, 0)):
    kept = []
    def row(data, sizes, dtype):
        strides = [1]
        for size in sizes[:0:-1]:
            strides.insert(0, strides[0] * size)
        numel = strides[0] * sizes[0]
        kept.extend([(ctypes.c_int64 * len(sizes))(*sizes), (ctypes.c_int64 * len(sizes))(*strides)])
        return abi.TensorRow(data, *map(ctypes.addressof, kept[-2:]), numel, len(sizes), dtype, 1)
    given = abi.Call(ctypes.sizeof(abi.Call), (abi.TensorRow * len(tensors))(*[row(*t) for t in tensors]))
    given.scalars = (abi.Scalar * max(1, len(scalars)))(*[abi.Scalar(f=s) for s in scalars])
    given.axes = (ctypes.c_int64 * max(1, len(axes)))(*axes)
    given.rng = ctypes.pointer(abi.Rng(*rng))
    given.stream, given.fail = 0x77, ctypes.cast(fail, ctypes.c_void_p)
    status = abi.ENTRY(rows[name])(ctypes.addressof(given))
    said.append([status, failed[:], notes() if driver else []])
    failed.clear()
"""


class Launch(NamedTuple):
    """What the driver was handed."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    stream: str
    arguments: list[bytes]


@pytest.fixture(scope="module")
def loaded(needs_nvrtc: None, tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    """Kernels of every kind, compiled by NVRTC when they were loaded."""
    path = tmp_path_factory.mktemp("loaded") / "by_nvrtc.cu"
    path.write_text(f"#include <opwright.h>\n{CUDA}{LAUNCHED}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_CUDA_ARCH_LIST", ARCHITECTURES)
        return opwright.load(path, backend="nvrtc", dtypes=[torch.float32])


@pytest.fixture(scope="module")
def pointwise(needs_nvrtc: None, tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    """One function of an element, which is compiled for the CPU, too."""
    path = tmp_path_factory.mktemp("pointwise") / "bent_by_nvrtc.cpp"
    path.write_text(f"#include <opwright.h>\n{POINTWISE}")
    return opwright.load(path, backend="nvrtc")


@pytest.fixture(autouse=True)
def _architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", ARCHITECTURES)


def library(ops: opwright.Operators, name: str, wanted: int = 0, **types: DType) -> Path:
    return Path(ops.__loaded__.registered[name].kernel.provider.library(types, wanted, device="cuda"))


def launch(said: tuple[int, list[str], list[str]]) -> Launch:
    """The one launch of a call."""
    status, failed, notes = said
    assert (status, failed) == (0, [])
    (words,) = (note.split()[1:] for note in notes if note.startswith("cuLaunchKernel "))
    grid, block = (tuple(map(int, word.split(","))) for word in words[1:3])
    return Launch(words[0], grid, block, int(words[3]), words[4], [bytes.fromhex(word) for word in words[5:]])


def sizes(*of_parameters: int) -> str:
    """Tells the driver how large the next kernel's parameters are."""
    return f"driver.fake_sizes({''.join(chr(48 + size) for size in of_parameters).encode()!r})\n"


def unpacked(format_: str, arguments: Iterable[bytes]) -> tuple[Any, ...]:
    return struct.unpack("<" + format_, b"".join(arguments))


@pytest.mark.slow
@pytest.mark.parametrize(
    "card", [pytest.param("75", marks=pytest.mark.exhaustive), "90", pytest.param("120", marks=pytest.mark.exhaustive)]
)
def test_caffes_words_on_each_card(card: str, loaded: opwright.Operators, play: Play) -> None:
    script = f'{sizes(4, 8, 8)}call("round", [(0x1000, [3, 400], 6), (0x2000, [3, 400], 6)])'
    (said,) = play(library(loaded, "round", T=DType.F32), _CALLS + script, {"FAKE_CARD": card})
    assert "cuModuleLoadData cubin" in [note.strip() for note in said[2]]  # no PTX, which would be translated here
    found = launch(said)
    assert "round_kernelIf" in found.kernel
    assert (found.grid, found.block, found.shared, found.stream) == ((3, 1, 1), (512, 1, 1), 0, "0x77")
    assert unpacked("iqq", found.arguments) == (1200, 0x1000, 0x2000)


@pytest.mark.slow
def test_a_launch_in_the_signature_with_pointers_by_name(loaded: opwright.Operators, play: Play) -> None:
    tensors = [(address, [130], 6) for address in (0x1000, 0x2000, 0x3000)]
    script = f'{sizes(4, 8, 8, 8, 8)}call("axpy", {tensors}, [2.5], [130])'
    found = launch(*play(library(loaded, "axpy", T=DType.F32), _CALLS + script))
    assert (found.grid, found.block, found.stream) == ((3, 1, 1), (64, 1, 1), "0x77")
    assert unpacked("idqqq", found.arguments) == (130, 2.5, 0x1000, 0x2000, 0x3000)


def test_accessors_by_position(loaded: opwright.Operators, play: Play) -> None:
    script = f'{sizes(24)}call("transpose", [(0x1000, [30, 20], 6), (0x2000, [20, 30], 6)], [], [30, 20])'
    found = launch(*play(library(loaded, "transpose"), _CALLS + script))
    assert (found.grid, found.block) == ((2, 4, 1), (16, 8, 1))
    assert unpacked("qiiii", found.arguments) == (0x1000, 30, 20, 20, 1)  # memory, sizes, strides: 32 bits each


def test_a_batched_kernel_is_launched_for_each_place(loaded: opwright.Operators, play: Play) -> None:
    script = 'call("rowsum", [(0x1000, [2, 40, 3], 6), (0x2000, [2, 40], 6)], [], [40, 3])'
    ((status, failed, notes),) = play(library(loaded, "rowsum"), _CALLS + script)
    assert (status, failed) == (0, [])
    assert [note.split()[2:4] for note in notes if note.startswith("cuLaunch")] == [["2,1,1", "32,1,1"]] * 2


def test_a_kernel_with_random_numbers(loaded: opwright.Operators, play: Play) -> None:
    script = 'call("dropped", [(0x1000, [100], 6), (0x2000, [100], 6)], [], [100], (0x1234567890, 8))'
    script = sizes(8, 8, 16) + script  # where the views' memory is, and the generator's state
    found = launch(*play(library(loaded, "dropped"), _CALLS + script))
    assert (found.grid, found.block) == ((4, 1, 1), (32, 1, 1))
    assert unpacked("qqQQ", found.arguments) == (0x1000, 0x2000, 0x1234567890, 8)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wanted", "dtype"),
    [
        ("bent", 0, "f32"),
        ("bent_backward", 3, "f32"),
        pytest.param("bent_backward_backward", 7, "f32", marks=pytest.mark.exhaustive),
        pytest.param("bent", 0, "f16", marks=pytest.mark.exhaustive),
        pytest.param("bent_backward", 3, "bf16", marks=pytest.mark.exhaustive),
    ],
)
def test_pointwise_operators_and_their_derivatives(
    name: str, wanted: int, dtype: str, pointwise: opwright.Operators, play: Play
) -> None:
    signature = pointwise.__loaded__.registered[name].kernel.signature
    count = len(signature.tensors + signature.results)
    tensors = [(0x1000 * (i + 1), [1000, 3], NUMBERS[dtype]) for i in range(count)]
    script = f'{sizes(4)}call("{name}", {tensors}, [0.25])'
    found = launch(*play(library(pointwise, name, wanted, T=DType[dtype.upper()]), _CALLS + script))
    assert "opwright_pointwise" in found.kernel
    assert found.block == (256, 1, 1)
    width = {"f32": 4, "f16": 8, "bf16": 8}[dtype]  # a thread takes 16 bytes at once
    assert found.grid == (-(-3000 // (256 * width)), 1, 1)
    assert unpacked("i", found.arguments) == (3000,)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_what_is_said_without_a_gpu(loaded: opwright.Operators, pointwise: opwright.Operators, play: Play) -> None:
    script = 'call("round", [(0x1000, [9], 6), (0x2000, [9], 6)])'
    ((status, failed, _),) = play(library(loaded, "round", T=DType.F32), _CALLS + script, driver=False)
    assert status == 1
    assert failed[0].startswith("a launch needs a GPU, and CUDA finds none that it can use: ")
    assert "by_nvrtc.cu:" in failed[0]
    with pytest.raises(ArgumentError, match=r"round.*: x is on cpu, but this operator has kernels for cuda only"):
        loaded.round(torch.rand(3))
    assert loaded.round(torch.empty(3, device="meta")).shape == (3,)


@pytest.mark.slow
def test_the_cpu_has_its_own_kernel_beside_it(pointwise: opwright.Operators, write: Write) -> None:
    ops = opwright.load(write(CPU, "round_of_two.cpp"), write(CUDA, "round_of_two.cu"), backend="nvrtc")
    assert ops.__loaded__.registered["round"].kernel.devices == {"cpu", "cuda"}
    assert ops.round(torch.tensor([0.2, 0.5])).tolist() == [0, 1]
    x, w = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True).unbind()
    assert torch.autograd.gradgradcheck(pointwise.bent, (x, w))


@pytest.mark.slow
def test_opwright_build_compiles_every_kind(needs_nvrtc: None, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    files = [str(write(text, name)) for text, name in ((CUDA, "built.cu"), (POINTWISE, "bent.cpp"))]
    command = [sys.executable, "-m", "opwright", "build", *files, "--backend", "nvrtc", "--dtype", "f32"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    made = [line.split("│")[1].strip() for line in done.stdout.splitlines() if "T=f32" in line]
    backwards = ["bent.cpp: bent_backward"] * 2  # for calls that want all gradients, and for others
    assert sorted(made) == sorted(["built.cu", *["bent.cpp", *backwards] * 2])  # the CPU's and CUDA's
