"""Lists of tensors as parameters of functions: what fits, and the errors of what doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.errors import SourceError
from opwright.sources import scan
from opwright.sources.matching import match

SIGNATURE = "f(xs: list[T[M, each N]], w: T[M]) -> (ys: list[T[each N]])"


def matched(parameters: str, signature: str = SIGNATURE, name: str = "f.cpp") -> None:
    text = f'OPWRIGHT("{signature}")\n' + "template <class T>\n" * ("T[" in signature) + f"void f({parameters}) {{}}"
    (kernel,) = scan(Path(name), text).kernels
    match(kernel)


@pytest.mark.parametrize("xs", ["List<const T, 2> xs", "StridedList<const T, 2> xs", "opwright::List<const T, 2> list"])
def test_what_fits(xs: str) -> None:
    matched(f"{xs}, Tensor<const T, 1> w, List<T, 1> ys")
    matched(f"{xs}, Tensor<const T, 1> w, StridedList<T, 1> ys, int64_t M")
    matched("List<const T> xs, List<T> ys", "f(xs: list[T[each ..., 3]]) -> (ys: list[T[each ...]])")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        (
            "Tensor<const T, 2> xs, Tensor<const T, 1> w, List<T, 1> ys",
            "a list of tensors is a List<...> or a StridedList<...>",
        ),
        ("List<const T, 2> xs, List<const T, 1> w, List<T, 1> ys", "it is one tensor"),
        ("List<const T, 1> xs, Tensor<const T, 1> w, List<T, 1> ys", "its rank is 2"),
        ("List<T, 2> xs, Tensor<const T, 1> w, List<T, 1> ys", "an input's elements are const"),
        ("List<const T, 2> xs, Tensor<const T, 1> w, List<const T, 1> ys", "the kernel writes to it"),
        ("List<const float, 2> xs, Tensor<const T, 1> w, List<T, 1> ys", "its elements are T"),
        (
            "List<const T, 2> xs, Tensor<const T, 1> w, List<T, 1> ys, int64_t N",
            "leave out `int64_t N`: each tensor of a list has its own, as in xs[i].size(0)",
        ),
    ],
)
def test_what_doesnt_fit(parameters: str, problem: str) -> None:
    with pytest.raises(SourceError) as caught:
        matched(parameters)
    assert problem in str(caught.value)


def test_a_c_function_has_no_lists() -> None:
    with pytest.raises(SourceError, match="a C function can't be given xs, a list of tensors"):
        matched("const float *xs, float *y", "f(xs: list[f32[each N]]) -> (y: f32[])", "f.c")
