"""Leading axes that broadcast, and element types that promote, as in PyTorch."""

from __future__ import annotations

import itertools
import random

import pytest

from opwright.signature import Binding, DType, TensorInfo, bind, parse
from tests.signature.binding import F16, F32, F64, I64, info, refusal

ADD = "f(x: T, y: T, w: T?) -> (z: T)"
DOT = "f(x: T[N], y: T[N, M]) -> (z: T[M]) batched"
RULE = "sizes, counted from the last, are equal or 1"
INTO = "f(x: T!, y: T, i: i64) -> ()"


def test_shapes_broadcast_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = random.Random(3)
    refused = 0
    for _ in range(500):
        shapes = [[rng.choice((0, 1, 1, 2, 3)) for _ in range(rng.randint(0, 3))] for _ in range(3)]
        arguments: dict[str, TensorInfo | None] = {n: info(*s) for n, s in zip("xyw", shapes, strict=True)}
        try:
            expected = tuple(torch.broadcast_shapes(*shapes))
        except RuntimeError:
            assert "doesn't broadcast with" in refusal(ADD, arguments)
            refused += 1
        else:
            assert bind(parse(ADD), arguments) == Binding({}, expected, {"T": F32})
    assert 50 < refused < 450


def test_only_leading_axes_broadcast() -> None:
    bound = bind(parse(DOT), {"x": info(7, 1, 3), "y": info(5, 3, 2)})
    assert bound == Binding({"N": 3, "M": 2}, (7, 5), {"T": F32})
    assert bind(parse(DOT), {"x": info(3), "y": info(3, 2)}).ellipsis == ()
    assert refusal(DOT, {"x": info(7, 1), "y": info(3, 2)}) == (
        "f(): y has shape (3, 2), expected [N, M] = (..., 1, 2)\n"
        f"  bound so far: ...=(7,) (x, y), N=1 (x), M=2 (y)\n  signature:    {DOT}"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            ADD,
            {"x": info(2, 3), "y": info(4), "w": None},
            (f"y has shape (4,), which doesn't broadcast with (2, 3): {RULE}\n  bound so far: ...=(2, 3) (x)"),
        ),
        (
            ADD,
            {"x": info(2, 1), "y": info(4), "w": info(3, 4)},
            (f"w has shape (3, 4), which doesn't broadcast with (2, 4): {RULE}\n  bound so far: ...=(2, 4) (x, y)"),
        ),
        (
            DOT,
            {"x": info(2, 3), "y": info(4, 3, 2)},
            (
                f"y has shape (4, 3, 2), which doesn't broadcast with (2,): {RULE}\n"
                "  bound so far: ...=(2,) (x), N=3 (x)"
            ),
        ),
        (DOT, {"x": info(3), "y": info(3)}, "y has shape (3,), expected [N, M] batched: at least 2 axes, not 1"),
        (
            INTO,
            {"x": info(1, 3), "y": info(2, 3), "i": info(dtype=I64)},
            (
                "x has shape (1, 3) and is overwritten, but the arguments broadcast to (2, 3)\n"
                "  bound so far: ...=(2, 3) (x, y, i)"
            ),
        ),
        (
            INTO,
            {"x": info(3), "y": info(3), "i": info(1, 1, dtype=I64)},
            (
                "x has shape (3,) and is overwritten, but the arguments broadcast to (1, 3)\n"
                "  bound so far: ...=(1, 3) (x, y, i)"
            ),
        ),
    ],
)
def test_texts_of_broadcasting(text: str, arguments: dict[str, TensorInfo | None], message: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {parse(text)}"


def test_a_shape_of_leading_axes_that_is_known() -> None:
    """With symbolic sizes only PyTorch can tell it; what is overwritten has to have it."""
    assert bind(parse(ADD), {"x": info(3), "y": info(1)}, ellipsis=(3,)).ellipsis == (3,)
    text = refusal(INTO, {"x": info(1), "y": info(3), "i": info(dtype=I64)}, ellipsis=(3,))
    assert text.startswith("f(): x has shape (1,) and is overwritten, but the arguments broadcast to (3,)\n")


@pytest.mark.parametrize("default", [F32, F64])
def test_types_promote_as_in_torch(default: DType) -> None:
    torch = pytest.importorskip("torch")
    text = "f(x: T, y: T) -> (z: T) where T in (f32, f64, f16, bf16, i64, i8, u8, bool)"  # u8 and i8 make an i16
    signature = parse(text)
    for (x, y), ranks in itertools.product(
        itertools.product(signature.allowed("T"), repeat=2), ((1, 1), (0, 1), (1, 0))
    ):
        tensors = [torch.ones([1] * r, dtype=getattr(torch, t.torch_name)) for t, r in zip((x, y), ranks, strict=True)]
        given: dict[str, TensorInfo | None] = {"x": TensorInfo((1,) * ranks[0], x), "y": TensorInfo((1,) * ranks[1], y)}
        expected = torch.result_type(*tensors)
        allowed = [getattr(torch, t.torch_name) for t in signature.allowed("T")]
        if expected in allowed:
            assert getattr(torch, bind(signature, given, default=default).types["T"].torch_name) == expected
        else:
            assert f"expected T in ({', '.join(t.torch_name for t in signature.allowed('T'))})" in refusal(text, given)


@pytest.mark.parametrize("default", [F32, F64])
def test_integers_are_computed_in_the_default_type(default: DType) -> None:
    """As in torch.sin(integers): where a variable has no integer types."""
    x, y = info(2, dtype=I64), info(dtype=DType.BOOL)
    assert bind(parse(ADD), {"x": x, "y": y}, default=default).types == {"T": default}
    assert bind(parse(ADD), {"x": x, "y": info(dtype=F16)}, default=default).types == {"T": F16}
    some = "f(x: T) -> (y: T) where T in (f32, f64, i32)"
    assert "x has element type int64, expected T in (float32, float64, int32)" in refusal(some, {"x": x})


def test_variables_promote_apart_and_concrete_types_never() -> None:
    signature = parse("f(x: T, y: T, u: U, i: i64) -> (z: U)")
    arguments = {"x": info(2, dtype=F16), "y": info(dtype=F32), "u": info(dtype=F64), "i": info(dtype=I64)}
    assert bind(signature, arguments).types == {"T": F16, "U": F64}
    assert refusal(str(signature), {**arguments, "i": info(dtype=DType.I32)}) == (
        "f(): i has element type int32, expected i64 = int64\n"
        f"  signature:    {signature}\n  likely fix:   i.to(torch.int64)"
    )


def test_batched_operators_never_promote() -> None:
    assert refusal(DOT, {"x": info(3), "y": info(3, 2, dtype=F64)}).startswith(
        "f(): y has element type float64, expected T = float32 (x)\n"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "message", "fix"),
    [
        (
            "f(x: T, y: T) where T in (f32, i32)",
            {"x": info(2), "y": info(2, dtype=F64)},
            "the element types x float32, y float64 promote to float64, expected T in (float32, int32)",
            "y.to(torch.float32)",
        ),
        (
            "f(x: T, y: T)",
            {"x": info(2, dtype=DType.U32), "y": info(2, dtype=I64)},
            (
                "the element types x uint32, y int64 have no type in common, expected T in (float32, float64, float16, "
                "bfloat16)"
            ),
            "y.to(torch.float32)",
        ),
        (
            "f(x: T) where T in (f64)",
            {"x": info(2)},
            "x has element type float32, expected T in (float64)",
            "x.to(torch.float64)",
        ),
        (
            "f(x: T!, y: T)",
            {"x": info(2, dtype=I64), "y": info(2)},
            "x has element type int64 and is overwritten, but the result is float32, which can't be cast to it",
            "x.to(torch.float32)",
        ),
    ],
)
def test_texts_of_promotion(text: str, arguments: dict[str, TensorInfo | None], message: str, fix: str) -> None:
    assert refusal(text, arguments) == f"f(): {message}\n  signature:    {parse(text)}\n  likely fix:   {fix}"


def test_what_is_overwritten_may_be_rounded() -> None:
    bound = bind(parse("f(x: T!, y: T)"), {"x": info(2, dtype=F16), "y": info(2, dtype=F64)})
    assert bound.types == {"T": F64}
