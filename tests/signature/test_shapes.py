from __future__ import annotations

from typing import Any

import pytest

from opwright.errors import ArgumentError
from opwright.signature import (
    Binding,
    Constant,
    DataAxis,
    DType,
    Traffic,
    bytes_moved,
    operations,
    output_shapes,
    output_types,
    parse,
)

LSTM = parse("f(x: T[..., N], w: T[N, 2]?, y: f32[N]!) -> (a: T[..., N//2], b: acc(T)[]; r: i64[3*N], k: bool[?K, N])")
BOUND = Binding({"N": 5}, (2, 3), {"T": DType.F16})


def test_shapes_and_types() -> None:
    assert output_shapes(LSTM, BOUND) == [(2, 3, 2), ()]
    assert output_shapes(LSTM, BOUND, with_residuals=True) == [(2, 3, 2), (), (15,), (DataAxis("K"), 5)]
    assert output_types(LSTM, BOUND) == [DType.F16, DType.F32]
    assert output_types(LSTM, BOUND, with_residuals=True) == [DType.F16, DType.F32, DType.I64, DType.BOOL]
    assert output_shapes(parse("f(x: T[N]) -> (y: T[?K<=4])"), BOUND) == [(DataAxis("K", Constant(4)),)]
    assert output_shapes(parse("f(x: T[N])"), BOUND) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(x: T[N]) -> (y: T[N-6])", "the shape of y is [N-6]: N-6 is negative"),
        ("f(x: T[N]) -> (y: T[4//(N-5)])", "the shape of y is [4//(N-5)]: division by zero in 4//(N-5)"),
        ("f_backward(grad_x: T[N]) -> (y: T[M])", "y: no argument tells M"),
    ],
)
def test_texts(text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        output_shapes(parse(text), Binding({"N": 5}, None, {"T": DType.F32}))
    signature = parse(text)
    assert str(caught.value) == f"{signature.name}(): {message}\n  bound so far: N=5\n  signature:    {text}"


def test_what_a_backward_lacks() -> None:
    signature = parse("f_backward(grad_x: T[]) -> (y: U[...])")
    bound = Binding({}, None, {"T": DType.F32})
    with pytest.raises(ArgumentError) as caught:
        output_shapes(signature, bound)
    assert str(caught.value) == f"f_backward(): y: no argument tells the shape of '...'\n  signature:    {signature}"
    with pytest.raises(ArgumentError) as caught:
        output_types(signature, bound)
    assert str(caught.value) == f"f_backward(): y: no argument tells U\n  signature:    {signature}"


def test_symbolic_checks() -> None:
    checks: list[tuple[Any, str]] = []
    signature = parse("f(x: T[N]) -> (y: T[N-6, 10//N])")
    shapes = output_shapes(signature, BOUND, check=lambda condition, text: checks.append((condition, text())))
    assert shapes == [(-1, 2)]
    tail = f"\n  bound so far: N=5\n  signature:    {signature}"
    assert checks == [
        (False, "f(): the shape of y is [N-6, 10//N]: N-6 is negative" + tail),
        (True, "f(): the shape of y is [N-6, 10//N]: division by zero in 10//N" + tail),
        (True, "f(): the shape of y is [N-6, 10//N]: 10//N is negative" + tail),
    ]


def test_traffic() -> None:
    x, w, y, a, b, r = 2 * 3 * 5 * 2, 5 * 2 * 2, 5 * 4, 2 * 3 * 2 * 2, 4, 15 * 8
    assert bytes_moved(LSTM, BOUND) == Traffic(x + w + y, a + b + y)
    assert bytes_moved(LSTM, BOUND, present=()) == Traffic(x + y, a + b + y)
    assert bytes_moved(LSTM, BOUND, present={"w"}, with_residuals=True) == Traffic(x + w + y, a + b + r + y)
    assert bytes_moved(LSTM, BOUND).total == x + w + a + b + 2 * y
    bounded = parse("f(x: T[N], k: int) -> (i: i64[?K<=N, 2])")
    assert bytes_moved(bounded, BOUND) == Traffic(5 * 2, 5 * 2 * 8)


def test_operations_are_what_flops_says() -> None:
    product = parse("f(a: T[M, K], b: T[K, N], k: int) -> (c: T[M, N]) flops: 2*M*N*K + k")
    assert operations(product, Binding({"M": 2, "N": 3, "K": 5}, None, {}), {"k": 7}) == 2 * 2 * 3 * 5 + 7
    leading = parse("f(x: T[N]) -> (y: T[]) batched flops: ...*(N - 1)")
    assert operations(leading, Binding({"N": 4}, (2, 3), {}), {}) == 2 * 3 * (4 - 1)
    assert operations(product.replaced(flops=None), Binding({}, None, {}), {}) is None
    divided = parse("f(x: T[N], k: int) -> (y: T[N]) flops: N // k")
    with pytest.raises(ArgumentError, match=r"flops: division by zero in N//k"):
        operations(divided, Binding({"N": 4}, None, {}), {"k": 0})
