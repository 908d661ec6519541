"""The text of a kernel library, and the library that it becomes."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright
from opwright import OpwrightError, SignatureError
from opwright.codegen import instance_name
from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.signature.dtypes import BY_NAME
from opwright.toolchain import Options

Write = Callable[..., Path]
_CPP = """
OPWRIGHT("f(x: T[N], y: U[N, 2], k: int) -> (z: U[N]) where U in (i32, i64)")
template <class A, class B>
void f(Strided<const A, 1> x, Tensor<const B, 2> y, int k, Tensor<B, 1> z) {
  for (int64_t i = 0; i < z.size(0); ++i) z[i] = x[i] + y(i, 1) + k;
}
OPWRIGHT("g(x: T[N]) -> (y: T[N])")
template <class T>
void g(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
OPWRIGHT("h(x: f32[N]) -> (y: f32[N])")
namespace inner { void h(Tensor<const float, 1> x, Tensor<float, 1> y) { y[0] = x[0]; } }
"""


@pytest.fixture
def source(write: Write) -> KernelSource:
    text = _CPP.replace('OPWRIGHT("h', 'namespace inner {\nOPWRIGHT("h').replace("namespace inner { void", "void")
    return KernelSource(write(text, "parts.cpp"), Options(native=False))


def test_one_library_for_each_choice_of_types(source: KernelSource) -> None:
    choices = source.assignments()
    assert len(choices) == 4 * 2 + 4 + 1
    assert {} in choices
    text = source.unit({"T": DType.F16, "U": DType.I64}).text
    assert re.findall(r'\{"(\w+)", "([^"]*)", "cpu", &opwright_generated_entry_0, (\w+)\}', text) == [
        ("f", "T=f16,U=i64", "0x1")
    ]
    assert '::f<opwright::float16, int64_t>(a.tensor(0), a.tensor(1), a.integer(0, "k"), a.tensor(2))' in text
    assert '{"h", "", "cpu", &opwright_generated_entry_0, 0x0}' in source.unit({}).text
    assert "::inner::h(a.tensor(0), a.tensor(1))" in source.unit({}).text


def test_a_backward_is_compiled_for_its_forwards_types(write: Write) -> None:
    text = """
OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32, i64)")
template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
OPWRIGHT("f_backward(grad_y: T[N]) -> (grad_x: T[N])")
template <class T> void f_backward(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }
"""
    found = KernelSource(write(text, "typed.cpp"), Options())
    assert found.assignments() == [{"T": DType.F32}, {"T": DType.I64}]


def test_instance_names() -> None:
    assert instance_name({"T": DType.F32, "U": DType.I64}) == "T=f32,U=i64"
    assert instance_name({}) == ""


@pytest.fixture
def library(source: KernelSource) -> Path:
    return Path(source.library({"T": DType.F32, "U": DType.I32}))


def test_a_library_knows_neither_torch_nor_python(library: Path) -> None:
    readelf = shutil.which("readelf") or pytest.skip("readelf is not installed")
    dynamic = subprocess.run([readelf, "-d", library], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*?)(?:\.so.*)?\]", dynamic))
    assert needed <= {"libstdc++", "libc", "libm", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert "SONAME" not in dynamic
    symbols = subprocess.run([readelf, "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in symbols.splitlines() if re.match(r"\s*\d+:", line)]
    undefined = {row[7].partition("@")[0] for row in rows if row[6] == "UND" and len(row) > 7}
    assert not {name for name in undefined if re.match(r"_?Py|.*(c10|torch|_ZN2at)", name)}
    assert {row[7] for row in rows if row[6] != "UND"} == {"opwright_library"}


class Host(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("abi_version", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("rest", ctypes.c_void_p * 5),
    )


def test_a_host_of_another_version_gets_nothing(library: Path) -> None:
    opened = ctypes.CDLL(str(library)).opwright_library
    opened.restype = ctypes.c_void_p
    assert opened(ctypes.byref(Host(ctypes.sizeof(Host), 1)))
    assert opened(ctypes.byref(Host(ctypes.sizeof(Host), 2))) is None
    assert opened(ctypes.byref(Host(ctypes.sizeof(Host) - 8, 1))) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int nothing;", r"is no Opwright kernel library: it lacks the symbol opwright_library"),
        (
            (
                '#include "opwright/abi.h"\nconst opw_library *opwright_library(const opw_host *host) {\n'
                "  static const opw_library other = {sizeof(opw_library), 999, 0, 0};\n  return &other;\n}"
            ),
            r"was built for another version of Opwright's ABI; this one is version 1",
        ),
    ],
)
def test_what_the_runtime_refuses_by_name(tmp_path: Path, text: str, message: str) -> None:
    from opwright.runtime.register.kernels import started_runtime
    from opwright.toolchain.compilers.flags import header_dir

    path = tmp_path / "other.so"
    command = ["cc", "-x", "c", "-shared", "-fPIC", f"-I{header_dir()}", "-", "-o", str(path)]
    subprocess.run(command, input=text, text=True, check=True)
    with pytest.raises(OpwrightError, match=rf"{re.escape(str(path))} {message}"):
        started_runtime().open(str(path))


def test_c_elements_of_every_type(tmp_path: Path) -> None:
    source = tmp_path / "elements.c"
    types = {
        "u8": "uint8_t",
        "i16": "short",
        "i64": "long",
        "u32": "unsigned",
        "f16": "_Float16",
        "bool": "_Bool",
        "f64": "double",
    }
    source.write_text(
        "#include <opwright.h>\n"
        + "\n".join(
            f'OPWRIGHT("copy_{name}(x: {name}[N]) -> (y: {name}[N])")\n'
            f"void copy_{name}(unsigned N, const {ctype} x[], {ctype} *restrict y) {{\n"
            "  for (unsigned i = 0; i < N; ++i) y[i] = x[i];\n}"
            for name, ctype in types.items()
        )
    )
    ops = opwright.load(source, namespace="c_elements")
    for name in types:
        x = torch.tensor([0, 1, 1, 0]).to(getattr(torch, BY_NAME[name].torch_name))
        assert torch.equal(getattr(ops, f"copy_{name}")(x), x)


def test_too_many_tensors(write: Write) -> None:
    inputs = [f"x{i}" for i in range(64)]
    text = f'OPWRIGHT("many({", ".join(f"{x}: T[]" for x in inputs)}) -> (y: T[])")\ntemplate <class T>\n'
    text += f"void many({', '.join(f'Tensor<const T, 0> {x}' for x in inputs)}, Tensor<T, 0> y) {{}}"
    with pytest.raises(
        SignatureError, match="many has 65 tensors and 1 type variables; at most 64 and 8 are supported"
    ):
        opwright.load(write(text, "many.cpp"))
