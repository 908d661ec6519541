"""What can't be derived is refused when the source is read, with the reason and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright
from opwright.codegen.collect import collect
from opwright.errors import SignatureError, UnsupportedError
from opwright.signature import DType, parse
from opwright.toolchain import Options

VIEWS = "template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> y) { y[0] = x[0]; }"
CASES = {
    'OPWRIGHT("f(x: f32[N]) -> (y: f32[N]) derived")\nvoid f(Tensor<const float, 1> x, Tensor<float, 1> y) {}': (
        "it isn't a template over its element type",
        "write it in C++ as a template: template <class T> void f(...); or write f_backward",
    ),
    'OPWRIGHT("f(x: T[N], w: f32[N]) -> (y: T[N]) derived")\ntemplate <class T> void f(Tensor<const T, 1> x, '
    "Tensor<const float, 1> w, Tensor<T, 1> y) {}": (
        "w has a fixed type, which can't carry a derivative",
        "write w: T",
    ),
    'OPWRIGHT("f(x: T[N], w: T[N]?!) -> (y: T[N]) derived")\n'
    "template <class T> void f(Tensor<const T, 1> x, Tensor<T, 1> w, Tensor<T, 1> y) {}": (
        "it overwrites w, which may be absent",
        "an operator that always takes w",
    ),
    'OPWRIGHT("f(old_x: T[N], x: T[N]!) derived")\n'
    "template <class T> void f(Tensor<const T, 1> old_x, Tensor<T, 1> x) {}": (
        "old_x is what the overwritten value of x would be called; rename that parameter",
        "write f_backward",
    ),
    'OPWRIGHT("f(x: T[N], old_rng: int, rng: generator(1)) -> (y: T[N]) derived")\n'
    "template <class T> void f(Tensor<const T, 1> x, int64_t old_rng, Tensor<T, 1> y, Generator rng) {}": (
        "old_rng is what the state of rng would be called; rename that parameter",
        "write f_backward",
    ),
    'OPWRIGHT("f(xs: list[T[each N]]) -> (ys: list[T[each N]]) derived")\n'
    "template <class T> void f(List<const T, 1> xs, List<T, 1> ys) {}": ("xs is a list of tensors", "write f_backward"),
    'OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (c64, c128) derived")\n' + VIEWS: (
        "x may be complex, and the tape has real numbers",
        "write f_backward, or take the parts as reals",
    ),
    'OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (i32, i64) derived")\n' + VIEWS: (
        "none of its arguments has a derivative",
        "leave out 'derived'",
    ),
    'OPWRIGHT("f(x: T[N]) -> (y: i64[N]) derived")\n'
    "template <class T> void f(Tensor<const T, 1> x, Tensor<int64_t, 1> y) {}": (
        "none of its results has a derivative",
        "leave out 'derived'",
    ),
    'OPWRIGHT("f(x: T[A, B, C, D, E, F, G, H, I]) -> (y: T[A, B, C, D, E, F, G, H, I]) independent A, B, C, D, E, F, '
    'G, H, I derived")\ntemplate <class T> void f(Tensor<const T, 9> x, Tensor<T, 9> y) {}': (
        "it is independent along more than 8 axes",
        "leave out some of them",
    ),
}


@pytest.mark.parametrize("source", CASES)
def test_refused(source: str) -> None:
    reason, fix = CASES[source]
    place = list(CASES).index(source)
    with pytest.raises(UnsupportedError) as raised:
        opwright.load_inline(f"derivable_{place}", cpp=f"\n{source}\n")
    first, signature, last = str(raised.value).splitlines()
    assert first.endswith(f"derivable_{place}.cpp:2: f: its gradient can't be derived: {reason}")
    assert signature == f"  signature:  {parse(source.split(chr(34))[1])}"
    assert last == f"  likely fix: {fix}"


@pytest.mark.parametrize("backend", [None, "emulate"])
def test_cuda(backend: str | None) -> None:
    source = 'OPWRIGHT("f(x: T[N]) -> (y: T[N]) derived launch over N, threads 64")\n'
    source += "template <class T> __global__ void f(Tensor<const T, 1> x, Tensor<T, 1> y) {}\n"
    with pytest.raises(UnsupportedError) as raised:
        opwright.load_inline(f"derivable_cuda_{backend}", cuda=source, backend=backend)
    first, *_, last = str(raised.value).splitlines()
    assert first.endswith("f: its gradient can't be derived: it is a CUDA kernel, and there is no tape on a device")
    fix = "write f_backward; opwright check compares that with a gradient that it derives under emulation"
    assert last == f"  likely fix: {fix}"


def test_c() -> None:
    source = 'OPWRIGHT("f(x: f32[N]) -> (y: f32[N]) derived")\nvoid f(const float *x, float *y, int64_t N) {}\n'
    with pytest.raises(UnsupportedError) as raised:
        opwright.load_inline("derivable_c", c=source)
    assert "f: its gradient can't be derived: it is a C function, and a gradient comes from numbers of" in str(
        raised.value
    )
    assert "likely fix: write it in C++ as a template: template <class T> void f(...); or write f_backw" in str(
        raised.value
    )


def test_a_written_backward_that_is_no_template() -> None:
    """Where an operator says ``derived``, its second derivative comes from the written backward."""
    with pytest.raises(UnsupportedError, match="f_backward: its gradient can't be derived: it isn't a template"):
        opwright.load_inline(
            "derivable_second",
            cpp=f"""OPWRIGHT("f(x: T[N]) -> (y: T[N]) where T in (f32) derived")
            {VIEWS}
            OPWRIGHT("f_backward(grad_y: f32[N]) -> (grad_x: f32[N])")
            void f_backward(Tensor<const float, 1> grad_y, Tensor<float, 1> grad_x) {{}}""",
        )


def test_pointwise() -> None:
    with pytest.raises(SignatureError, match="derivatives of a pointwise operator are derived without a word"):
        parse("f(x: T) -> (y: T) derived")


def test_stands_once() -> None:
    with pytest.raises(SignatureError, match="'derived' stands twice"):
        parse("f(x: T[N]) -> (y: T[N]) derived derived")


def test_the_word_costs_a_forward_nothing(tmp_path: Path) -> None:
    """What is compiled for a forward is the same text with the word and without."""
    source, signature = tmp_path / "derivable_forward.cpp", 'OPWRIGHT("f(x: T[N]) -> (y: T[N]) derived")'
    texts = []
    for mark in (signature, signature.replace(" derived", "")):
        source.write_text(f"{mark}\n{VIEWS}\n")
        (kernels,) = collect([source], Options())
        texts.append(kernels.unit({"T": DType.F32}).text.replace(" derived", ""))
        if mark == signature:
            derived = kernels.derived_unit("f_backward", {"T": DType.F32}, 0).text
            assert "opwright/tape/taped.h" in derived
    assert texts[0] == texts[1]
    assert "taped" not in texts[0]
