"""Element types of several type variables together: what follows from what, and which instances exist."""

from __future__ import annotations

import random
from typing import Any

import pytest

from opwright import ArgumentError
from opwright.signature import DType, NotationError, Signature, TensorInfo, bind, parse, sample
from opwright.signature.derivatives import with_derived
from opwright.signature.dtypes import BY_NAME
from opwright.signature.wiring import inherit

PAIRS = "where (T, W) in ((f16, f32), (f32, f32), (f32, f64))"
MATMUL = parse("mm(a: T[M, K], b: W[K, N]) -> (c: W[M, N]) " + PAIRS)
FOLLOWS = parse("total(x: T[N]) -> (y: W[]) where (T, W) in ((f16, f32), (bf16, f32), (f64, f64))")
THREE = parse("f(x: T[N], w: W[N]) -> (y: R[N]) where (T, W, R) in ((f16, f16, f32), (f16, f32, f64), (f32, f32, f32))")


def instances(signature: Signature) -> list[str]:
    return [", ".join(f"{name}={dtype}" for name, dtype in types.items()) for types in signature.instances()]


def test_only_the_combinations_are_instances() -> None:
    assert instances(MATMUL) == ["T=f16, W=f32", "T=f32, W=f32", "T=f32, W=f64"]
    assert instances(FOLLOWS) == ["T=f16, W=f32", "T=bf16, W=f32", "T=f64, W=f64"]
    mixed = parse(f"f(x: T[N], w: W[N], at: I[N]) {PAIRS}, I in (i32, i64)")
    assert len(instances(mixed)) == 6
    assert mixed.allowed("T") == (DType.F16, DType.F32)
    assert mixed.allowed("W") == (DType.F32, DType.F64)


def test_the_notation_is_kept() -> None:
    for signature in (MATMUL, FOLLOWS, THREE, parse(f"f(x: T[N], w: W[N], k: int) {PAIRS}, M = N//2, V = N*k")):
        assert parse(str(signature)) == signature


def types_of(signature: Signature, **dtypes: str) -> dict[str, str]:
    tensors: dict[str, Any] = {
        name: TensorInfo((2,) * len(_dims(signature, name)), BY_NAME[d]) for name, d in dtypes.items()
    }
    return {name: str(dtype) for name, dtype in bind(signature, tensors).types.items()}


def _dims(signature: Signature, name: str) -> tuple[object, ...]:
    return next(tensor.dims for tensor in signature.tensors if tensor.name == name)


def test_a_variable_follows_from_the_others() -> None:
    assert types_of(FOLLOWS, x="bf16") == {"T": "bf16", "W": "f32"}
    assert types_of(THREE, x="f16", w="f32") == {"T": "f16", "W": "f32", "R": "f64"}
    assert FOLLOWS.bound_types == ("T", "W")
    pointwise = parse("f(x: T, y: T) -> (z: W) where (T, W) in ((f32, f64), (f16, f32))")
    assert types_of(pointwise, x="f16", y="f16") == {"T": "f16", "W": "f32"}
    two = [("x", "f32"), ("y", "f16")]
    infos = {name: TensorInfo((2,), BY_NAME[dtype]) for name, dtype in two}
    assert bind(pointwise, infos).types == {"T": DType.F32, "W": DType.F64}


def test_a_combination_that_isnt_listed_is_an_error_that_lists_them() -> None:
    with pytest.raises(ArgumentError) as caught:
        types_of(MATMUL, a="f16", b="f64")
    text = str(caught.value)
    assert "T = float16 (a), W = float64 (b) is none of the combinations of element types, expected (T, W) in (" in text
    assert "((float16, float32), (float32, float32), (float32, float64))" in text
    assert "likely fix:   b.to(torch.float32)" in text
    with pytest.raises(
        ArgumentError, match=r"a has element type float64, expected T in \(float16, float32\)"
    ) as caught:
        types_of(MATMUL, a="f64", b="f64")
    assert "in the signature" not in str(caught.value)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("float16",), ["T=f16, W=f32"]),
        (("float32",), []),
        (("float64",), ["T=f64, W=f64"]),
        (("bfloat16", "float32"), ["T=bf16, W=f32"]),
    ],
    ids=lambda each: ",".join(sorted(each)),  # a set's own order is another in each process
)
def test_a_choice_of_types_neednt_name_what_follows(names: tuple[str, ...], expected: list[str]) -> None:
    chosen = [types for types in FOLLOWS.instances() if FOLLOWS.selects(types, {*names})]
    assert [", ".join(f"{v}={d}" for v, d in types.items()) for types in chosen] == expected


def test_samples_have_listed_combinations() -> None:
    seen = set()
    for seed in range(60):
        types = sample(THREE, random.Random(seed)).binding.types
        assert dict(types) in THREE.instances()
        seen.add(tuple(types.values()))
        assert sample(THREE, random.Random(seed), types={"W": DType.F16}).binding.types["R"] is DType.F32
    assert len(seen) == 3


def test_derivatives_have_what_they_need_of_them() -> None:
    backward = inherit(THREE, parse("f_backward(grad_y: R[N], w: W[N], x: T[N]) -> (grad_x: T[N], grad_w: W[N])"))
    assert len(backward.instances()) == 3
    one = inherit(FOLLOWS, parse("total_backward(grad_y: W[], x: f16[N]) -> (grad_x: f16[N])"))
    assert one.where == (("W", (DType.F32, DType.F64)),)
    signatures, derived = with_derived([parse("g(x: T) -> (y: W) where (T, W) in ((f16, f32), (f32, f64))")])
    assert "g_backward" in derived
    assert all(len(signature.instances()) == 2 for signature in signatures)


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("where (^t, W) in ((f16, f32), (f32, f32))", "expected a type variable, found 't'", "a capital letter: T"),
        ("where ^(T) in ((f16), (f32))", "T alone is in no combination", "where T in (f32, f64)"),
        (
            "where (T, W) in ((f16, f32), ^(f32))",
            "a combination has a type for each of T, W",
            "where (T, W) in ((f16, f32), (f32, f32))",
        ),
        (
            "where (T, W) in (^(f16, f32, f64), (f32, f32))",
            "a combination has a type for each of T, W",
            "where (T, W) in ((f16, f32), (f32, f32))",
        ),
        ("where (T, W) in ((f16, f32), ^(f16, f32))", "(f16, f32) is listed twice", "leave one out"),
        (
            "where ^(T, W) in ((f16, f32))",
            "there is one combination, so there is nothing to choose",
            "write f16, f32 instead of T, W",
        ),
        (
            "where T in (f16), (^T, W) in ((f16, f32), (f32, f32))",
            "the types of T are listed twice",
            "put them into one list",
        ),
        (
            "where (T, W) in ((f16, f32), (f32, f32)), ^W in (f32)",
            "the types of W are listed twice",
            "put them into one list",
        ),
        (
            "where (T, ^V) in ((f16, f32), (f32, f32))",
            "no tensor has the element type V; the type variables are: T, W",
            None,
        ),
        (
            "where (T, W) in (^f16, f32)",
            "expected '(' to begin a combination, found 'f16'",
            "where (T, W) in ((f16, f32), (f32, f32))",
        ),
    ],
)
def test_messages(text: str, message: str, fix: str | None) -> None:
    marked = "f(x: T[N], w: W[N]) -> (y: W[N]) " + text
    with pytest.raises(NotationError) as caught:
        parse(marked.replace("^", ""))
    assert caught.value.message == message
    assert caught.value.fix == fix
    assert caught.value.position == marked.index("^")


def test_what_the_inputs_dont_determine() -> None:
    with pytest.raises(NotationError, match="'y': no input that is always given determines the element type W"):
        parse(f"f(x: T[N]) -> (y: W[N]) {PAIRS}")
