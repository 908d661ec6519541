from __future__ import annotations

import pickle
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.errors import SignatureError
from opwright.signature import (
    Axis,
    Binary,
    Constant,
    DataAxis,
    DType,
    GeneratorParam,
    Launch,
    ScalarParam,
    Shape,
    Signature,
    TensorParam,
    TypeRef,
    parse,
    schema,
)
from opwright.signature.domains import Domain
from opwright.signature.scalars import BOOL, FLOAT, INT

T = TypeRef("var", "T")
N = Axis("N")
LLTM = (
    "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
    " -> (h: T[B, S], c: T[B, S]; gates: T[B, 3*S])"
)


@pytest.mark.slow
@given(data=st.data())
def test_round_trip(signatures: st.SearchStrategy[Signature], data: st.DataObject) -> None:
    signature = data.draw(signatures)
    assert parse(str(signature)) == signature
    assert str(parse(str(signature))) == str(signature)


_TEXT = (
    "f x T U N K f32 i64 bool int float acc generator in where batched autocast flops grad_ ( ) [ ] { } , : ; ? ! ... "
    "-> <= + - * // / = 0 1 2.5 1e9 99999999999999999999 -1 _backward é \x00 \n \t ' \" \\ # T[N] x:T[N] f(x:T[N])"
)
_WORDS = st.sampled_from(_TEXT.split(" "))


def assert_reads_or_refuses(text: str) -> None:
    """What is read must round-trip; what is refused must show its line and a caret. Nothing else may be raised."""
    try:
        signature = parse(text)
    except SignatureError as error:
        line, caret = str(error).split("\n")[1:3]
        part = line.strip().removeprefix("... ").removesuffix("...")  # of a long line, what is around the caret
        place = (part in text.expandtabs(1), caret.strip())
    else:
        place = (parse(str(signature)) == signature, "^")
    assert place == (True, "^")


@pytest.mark.slow
@given(text=st.text() | st.lists(_WORDS).map("".join) | st.lists(_WORDS).map(" ".join))
def test_any_text_is_a_signature_or_a_signature_error(text: str) -> None:
    assert_reads_or_refuses(text)


@pytest.mark.slow
@given(data=st.data())
def test_a_damaged_signature_is_a_signature_or_a_signature_error(
    signatures: st.SearchStrategy[Signature], data: st.DataObject
) -> None:
    text = str(data.draw(signatures))
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 5)))
    damaged = text[:start] + data.draw(_WORDS | st.just("")) + text[stop:]
    assert_reads_or_refuses(damaged)


@pytest.mark.parametrize(
    "text",
    [
        "f(x: T[" + "(" * 5000,
        "f(x: T[" + "-" * 5000 + "N])",
        "f(x: T[N" + "+N" * 5000 + "])",
        "f(x: T[" + "9" * 5000 + "])",
        "f(x: T[N], k: int = " + "9" * 5000 + ")",
        "f(x: T[N], a: float = " + "9" * 5000 + ")",
        "f(" * 5000,
        "f(x: T[N], a: float = 1e999)",
    ],
)
def test_excess_is_a_signature_error(text: str) -> None:
    with pytest.raises(SignatureError):
        parse(text)


def test_the_whole_notation() -> None:
    text = """op_2( x : T[B,3*S] , m: f32[N]?! , i: i64[..., N, 2] in [-1, 2*N), z: U[], n: acc(T)[N],
        k: int, a: float=-1, b: bool = true, q: int = -3, rng: generator(2) )
        -> (y: T[..., B], keep: i64[?K <= N*2], score: f32[?J]; r: bool[(N+1)//2])
        autocast: f32 where T in (f32,f64) , U in (i32,) """.replace("(i32,)", "(i32)")
    signature = parse(text)
    assert signature == Signature(
        "op_2",
        (
            TensorParam("x", T, Shape(False, (Axis("B"), Binary("*", Constant(3), Axis("S"))))),
            TensorParam("m", TypeRef("dtype", "f32"), Shape(False, (N,)), optional=True, mutated=True),
            TensorParam(
                "i",
                TypeRef("dtype", "i64"),
                Shape(True, (N, Constant(2))),
                domain=Domain(Constant(-1), Binary("*", Constant(2), N)),
            ),
            TensorParam("z", TypeRef("var", "U"), Shape(False, ())),
            TensorParam("n", TypeRef("acc", "T"), Shape(False, (N,))),
            ScalarParam("k", INT),
            ScalarParam("a", FLOAT, -1.0),
            ScalarParam("b", BOOL, True),
            ScalarParam("q", INT, -3),
            GeneratorParam("rng", Constant(2)),
        ),
        (
            TensorParam("y", T, Shape(True, (Axis("B"),))),
            TensorParam("keep", TypeRef("dtype", "i64"), Shape(False, (DataAxis("K", Binary("*", N, Constant(2))),))),
            TensorParam("score", TypeRef("dtype", "f32"), Shape(False, (DataAxis("J"),))),
        ),
        (
            TensorParam(
                "r", TypeRef("dtype", "bool"), Shape(False, (Binary("//", Binary("+", N, Constant(1)), Constant(2)),))
            ),
        ),
        (("T", (DType.F32, DType.F64)), ("U", (DType.I32,))),
        autocast=DType.F32,
    )
    assert str(signature) == (
        "op_2(x: T[B, 3*S], m: f32[N]?!, i: i64[..., N, 2] in [-1, 2*N), z: U[], n: acc(T)[N], k: int, "
        "a: float = -1.0, b: bool = True, q: int = -3, rng: generator(2)) -> (y: T[..., B], keep: i64[?K<=N*2], "
        "score: f32[?J]; r: bool[(N+1)//2]) where T in (f32, f64), U in (i32) autocast: f32"
    )


def test_what_a_signature_answers() -> None:
    signature = parse(LLTM)
    assert [tensor.name for tensor in signature.tensors] == ["input", "weights", "bias", "old_h", "old_cell"]
    assert signature.axes == signature.bound_by_required == ("B", "I", "S")
    assert signature.type_variables == signature.bound_types == ("T",)
    assert signature.allowed("T") == (DType.F32, DType.F64, DType.F16, DType.BF16)
    assert signature.instances() == [{"T": dtype} for dtype in (DType.F32, DType.F64, DType.F16, DType.BF16)]
    assert not any([signature.pointwise, signature.batched, signature.has_ellipsis, signature.is_backward])
    assert signature.generator is None
    two = parse("f(x: T[...], y: U[N]?, k: int) -> (z: T[?K]) where T in (f32, f64), U in (i32, i64)")
    assert two.instances() == [{"T": t, "U": u} for t in (DType.F32, DType.F64) for u in (DType.I32, DType.I64)]
    assert (two.axes, two.bound_by_required, two.data_axes) == (("N",), (), ("K",))
    assert two.bound_ellipsis
    assert two.has_ellipsis
    assert two.bound_types == ("T",)
    assert [scalar.name for scalar in two.scalars] == ["k"]
    assert parse("f(x: f32[N])").instances() == [{}]
    assert parse("f(x: T, a: float) -> (y: bool)").pointwise
    assert parse("f(a: T[M+N], b: T[N]) -> ()") == parse("f(a: T[M+N], b: T[N])")
    assert parse("f(a: T[M+N], b: T[N])").bound_by_required == ("M", "N")


def test_a_backward_takes_the_rest_from_its_forward() -> None:
    signature = parse("f_backward(grad_z: T[N]?) -> (grad_x: U[..., M*N])")
    assert signature.is_backward
    assert signature.bound_by_required == ()
    second = parse(
        "s_backward_backward(grad_grad_x: T[...], grad_y: T[...], y: T[...]) -> (grad_grad_y: T[...], grad_y: T[...])"
    )
    assert second.outputs[1] == second.inputs[1]


def test_values_are_immutable_and_pickle() -> None:
    signature = parse(LLTM)
    with pytest.raises(AttributeError, match="Signature is immutable; 'name' can't be changed"):
        signature.name = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(signature)) == signature  # noqa: S301
    assert hash(signature) == hash(parse(str(signature)))
    assert signature != parse(LLTM.replace("c: T", "d: T"))
    assert repr(TypeRef("var", "T")) == "TypeRef(kind='var', name='T')"
    many: list[tuple[Any, ...]] = [("var",), ("var", "T", "U")]
    for arguments in many:
        with pytest.raises(TypeError, match=r"TypeRef\(\) takes \(kind, name\)"):
            TypeRef(*arguments)
    with pytest.raises(TypeError):
        TypeRef("var", "T", name="U")  # type: ignore[misc]
    with pytest.raises(TypeError):
        TypeRef("var", nam="U")  # type: ignore[call-arg]
    with pytest.raises(SignatureError) as caught:
        parse("f(")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(copy), copy.position) == (str(caught.value), 2)


def test_parsing_is_fast() -> None:
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        parse(LLTM)
        best = min(best, time.perf_counter() - start)
    assert best < 2e-3  # 0.25 ms on a quiet machine


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
    "text",
    [
        "f(a: T[M, K], b: T[K, N]) -> (c: T[M, N]) flops: 2*M*N*K",
        "f(x: T[..., N], k: int) -> (y: T[...]) flops: ...*(N-1)*k",
        "f(x: T, a: float) -> (y: T) autocast: f32 flops: 2*...",
        "f(x: T[N]) -> (y: T[]) batched flops: ...*N launch over N, threads 32",
        "f_backward(grad_y: T[...]) -> (grad_x: T[..., N]) flops: ...*N",
    ],
)
def test_flops_read_back_as_they_were(text: str) -> None:
    signature = parse(text)
    assert str(signature) == text
    assert str(signature.flops) == text.partition("flops: ")[2].partition(" launch")[0]
    assert signature.replaced(flops=None) == parse(text.replace(f" flops: {signature.flops}", ""))
    assert schema(signature) == schema(signature.replaced(flops=None))
