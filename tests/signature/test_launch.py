"""The modifier that says how a kernel is launched; what is refused is in test_messages.py."""

from __future__ import annotations

import pytest

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
