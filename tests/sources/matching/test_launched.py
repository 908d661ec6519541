"""Does a kernel that is launched fit its signature?"""

from __future__ import annotations

import pathlib

import pytest

from opwright import SourceError
from opwright.sources import Kernel, scan
from opwright.sources.matching import match


def kernel(signature: str, function: str, name: str = "k.cu") -> Kernel:
    return scan(pathlib.Path(name), f'OPWRIGHT("{signature}")\n{function} {{ }}\n').kernels[0]


def test_pointers_by_name_in_any_order() -> None:
    signature = "f(a: float, x: T[N, M], k: int) -> (y: acc(T)[N]) launch over N, threads 32"
    head = "template <class U> __global__ void f(acc<U> *y, unsigned M, const U *__restrict__ x, float a, long k)"
    found = match(kernel(signature, head))
    assert [(a.role, a.name) for a in found] == [
        ("output", "y"), ("axis", "M"), ("input", "x"), ("scalar", "a"), ("scalar", "k"),
    ]  # fmt: skip


def test_views_by_position() -> None:
    signature = "f(x: f16[N], k: int) -> (y: f32[...]) launch over N, threads 32"
    head = "__global__ void __launch_bounds__(256, 2) f(Strided<const __half, 1> a, int k, Tensor<float> b)"
    signature = signature.replace("x: f16[N]", "x: f16[N], z: f32[...]")
    head = head.replace("int k", "PackedTensorAccessor32<const float, 1> c, int k")
    with pytest.raises(SourceError, match=r"expected `Tensor<const float> z` for the input"):
        match(kernel(signature, head))
    head = head.replace("PackedTensorAccessor32<const float, 1>", "Tensor<const float>")
    found = match(kernel(signature, head))
    assert [a.name for a in found] == ["x", "z", "k", "y"]


ALIASES = """
// using Row = int;
template <class T> using Matrix = PackedTensorAccessor32<T, 2, RestrictPtrTraits>;
template <class T, int N> using Read = opwright::Tensor<const T, N>;
using Row = Read<float, 1>;
using Round = Round;
"""


def aliased(signature: str, function: str) -> Kernel:
    return scan(pathlib.Path("k.cu"), f'{ALIASES}OPWRIGHT("{signature}")\n{function} {{ }}\n').kernels[0]


def test_parameters_of_types_that_the_file_names() -> None:
    signature = "f(x: T[N, M], r: f32[M]) -> (y: T[N, M]) launch over N, threads 32"
    read = aliased(signature, "template <class T> __global__ void f(Matrix<const T> x, const Row r, Matrix<T> y)")
    assert [(a.role, a.name) for a in match(read)] == [("input", "x"), ("input", "r"), ("output", "y")]
    x, row, _ = read.function.parameters
    assert (x.text, x.view, x.element, x.const, x.rank) == ("Matrix<const T> x", "Strided", "T", True, 2)
    assert (row.view, row.element, row.const, row.rank) == ("Tensor", "float", True, 1)
    expected = r"parameter 2 is `Matrix<float> r`, expected `Tensor<const float, 1> r` for the input `r: f32\[M\]`"
    with pytest.raises(SourceError, match=expected):
        match(aliased(signature, "template <class T> __global__ void f(Matrix<const T> x, Matrix<float> r, Row y)"))


@pytest.mark.parametrize("written", ["Round", "Matrix<float, 2>", "Unknown<float>"])
def test_a_name_that_means_nothing_stays(written: str) -> None:
    read = aliased("f(x: f32[N]) -> (y: f32[N]) launch over N, threads 32", f"__global__ void f({written} x, Row y)")
    assert (read.function.parameters[0].view, read.function.parameters[0].element) == (
        "other",
        written.replace(" ", ""),
    )


def test_numel_is_the_number_of_elements_of_leading_axes() -> None:
    found = match(kernel("f(x: f32[...]) -> (y: f32[...]) launch over ..., threads 32",
                         "__global__ void f(int numel, const float *x, float *y)"))  # fmt: skip
    assert [(a.role, a.name) for a in found] == [("axis", "..."), ("input", "x"), ("output", "y")]


_LAUNCH = "f(x: f32[N]) -> (y: f32[N]) launch over N, threads 32"


@pytest.mark.parametrize(
    ("signature", "head", "name", "problem", "fix"),
    [
        (_LAUNCH, "void f(Tensor<const float, 1> x, Tensor<float, 1> y)", "k.cpp",
         "the signature says `launch over N, threads 32`, and k.cpp is no CUDA source", "write the kernel into k.cu"),
        (_LAUNCH, "void f(Tensor<const float, 1> x, Tensor<float, 1> y)", "k.cu",
         "the signature says `launch over N, threads 32`, and the function is no `__global__` kernel",
         "write `__global__` before it, or leave out the launch"),
        ("f(x: f32[N]) -> (y: f32[N])", "__global__ void f(Tensor<const float, 1> x, Tensor<float, 1> y)", "k.cu",
         "the function is a `__global__` kernel, and the signature doesn't say how it is launched",
         "end the signature with `launch over N, threads 256`; or put OPWRIGHT before the host function that launches"),
        (_LAUNCH, "__global__ int f(const float *x, float *y)", "k.cu", "the kernel returns `int`", "return void"),
        (_LAUNCH, "__global__ void f(const float *x, float *)", "k.cu", "parameter 2 is `float *` and has no name", ""),
        (_LAUNCH, "__global__ void f(const float *x, float *y, int &N)", "k.cu", "is a reference, and a kernel", ""),
        (_LAUNCH, "__global__ void f(const float *x, float *y, cudaStream_t stream)", "k.cu",
         "parameter 3 is a stream, and the kernel runs on one already", "leave it out"),
        (_LAUNCH, "__global__ void f(int N, const float *x)", "k.cu",
         "the kernel takes pointers, which go by name, and has no parameter named y", "add `float *y`; or take views"),
        (_LAUNCH, "__global__ void f(int n, const float *x, float *y)", "k.cu",
         "parameter 1 is `int n`, but the signature has no argument or axis of that name; it has N, x, y",
         "did you mean N?"),
        (_LAUNCH, "__global__ void f(float *x, float *y)", "k.cu",
         "parameter 1 is `float *x`, expected `const float *x`: an input's elements are const", "declare parameter 1"),
        (_LAUNCH, "__global__ void f(const float *x, const float *y)", "k.cu", "the kernel writes to it", ""),
        (_LAUNCH, "__global__ void f(const double *x, float *y)", "k.cu", "its elements are f32", ""),
        (_LAUNCH, "__global__ void f(const float *x, float *y, float N)", "k.cu", "it is an integer", "int64_t N"),
        (_LAUNCH, "__global__ void f(const float *x, float y)", "k.cu", "a tensor is a pointer", ""),
    ],
)  # fmt: skip
def test_what_does_not_fit(signature: str, head: str, name: str, problem: str, fix: str) -> None:
    with pytest.raises(SourceError) as error:
        match(kernel(signature, head, name))
    text = str(error.value)
    assert problem in text
    assert fix in text.partition("likely fix: ")[2]
    assert f"  function:   {head}  (" in text
