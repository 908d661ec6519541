"""Binding: the sizes and element types that a call gives to the names of a signature, and the texts of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, TensorInfo, bind, parse
from tests.signature.binding import F16, F32, F64, I64, LLTM, info, lltm, refusal


def test_binding() -> None:
    assert bind(LLTM, lltm()) == Binding({"B": 16, "I": 32, "S": 128}, None, {"T": F32})


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("f(a: T[N], b: W[N]?) -> (y: i64[]) where W in (f16, i32)", {"T": F32, "W": F16}),
        ("f(a: T[N], b: T[N]?) -> (y: i64[])", {"T": F32}),
        ("f_backward(a: T[N], b: W[N]?) -> (grad_a: T[N])", {"T": F32}),  # W is the forward's
        ("f(a: T[N], b: W[N]?) -> (y: i64[]) where (T, W) in ((f32, f16), (f32, f64))", {"T": F32}),
    ],
)
def test_a_type_that_only_absent_tensors_have(text: str, types: dict[str, DType]) -> None:
    assert bind(parse(text), {"a": info(3), "b": None}).types == types


@pytest.mark.parametrize(
    ("text", "shapes", "axes", "ellipsis"),
    [
        ("f(a: T[M+N], b: T[N])", [(7,), (3,)], {"N": 3, "M": 4}, None),
        ("f(a: T[K*N], b: T[K])", [(6,), (3,)], {"K": 3, "N": 2}, None),
        ("f(a: T[2*N-1])", [(5,)], {"N": 3}, None),
        ("f(a: T[5-N])", [(5,)], {"N": 0}, None),
        ("f(a: T[(N+1)//2], b: T[N])", [(2,), (3,)], {"N": 3}, None),
        ("f(a: T[M+N+K], b: T[N+K], c: T[K])", [(9,), (5,), (2,)], {"K": 2, "N": 3, "M": 4}, None),
        ("f(a: T[..., N], b: T[...])", [(2, 3, 4), (2, 3)], {"N": 4}, (2, 3)),
        ("f(a: T[...])", [()], {}, ()),
        ("f(a: T[N, 2])", [(0, 2)], {"N": 0}, None),
        ("f(a: T[])", [()], {}, None),
        ("f(a: T[K*N], b: T[K], c: T[N])", [(0,), (0,), (4,)], {"K": 0, "N": 4}, None),
        ("f(a: T[K*N], b: T[K], c: T[2*N])", [(0,), (0,), (4,)], {"K": 0, "N": 2}, None),
        ("f(a: T[M*(N+1)], b: T[M])", [(6,), (2,)], {"M": 2, "N": 2}, None),
    ],
)
def test_equations(text: str, shapes: list[tuple[int, ...]], axes: dict[str, int], ellipsis: Any) -> None:
    arguments: dict[str, TensorInfo | None] = {n: info(*shape) for n, shape in zip("abc", shapes, strict=False)}
    assert bind(parse(text), arguments) == Binding(axes, ellipsis, {"T": F32})


def test_optional_tensors_may_be_absent() -> None:
    signature = parse("f(x: T[N], y: T[N, M]?) -> (z: T[N])")
    assert bind(signature, {"x": info(3)}).axes == {"N": 3}
    assert bind(signature, {"x": info(3), "y": None}).axes == {"N": 3}
    assert bind(signature, {"x": info(3), "y": info(3, 4)}).axes == {"N": 3, "M": 4}


def test_a_backward_knows_what_its_forward_bound() -> None:
    signature = parse("f_backward(grad_z: T[M*N]) -> (grad_x: T[..., M], grad_y: U[N])")
    known = {"M": 2, "N": 3}
    bound = bind(signature, {"grad_z": info(6)}, axes=known, ellipsis=(7,), types={"U": F64})
    assert bound == Binding(known, (7,), {"T": F32, "U": F64})
    assert refusal(str(signature), {"grad_z": info(7)}, axes=known, ellipsis=(7,)) == (
        "f_backward(): grad_z has shape (7,), expected [M*N] = (6,)\n"
        "  bound so far: ...=(7,) (forward), M=2 (forward), N=3 (forward)\n"
        "  signature:    f_backward(grad_z: T[M*N]) -> (grad_x: T[..., M], grad_y: U[N])"
    )
    assert refusal("f_backward(grad_z: T[N], x: T[N])", {"grad_z": info(1), "x": info(1)}, types={"T": F64}) == (
        "f_backward(): grad_z has element type float32, expected T = float64 (forward)\n"
        "  signature:    f_backward(grad_z: T[N], x: T[N])\n"
        "  likely fix:   grad_z.to(torch.float64)"
    )


SIGNATURE = f"\n  signature:    {LLTM}"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"weights": info(384, 161)},
            "lltm(): weights has shape (384, 161), expected [3*S, I+S] = (384, 160)\n"
            "  bound so far: B=16 (input), I=32 (input), S=128 (old_h)" + SIGNATURE,
        ),
        (
            {"old_cell": info(16, 127)},
            "lltm(): old_cell has shape (16, 127), expected [B, S] = (16, 128)\n"
            "  bound so far: B=16 (input), I=32 (input), S=128 (old_h)" + SIGNATURE,
        ),
        ({"old_h": info(16)}, "lltm(): old_h has shape (16,), expected [B, S]: 2 axes, not 1" + SIGNATURE),
        ({"bias": info()}, "lltm(): bias has shape (), expected [3*S]: 1 axis, not 0" + SIGNATURE),
        ({"bias": None}, "lltm(): bias is missing, expected T[3*S]" + SIGNATURE),
        (
            {"gates": info(1)},
            "lltm(): no tensor is named 'gates', expected input, weights, bias, old_h, old_cell" + SIGNATURE,
        ),
        (
            {"bias": info(384, dtype=F64)},
            "lltm(): bias has element type float64, expected T = float32 (input)"
            + SIGNATURE
            + "\n  likely fix:   bias.to(torch.float32)",
        ),
        (
            {"input": info(16, 32, dtype=I64)},
            "lltm(): input has element type int64, expected T in (float32, float64, float16, bfloat16)"
            + SIGNATURE
            + "\n  likely fix:   input.to(torch.float32), or in the signature: where T in (f32, f64, f16, bf16, i64)",
        ),
    ],
)
def test_texts(changes: dict[str, TensorInfo | None], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        bind(LLTM, lltm(**changes))
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "arguments", "message", "bound"),
    [
        ("f(a: T[3*S])", {"a": info(5)}, "a has shape (5,), expected [3*S]: no S gives 3*S = 5", ""),
        ("f(a: T[N+4])", {"a": info(3)}, "a has shape (3,), expected [N+4]: no N gives N+4 = 3", ""),
        ("f(a: T[5-N])", {"a": info(6)}, "a has shape (6,), expected [5-N]: no N gives 5-N = 6", ""),
        (
            "f(a: T[..., C], b: T[...])",
            {"a": info(2, 3, 4), "b": info(2, 5)},
            "b has shape (2, 5), expected [...] = (2, 3)",
            "...=(2, 3) (a), C=4 (a)",
        ),
        (
            "f(a: T[..., C], b: T[...])",
            {"a": info(2, 3, 4), "b": info(2)},
            "b has shape (2,), expected [...] = (2, 3)",
            "...=(2, 3) (a), C=4 (a)",
        ),
        ("f(a: T[..., C])", {"a": info()}, "a has shape (), expected [..., C]: at least 1 axis, not 0", ""),
        (
            "f(a: T[K*N], b: T[K])",
            {"a": info(0), "b": info(0)},
            "a has shape (0,), expected [K*N], and no argument tells N",
            "K=0 (b)",
        ),
        (
            "f(a: T[N//K], b: T[K], c: T[N])",
            {"a": info(0), "b": info(0), "c": info(4)},
            "a has shape (0,), expected [N//K]: division by zero in N//K",
            "K=0 (b), N=4 (c)",
        ),
        ("f(a: T[N, 2])", {"a": info(5, 3)}, "a has shape (5, 3), expected [N, 2] = (5, 2)", "N=5 (a)"),
        ("f(a: T[2, 3*S])", {"a": info(1, 3)}, "a has shape (1, 3), expected [2, 3*S] = (2, ?)", ""),
        ("f(a: T[N-3, N])", {"a": info(0, 1)}, "a has shape (0, 1), expected [N-3, N] = (-2, 1)", "N=1 (a)"),
    ],
)
def test_shape_texts(text: str, arguments: dict[str, TensorInfo | None], message: str, bound: str) -> None:
    known = f"\n  bound so far: {bound}" if bound else ""
    assert refusal(text, arguments) == f"f(): {message}{known}\n  signature:    {text}"


@pytest.mark.parametrize(
    ("text", "arguments", "message", "fix"),
    [
        (
            "f(a: i64[N])",
            {"a": info(1, dtype=DType.I32)},
            "a has element type int32, expected i64 = int64",
            "a.to(torch.int64)",
        ),
        (
            "f(a: T[N], b: acc(T)[N])",
            {"a": info(1, dtype=F16), "b": info(1, dtype=F16)},
            "b has element type float16, expected acc(T) = float32 (a)",
            "b.to(torch.float32)",
        ),
        (
            "f(a: T[N]) where T in (i32, i64)",
            {"a": info(1)},
            "a has element type float32, expected T in (int32, int64)",
            "a.to(torch.int32), or in the signature: where T in (i32, i64, f32)",
        ),
    ],
)
def test_type_texts(text: str, arguments: dict[str, TensorInfo | None], message: str, fix: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {text}\n  likely fix:   {fix}"


def test_a_type_that_nothing_tells() -> None:
    assert refusal("f_backward(grad_z: acc(T)[N])", {"grad_z": info(1)}) == (
        "f_backward(): grad_z has element type acc(T), but no argument tells T\n"
        "  signature:    f_backward(grad_z: acc(T)[N])"
    )


def test_a_backward_that_is_called_by_hand_with_a_negative_size() -> None:
    signature = parse("f_backward(grad_y: T[]) -> (grad_x: T[N])")
    with pytest.raises(ArgumentError, match="axis_N is -1, expected a size, at least 0"):
        bind(signature, {"grad_y": info()}, axes={"N": -1})
