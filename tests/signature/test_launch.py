"""The modifier that says how a kernel is launched."""

from __future__ import annotations

import pytest

from opwright import SignatureError
from opwright.signature import Axis, Binary, Constant, Launch, parse


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("launch over N, threads 256", None),
        ("launch over N threads 256", "launch over N, threads 256"),
        ("launch over M, N threads 16,8 shared 4*M", "launch over M, N, threads 16, 8, shared 4*M"),
        ("launch over (N+k)//2, M, 2, threads 32, 1, 2, shared k", None),
    ],
)
def test_it_reads_back_as_it_was(written: str, canonical: str | None) -> None:
    signature = parse(f"f(x: T[N, M], k: int) -> (y: T[N]) where T in (f32) {written}")
    assert str(signature.launch) == (canonical or written)
    assert parse(str(signature)) == signature
    assert signature.operator == parse("f(x: T[N, M], k: int) -> (y: T[N]) where T in (f32)")
    plain = signature.operator
    assert plain.operator is plain


def test_leading_axes_are_counted() -> None:
    signature = parse("f(x: T[..., C]) -> (y: T[..., C]) launch over ...*C, threads 64")
    assert signature.launch == Launch((Binary("*", Axis("..."), Axis("C")),), (64,), None)
    assert signature.axes == ("C",)
    assert Launch((Constant(1),), (1,)).exprs == (Constant(1),)


@pytest.mark.parametrize(
    ("launch", "message", "fix"),
    [
        ("launch N", "expected 'over' after 'launch', found 'N'", "launch over N, threads 256"),
        (
            "launch over N",
            "expected 'threads' after what a launch is over, found the end",
            "launch over N, threads 256",
        ),
        ("launch over N, threads", "expected a number of threads, found the end", "threads 256"),
        ("launch over N, threads N", "expected a number of threads, found 'N'", "launch over N, threads 256"),
        ("launch over N, threads 0", "a block has at most 1024 threads, and at least 1; found 0", "threads 256"),
        ("launch over N, N, threads 64, 32", "a block has at most 1024 threads, and at least 1; found 64 * 32", ""),
        ("launch over N, N, N, threads 1, 1, 128", "64 of them along z; found 128", ""),
        ("launch over N, threads 8, 8", "threads are given for 2 axes, and the launch is over 1", ""),
        ("launch over N, N, N, N, threads 8", "a grid has 3 axes at most, not 4", "multiply some of them"),
        ("launch over K, threads 8", "a launch can't be over K: the axes and ints are: N, k", ""),
        ("launch over a, threads 8", "a launch can't be over a: the axes and ints are: N, k", ""),
        ("launch over ..., threads 8", "a launch can't be over ...: the axes and ints are: N, k", ""),
        ("launch over N, threads 8 launch over N, threads 8", "'launch' stands twice", "leave one out"),
    ],
)
def test_what_is_refused(launch: str, message: str, fix: str) -> None:
    with pytest.raises(SignatureError) as error:
        parse(f"f(x: T[N], a: float, k: int) -> (y: T[N]) {launch}")
    assert message in str(error.value)
    assert fix in str(error.value).partition("likely fix: ")[2]


def test_operators_that_are_not_launched() -> None:
    with pytest.raises(SignatureError, match="a pointwise operator is launched by Opwright"):
        parse("f(x: T) -> (y: T) launch over 1, threads 1")
    with pytest.raises(SignatureError, match=r"a kernel on the device can't decide \?K: it asks the host for memory"):
        parse("f(x: T[N]) -> (y: T[?K]) launch over N, threads 8")
