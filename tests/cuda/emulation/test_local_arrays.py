"""Which local arrays of checked code are filled, without a compiler."""

from __future__ import annotations

import re

import pytest

from opwright.cuda.emulation.rewrite import Rewriter


def filled(text: str) -> list[str]:
    """What is filled, in order; all else stays."""
    text = f'# 1 "/project/k.cu"\n{text}'
    found = Rewriter(loops=False, arrays=True)(text, lambda _: "")
    fill = re.compile(r" if constexpr \(\S+<decltype\((\w+)[^)]*\)>\) .*?nothing_in<(\d+), \S+>\(\);")
    table = found.find("\nnamespace { const ::opwright::emulation::")
    code, rows = (found, "") if table < 0 else (found[:table], found[table:])
    assert fill.sub("", code) == Rewriter(loops=False)(text, lambda _: "")
    for name, number in fill.findall(code):
        assert re.search(rf'{{{number}, "/project/k.cu", \d+, "{name}"}}', rows)
    return [name for name, _ in fill.findall(code)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("float a[4]; a[0] = 1;", ["a"]),
        ("double a[2][3], b, *c, d[N]; a[i][j] += 1; d[0]++;", ["a", "d"]),
        ("const int n = 2; volatile std::complex<float> a[n]; use(a);", ["a"]),
        ("T a[sizeof(T) * 2]; if (x) { float b[2]; g(&b[1]); } h(a);", ["b", "a"]),
        ("switch (x) { case 1: float a[2]; ++a[0]; }", ["a"]),
        ("auto f = [&] { unsigned a[2]; a[0] -= 1; };", ["a"]),
        ("float a[4]; y = a[0] + a[1];", []),  # read alone, which the compiler warns of
        ("float a[4] = {}, b[2]{1}, c[] = {1}; g(a, b, c);", []),
        ("static float a[4]; extern float b[2]; g(a, b);", []),
        ("struct S { float a[4]; } s; s.a[0] = 1;", []),
        ("return a[4]; delete a[4]; x = a[4]; a[4] = x; g(a[4]);", []),
        ("for (float a[4]; i < 4; ++i) a[i] = 1;", []),
        ("typedef float A[4]; using B = float[4];", []),
        ("float a[4]; { int a; a = 1; }", ["a"]),
        ("float a[4], n = load(a); a[0] += n;", []),  # the call has written it
        ("float a[2][2], *p = a[0]; *p = a[1][0];", []),
    ],
)
def test_of_a_kernel(text: str, names: list[str]) -> None:
    assert sorted(filled(f"__global__ void k(float *y) {{ {text} }}")) == sorted(names)


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("__device__ void f()", ["a"]),
        ("__host__ __device__ float f()", ["a"]),
        ("template <class T> struct S { __device__ S() : x(1)", ["a"]),
        ("void f()", []),
        ("constexpr __device__ int f()", []),
    ],
)
def test_of_a_function(head: str, names: list[str]) -> None:
    closed = "};" if "struct" in head else ""
    assert filled(f"{head} {{ float a[4]; a[0] = 1; }} {closed}") == names


def test_each_has_a_number() -> None:
    text = "__device__ void f() {\n float a[4];\n float b[4]; g(a, b); { float a[2]; g(a); } }"
    found = Rewriter(loops=False, arrays=True)(f'# 1 "/project/k.cu"\n{text}', lambda _: "")
    numbers = [int(each) for each in re.findall(r"nothing_in<(\d+)", found)]
    assert len(set(numbers)) == 3
    assert all(0 < each < 2**22 for each in numbers)
    assert '"/project/k.cu", 2, "a"}' in found
    assert '"/project/k.cu", 3, "a"}' in found
