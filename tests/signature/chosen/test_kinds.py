"""Arguments that are element types or devices: what a signature may say of them, and what they tell in a call."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from opwright.errors import ArgumentError
from opwright.signature import DType, NotationError, TensorInfo, bind, parse, sample, schema
from opwright.signature.derivatives import obstacle
from opwright.signature.wiring import suggestion

CAST = parse("cast(x: T[N], to: dtype(W) = f32) -> (y: W[N]) where W in (f32, i64)")
LIKE = parse("like(x: T[N], to: dtype(W) = T) -> (y: W[N])")
MADE = parse("made(n: int, to: dtype(T) = f64, where: device) -> (y: T[n])")
TOGETHER = parse("f(x: T[N], to: dtype(W)) -> (y: W[N], z: V[N]) where (W, V) in ((f32, f64), (f16, f32))")


@pytest.mark.parametrize("sig", [CAST, LIKE, MADE, TOGETHER])
def test_round_trip(sig: Any) -> None:
    assert parse(str(sig)) == sig
    assert pickle.loads(pickle.dumps(sig)) == sig  # noqa: S301 - our own


def test_schemas() -> None:
    assert schema(CAST) == "cast(Tensor x, ScalarType to=float32) -> Tensor"
    assert schema(LIKE) == "like(Tensor x, ScalarType? to=None) -> Tensor"
    assert schema(MADE) == "made(SymInt n, ScalarType to=float64, Device? where=None) -> Tensor"
    assert schema(TOGETHER) == "f(Tensor x, ScalarType to) -> (Tensor, Tensor)"


X = {"x": TensorInfo((3,), DType.F64)}


def test_types_in_a_call() -> None:
    assert bind(CAST, X, scalars={"to": DType.I64}).types == {"T": DType.F64, "W": DType.I64}
    assert bind(LIKE, X, scalars={"to": None}).types == {"T": DType.F64, "W": DType.F64}
    assert bind(LIKE, X, scalars={"to": 5}).types["W"] is DType.F16  # PyTorch's number of it
    assert bind(TOGETHER, X, scalars={"to": DType.F32}).types == {"T": DType.F64, "W": DType.F32, "V": DType.F64}
    with pytest.raises(ArgumentError, match=r"W = bfloat16 \(to\) is none of|to is bfloat16, expected W in"):
        bind(TOGETHER, X, scalars={"to": DType.BF16})


def test_an_input_of_the_same_variable() -> None:
    sig = parse("f(x: W[N], to: dtype(W)) -> (y: W[N])")
    with pytest.raises(ArgumentError, match=r"x has element type float64, expected W = float32 \(to\)"):
        bind(sig, X, scalars={"to": DType.F32})


MISTAKES = [
    (
        "f(x: T[N], ^to: dtype(W)) -> (y: T[N])",
        "'to' says what W is, and no tensor has that element type",
        "-> (y",
    ),
    ("f(x: T[N], to: dtype(W) = ^g32) -> (y: W[N])", "expected an element type for 'to', or a type variable", ""),
    ("f(x: T[N]?, w: f32[N], ^to: dtype(W) = T) -> (y: W[N])", "'to' is T by default, which no input that is", "x: "),
    (
        "f(x: T[N], to: dtype(W) = i64) -> (y: W[N]) where ^W in (f32, f16)",
        "'to' is i64 by default, and W is one",
        "wh",
    ),
    ("f(x: T[N], a: dtype(W), ^b: dtype(W)) -> (y: W[N])", "'a' and 'b' both say what W is", "another variable: b: dt"),
    ("f(x: T[N], to: dtype(W)^?) -> (y: W[N])", "'to' is an element type and can't be optional", "leave out the mark"),
    ("f(x: T[N], to: dtype(^w)) -> (y: T[N])", "expected a type variable, found 'w'", "a capital letter: T"),
    (
        "f(x: T[N], on: device ^= cpu) -> (y: T[N])",
        "'on' is a device: that of the tensors, or the CPU, is",
        "on: device",
    ),
    ("f(x: T[N], a: device, ^b: device) -> (y: T[N])", "an operator is on one device, and has two", "leave"),
    (
        "f_backward(g: T[N], ^to: dtype(W)) -> (grad_x: W[N])",
        "'to' says what W is, which a backward is told",
        "leave it",
    ),
    (
        "f_backward(g: T[N], ^on: device) -> (grad_x: T[N])",
        "a backward is on the device of its tensors",
        "leave it out",
    ),
    (
        "f(n: int, ^dtype: float, to: device) -> (y: T[n])",
        "an operator without input tensors has a 'dtype' of",
        "rename",
    ),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MISTAKES)
def test_mistakes(marked: str, message: str, fix: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(marked.replace("^", ""))
    assert caught.value.message.startswith(message)
    assert caught.value.position == marked.index("^")
    assert (caught.value.fix or "").startswith(fix)


def test_samples_have_the_type_that_they_say() -> None:
    rng = random.Random(0)
    drawn = [sample(CAST, rng) for _ in range(50)]
    assert all(each.scalars["to"] is each.binding.types["W"] for each in drawn)
    assert {each.scalars["to"] for each in drawn} == {DType.F32, DType.I64}


def test_derivatives() -> None:
    assert obstacle(parse("f(x: T, to: dtype(W)) -> (y: W)")) == "to says which type an argument or a result has"
    assert suggestion(LIKE) == "like_backward(grad_y: W[N], x: T[N]) -> (grad_x: T[N])"
