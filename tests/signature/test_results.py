"""Optional results and counts in a signature: what they are, what follows from them, and the text of every error."""

from __future__ import annotations

import random

import pytest

from opwright.errors import SignatureError
from opwright.signature import Binding, DType, bytes_moved, output_shapes, parse, sample, sample_at, schema
from opwright.signature.bind import bind
from opwright.signature.binding import TensorInfo
from opwright.signature.clauses.conditions import Condition

from .messages import assert_refused

TOP = (
    "top(x: T[N, M], w: T[K]?, all: bool = True) -> (y: T[N], at: i64[N, M]? if all, z: T[K]? if w; r: T[M]? if not w)"
)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("if all", Condition("all")),
        ("if not w", Condition("w", negated=True)),
        ("if mode == a", Condition("mode", word="a")),
        ("if not mode == 'b-c'", Condition("mode", negated=True, word="b-c")),
        ("if k", Condition("k")),
        ("if name", Condition("name")),
    ],
)
def test_conditions(text: str, condition: Condition) -> None:
    inputs = "x: T[N], w: T[N]?, all: bool, mode: a | 'b-c', k: int?, name: str?"
    signature = parse(f"f({inputs}) -> (y: T[N]? {text}, n: int)")
    assert signature.outputs[0].condition == condition
    assert str(condition) == text
    assert parse(str(signature)) == signature
    assert [t.name for t in signature.counts] == ["n"]


@pytest.mark.parametrize(
    ("condition", "held", "not_held"),
    [
        (Condition("x"), [True, 0, 0.0, "", 3], [False, None]),
        (Condition("x", negated=True), [False, None], [True, 0, 0.0]),
        (Condition("x", word="a"), ["a"], ["b"]),
        (Condition("x", negated=True, word="a"), ["b"], ["a"]),
    ],
)
def test_what_holds(condition: Condition, held: list[object], not_held: list[object]) -> None:
    assert all(map(condition.holds, held))
    assert not any(map(condition.holds, not_held))


def test_what_a_call_returns() -> None:
    signature = parse(TOP)
    x, w = TensorInfo((2, 3), DType.F32), TensorInfo((5,), DType.F32)
    without = bind(signature, {"x": x, "w": None}, scalars={"all": True})
    assert without.absent == {"z"}
    assert output_shapes(signature, without, with_residuals=True) == [(2,), (2, 3), (), (3,)]
    assert bytes_moved(signature, without, {"x"}).written == 4 * 2 + 8 * 6
    given = bind(signature, {"x": x, "w": w}, scalars={"all": False})
    assert given.absent == {"at", "r"}
    assert output_shapes(signature, given, with_residuals=True) == [(2,), (), (5,), ()]


def test_samples_tell_what_is_absent() -> None:
    signature = parse(TOP)
    drawn = [sample(signature, random.Random(seed)) for seed in range(60)]
    for each in drawn:
        absent = {"z"} if each.tensors["w"] is None else {"r"}
        assert each.binding.absent == absent | ({"at"} if not each.scalars["all"] else set())
    assert len({each.binding.absent for each in drawn}) == 4
    sizes = Binding({"N": 2, "M": 3, "K": 4}, None, {"T": DType.F32})
    assert sample_at(signature, sizes, scalars={"all": False}).binding.absent == {"at", "r"}


def test_schema() -> None:
    assert schema(parse(TOP)) == "top(Tensor x, Tensor? w=None, bool all=True) -> (Tensor, Tensor?, Tensor?)"
    assert schema(parse(TOP), with_residuals=True).endswith("-> (Tensor, Tensor?, Tensor?, Tensor?)")
    assert schema(parse("f(x: T[N]) -> (n: int)")) == "f(Tensor x) -> SymInt"


_BAKED = "outputs are tensors or counts (int): torch.compile would keep the"
_OPTIONAL = "is optional, and doesn't say when it is returned"
_MARK = "has a condition, so it isn't always there: it takes the mark '?'"
MESSAGES: list[tuple[str, str, str | None]] = [
    ("f(x: T[N]) -> (y: T[N]?^)", f"'y' {_OPTIONAL}", "y: T[N]? if all, with all: bool"),
    ("f(x: T[N], a: bool) -> (y: T[N] ^if a)", f"'y' {_MARK}", "y: T[N]? if all"),
    ("f(x: T[N]) -> (y: T[N]? if^)", "expected the name of an argument, found ')'", "y: T[N]? if all"),
    (
        "f(x: T[N], a: bool) -> (y: T[N]? if ^b)",
        "the condition is about 'b', which is no input",
        "an argument that decides: a",
    ),
    (
        "f(x: T[N], all: bool) -> (y: T[N]? if ^al)",
        "the condition is about 'al', which is no input",
        "did you mean all?",
    ),
    (
        "f(x: T[N]) -> (y: T[N]? if ^N)",
        "the condition is about 'N', which is no input",
        "an argument that decides: all: bool",
    ),
    (
        "f(x: T[N], k: int) -> (y: T[N]? if ^k)",
        "the condition is about 'k', which is `k: int`: it has neither a few words nor is it a bool or optional",
        "a bool for it: all: bool; others that decide: none",
    ),
    (
        "f(x: T[N], w: T[N]?) -> (y: T[N]? if ^x)",
        "the condition is about 'x', which is `x: T[N]`: it has neither a few words nor is it a bool or optional",
        "a bool for it: all: bool; others that decide: w",
    ),
    (
        "f(x: T[N], rng: generator(1)) -> (y: T[N]? if ^rng)",
        "the condition is about 'rng', which is a generator: it has neither a few words nor is it a bool or optional",
        "a bool for it: all: bool; others that decide: none",
    ),
    (
        "f(x: T[N], a: bool?) -> (y: T[N]? if ^a)",
        "the condition is about 'a', which is `a: bool?`: whether it is given, or what it is, isn't said",
        "a bool for it: all: bool; others that decide: none",
    ),
    ("f(x: T[N], m: a | b) -> (y: T[N]? if ^m)", "'m' is one of a few words", "if m == a"),
    (
        "f(x: T[N], m: near | far) -> (y: T[N]? if ^m == nea)",
        "'m' is never nea: its choices are near, far",
        "did you mean near?",
    ),
    ("f(x: T[N], m: a | b) -> (y: T[N]? if m ^= a)", "a condition compares with '=='", "if m == nearest"),
    ("f(x: T[N], a: bool) -> (y: T[N]? if ^a == b)", "'a' is a bool, and has no words to compare with", "if a"),
    ("f(x: T[N], k: int?) -> (y: T[N]? if ^k == b)", "'k' is given, or not, and has no words to compare with", "if k"),
    (
        "f(x: T, m: bool) -> (^y: T? if m)",
        "'y' is optional, but a pointwise operator computes all results of an element at once",
        "always return it, or take the axes in the kernel: y: T[...]? if m",
    ),
    (
        "f_backward(grad_y: T[N], a: bool) -> (^grad_x: T[N]? if a)",
        "'grad_x' is optional, but a gradient that nobody wants is left out anyway",
        "grad_x: T[N]",
    ),
    (
        "f(x: T[N], w: T[M]?) -> (y: T[^M]? if not w)",
        "the axis 'M' is bound by an optional input only",
        "give an input the axis M; where M = ..., if others tell it; ?M, if the kernel decides",
    ),
    (
        "f(x: T[N], w: W[N]?) -> (y: ^W[N]? if w)",
        "'y': no input that is always given has the element type W",
        "x: W[...] among the inputs, or a concrete type",
    ),
    # counts
    (
        "f(x: T[N]) -> (y: ^float)",
        f"'y' is an output, and {_BAKED} float that one call returned",
        "a 0-dim tensor: y: f32[]",
    ),
    (
        "f(x: T[N]) -> (y: ^str)",
        f"'y' is an output, and {_BAKED} str that one call returned",
        "a tensor of integers that says the same",
    ),
    (
        "f(x: T[N]) -> (y: T[N], ^ok: bool)",
        f"'ok' is one bool, and {_BAKED} bool that one call returned",
        "a 0-dim tensor: ok: bool[]",
    ),
    (
        "f(x: T[N]) -> (y: ^int[N])",
        "'y': 'int' is a scalar, without axes",
        "a list: y: list[int, 2]; or a tensor: y: i64[N]",
    ),
    ("f(x: T[N]) -> (n: int^?)", "'n' is a count, which is always there", "a 0-dim tensor: n: i64[]? if ..."),
    ("f(x: T[N]) -> (n: int ^in [0, N])", "'n' is a count, which the kernel decides", "leave out what follows n: int"),
    ("f(x: T[N]) -> (n: int ^= 3)", "'n' is a count, which the kernel decides", "leave out what follows n: int"),
    ("f(x: T[N]) -> (y: T[N]; n: ^int)", "'n' is a residual, and residuals are tensors", "a 0-dim tensor: n: i64[]"),
    (
        "f(x: T) -> (^n: int)",
        "'n' is a count, but the kernel runs for each element, and each would have its own",
        "a tensor of them: n: i64",
    ),
    (
        "f(x: T[N]) -> (^n: int) batched",
        "'n' is a count, but the kernel runs for each batch, and each would have its own",
        "a tensor of them: n: i64[]",
    ),
    (
        "f(x: f32[N]) -> (^n: int) launch over N, threads 32",
        "'n' is a count, which a kernel on the device can't return",
        "a tensor: n: i64[]; or a host function that launches the kernel",
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_x: T[N], ^n: int)",
        "'n' is a count, but a backward returns gradients",
        "n: i64[]",
    ),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MESSAGES)
def test_text(marked: str, message: str, fix: str | None) -> None:
    assert_refused(marked, message, fix)


def test_lone_bools_are_results_of_pointwise_operators() -> None:
    assert parse("f(x: T) -> (y: bool)").outputs[0].shape is None
    with pytest.raises(SignatureError, match="'y' is one bool"):
        parse("f(x: T[N]) -> (y: bool)")
