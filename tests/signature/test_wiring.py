"""How backwards are wired to their forwards by name, and the text of every error."""

from __future__ import annotations

import re

import pytest

from opwright.errors import SignatureError
from opwright.signature import DType, parse
from opwright.signature.derivatives import chains
from opwright.signature.wiring import Derivative, NodePlan, Wire, derivative, inherited, node_plan, suggestion

_NEITHER = "neither the gradient of a result of f nor one of its inputs, outputs or residuals"
F = "f(x: T[N, M], w: T[M]?, k: int, a: float = 1.0) -> (y: T[N], n: i64[N]; r: T[M])"


def wire(forward: str, backward: str) -> Derivative:
    return derivative(parse(forward), parse(backward))


def wires(found: Derivative) -> list[tuple[str, int]]:
    return [(wire.source, wire.index) for wire in found.wires]


def test_every_source() -> None:
    found = wire(
        F, "f_backward(grad_y: T[N], r: T[M], w: T[M]?, a: float, y: T[N]?, k: int) -> (grad_w: T[M], grad_x: T[N, M])"
    )
    expected = [
        ("zero_gradient", 0),
        ("output", 2),
        ("input", 1),
        ("scalar", 3),
        ("output", 0),
        ("scalar", 2),
        ("mask", 0),
    ]
    assert wires(found) == expected
    assert (found.axes, found.ellipsis) == ((), False)
    assert found.inputs == (1, 0)
    assert found.differentiable == (True, False, False)


def test_what_only_the_forward_knows() -> None:
    found = wire(F, "f_backward(grad_y: T[N]?, grad_r: T[M]?, n: i64[N]) -> (grad_x: T[N, M])")
    assert wires(found) == [("gradient", 0), ("gradient", 2), ("output", 1), ("axis", 1), ("mask", 0)]
    assert found.axes == ("M",)  # grad_r may be absent
    assert found.differentiable == (True, False, True)
    found = wire("f(x: T[..., C]) -> (y: T[C])", "f_backward(grad_y: T[C]) -> (grad_x: T[..., C])")
    assert (found.axes, found.ellipsis) == ((), True)
    assert wires(found) == [("zero_gradient", 0), ("ellipsis", 0), ("mask", 0)]


def test_a_second_backward() -> None:
    backward = "f_backward(grad_y: T[N], y: T[N]) -> (grad_x: T[N])"
    found = wire(
        backward, "f_backward_backward(grad_grad_x: T[N], grad_y: T[N], y: T[N]) -> (grad_grad_y: T[N], grad_y: T[N])"
    )
    assert wires(found) == [("zero_gradient", 0), ("input", 0), ("input", 1), ("mask", 0)]
    assert found.inputs == (0, 1)


def test_chains() -> None:
    texts = ["g(x: T[N]) -> (y: T[N])", "f_backward(grad_y: T[N]) -> (grad_x: T[N])", "f(x: T[N]) -> (y: T[N])"]
    assert [[s.name for s in chain] for chain in chains(map(parse, texts))] == [["g"], ["f", "f_backward"]]


def test_a_backward_has_its_forwards_element_types() -> None:
    texts = [
        "f(x: T[N], y: U[N]) -> (z: T[N]) where T in (f32, f64), U in (i64)",
        "f_backward(grad_z: T[N], y: U[N]) -> (grad_x: T[N]) where T in (f32)",
        "f_backward_backward(grad_grad_x: T[N], y: U[N]) -> (grad_grad_z: T[N])",
    ]
    for found in (chains(map(parse, texts))[0], tuple(inherited(map(parse, texts)))):
        assert [s.allowed("T") for s in found] == [(DType.F32, DType.F64), (DType.F32,), (DType.F32,)]
        assert [s.allowed("U") for s in found] == [(DType.I64,)] * 3
    alone = parse(texts[1])
    assert tuple(inherited([alone])) == (alone,)


def test_an_index_range_of_a_type_that_the_forward_lists() -> None:
    forward = "take(x: T[M], i: I[N] in [0, M)) -> (y: T[N]) where I in (i32, i64)"
    backward = "take_backward(grad_y: T[N], i: I[N] in [0, M)) -> (grad_x: T[M])"
    assert chains(map(parse, [forward, backward]))[0][1].allowed("I") == (DType.I32, DType.I64)
    floats = "take(x: T[M], i: I[N]) -> (y: T[N]) where I in (bool, i64)"
    with pytest.raises(SignatureError) as caught:
        chains(map(parse, [floats, backward]))
    assert str(caught.value) == (
        "take_backward: i has a domain, so its elements are integers or floats, but take has bool, i64 for I\n"
        f"  signature:  {floats}\n"
        "  likely fix: give take the same domain, and a type for indices: i64"
    )


MESSAGES = [
    (
        "f_backward(grad_y: T[N], v: T[N]) -> (grad_w: T[M])",
        (
            f"f_backward takes v, which is {_NEITHER}\n"
            f"  it may take: grad_y, grad_n, grad_r, x, w, k, a, y, n, r\n  signature:  {F}"
        ),
    ),
    (
        "f_backward(grad_y: T[N], b: int) -> (grad_w: T[M])",
        (
            f"f_backward takes b, which is {_NEITHER}\n"
            f"  it may take: grad_y, grad_n, grad_r, x, w, k, a, y, n, r\n  signature:  {F}"
        ),
    ),
    (
        "f_backward(grad_y: T[N], k: float) -> (grad_w: T[M])",
        (
            f"f_backward takes k: float, but in f it is k: int\n  signature:  {F}\n"
            "  likely fix: write k: int in f_backward"
        ),
    ),
    (
        "f_backward(grad_y: T[M]) -> (grad_w: T[M])",
        (
            f"f_backward has grad_y: T[M], but in f it belongs to y: T[N]\n  signature:  {F}\n"
            "  likely fix: write grad_y: T[N] in f_backward"
        ),
    ),
    (
        "f_backward(grad_y: T[N], w: T[M]) -> (grad_w: T[M])",
        (
            f"f_backward has w: T[M], but in f it belongs to w: T[M]?\n  signature:  {F}\n"
            "  likely fix: write w: T[M]? in f_backward"
        ),
    ),
    (
        "f_backward(grad_y: T[N], r: f32[M]) -> (grad_w: T[M])",
        (
            f"f_backward has r: f32[M], but in f it belongs to r: T[M]\n  signature:  {F}\n"
            "  likely fix: write r: T[M] in f_backward"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_x: T[M, N])",
        (
            f"f_backward has grad_x: T[M, N], but in f it belongs to x: T[N, M]\n  signature:  {F}\n"
            "  likely fix: write grad_x: T[N, M] in f_backward"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_k: T[])",
        (
            "f_backward returns grad_k, but k is a scalar: make it a tensor (x: T[]) to "
            "differentiate with respect to it\n"
            f"  it may return: grad_x, grad_w\n  signature:  {F}"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_v: T[N])",
        (
            f"f_backward returns grad_v, but f has no tensor input of that name\n"
            f"  it may return: grad_x, grad_w\n  signature:  {F}"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (w: T[M])",
        (
            f"f_backward returns w, but w isn't differentiable: it is w: T[M]?\n"
            f"  it may return: grad_x, grad_w\n  signature:  {F}"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_x: T[N, K])",
        (
            "f_backward has K, which neither its inputs nor f determine\n"
            f"  signature:  {F}\n  likely fix: use the names of f: N, M, T"
        ),
    ),
    (
        "f_backward(grad_y: U[N]) -> (grad_x: T[N, M])",
        (
            "f_backward has U, which neither its inputs nor f determine\n"
            f"  signature:  {F}\n  likely fix: use the names of f: N, M, T"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_x: T[...])",
        (
            "f_backward has ..., which neither its inputs nor f determine\n"
            f"  signature:  {F}\n  likely fix: use the names of f: N, M, T"
        ),
    ),
    (
        "f_backward(grad_y: T[N]) -> (grad_w: T[M]; r: T[N])",
        (
            "f_backward must return gradients, and only gradients (no residuals)\n"
            "  signature:  f_backward(grad_y: T[N]) -> (grad_w: T[M]; r: T[N])"
        ),
    ),
]


@pytest.mark.parametrize(("backward", "text"), MESSAGES)
def test_text(backward: str, text: str) -> None:
    with pytest.raises(SignatureError) as caught:
        wire(F, backward)
    assert str(caught.value) == text


def test_an_integer_input_has_no_gradient() -> None:
    with pytest.raises(
        SignatureError, match=r"grad_i, but i isn't differentiable: it is i: i64\[N\]\n  it may return: grad_x"
    ):
        wire("f(x: T[N], i: i64[N]) -> (y: T[N])", "f_backward(grad_y: T[N]) -> (grad_i: i64[N])")


def test_a_backward_without_a_forward() -> None:
    with pytest.raises(SignatureError) as caught:
        chains([parse("g(x: T[N]) -> (y: T[N])"), parse("f_backward(grad_y: T[N]) -> (grad_x: T[N])")])
    assert str(caught.value) == (
        "f_backward is the backward of f, which isn't there\n  there are: g, f_backward\n"
        "  likely fix: add f, or give f_backward a name without _backward"
    )


def test_the_gradient_of_what_is_overwritten() -> None:
    forward = parse("f(x: T[N], y: T[N]!)")
    backward = parse("f_backward(grad_y: T[N]) -> (grad_x: T[N])")
    with pytest.raises(SignatureError) as caught:
        derivative(forward, backward)
    assert str(caught.value) == (
        "f_backward doesn't return grad_y, the gradient of the value that f overwrites: it would be lost\n"
        "  signature:  f_backward(grad_y: T[N]) -> (grad_x: T[N])\n"
        "  likely fix: return grad_y: T[N] as well, zeros if f doesn't read the old value"
    )


def test_a_backward_reads_what_is_overwritten() -> None:
    forward = parse("f(x: T[N], y: T[N]!)")
    backward = parse("f_backward(grad_y: T[N], y: T[N]) -> (grad_x: T[N], grad_y: T[N])")
    with pytest.raises(SignatureError) as caught:
        derivative(forward, backward)
    assert str(caught.value) == (
        "f_backward takes y, which f overwrites: its old value is gone by then\n"
        "  signature:  f(x: T[N], y: T[N]!)\n"
        "  likely fix: keep what is needed as a residual of f: old_y: T[N]"
    )


@pytest.mark.parametrize(
    ("backward", "problem"),
    [
        ("f_backward(grad_y: T[N]!) -> (grad_x: T[N])", "overwrites grad_y"),
        ("f_backward(grad_y: T[N], r: generator(1)) -> (grad_x: T[N])", "takes the generator r"),
        ("f_backward(grad_y: T[N]) -> (grad_x: T[?K])", "decides the length ?K"),
    ],
)
def test_a_backward_writes_draws_and_decides_nothing(backward: str, problem: str) -> None:
    with pytest.raises(SignatureError, match=f"^f_backward {re.escape(problem)}, which a backward can't"):
        derivative(parse("f(x: T[N]) -> (y: T[N])"), parse(backward))


def test_a_gradient_that_would_be_lost() -> None:
    texts = [
        "f(x: T[N]) -> (y: T[N]; r: T[N])",
        "f_backward(grad_y: T[N], r: T[N]) -> (grad_x: T[N])",
        "f_backward_backward(grad_grad_x: T[N], r: T[N]) -> (grad_r: T[N])",
    ]
    with pytest.raises(SignatureError) as caught:
        chains(map(parse, texts))
    assert str(caught.value) == (
        "f_backward_backward returns grad_r, the gradient of f's result r, but f_backward doesn't take grad_r: "
        "it would be lost\n  signature:  f_backward(grad_y: T[N], r: T[N]) -> (grad_x: T[N])\n"
        "  likely fix: add grad_r: T[N]? to f_backward's inputs"
    )


def test_a_suggestion_is_a_signature_that_fits() -> None:
    for text in (F, "f(x: T[...], i: i64[]) -> (y: T[..., 2])", "f_backward(grad_y: T[N], y: T[N]) -> (grad_x: T[N])"):
        forward = parse(text)
        backward = parse(suggestion(forward))
        assert backward.name == f"{forward.name}_backward"
        assert derivative(forward, backward).inputs


@pytest.mark.parametrize(
    ("second", "missing"),
    [
        ("mul_backward_backward(grad_grad_x: T[N], x: T[N]) -> (grad_x: T[N])", "grad_grad_z: T[N]"),
        ("mul_backward_backward(grad_grad_x: T[N], grad_z: T[N]) -> (grad_grad_z: T[N])", "grad_x: T[N]"),
    ],
)
def test_a_second_derivative_that_would_lack_a_term(second: str, missing: str) -> None:
    signatures = ["mul(x: T[N]) -> (z: T[N])", "mul_backward(grad_z: T[N], x: T[N]) -> (grad_x: T[N])", second]
    with pytest.raises(SignatureError) as caught:
        chains(parse(text) for text in signatures)
    name = missing.partition(":")[0]
    of = name.removeprefix("grad_")
    assert str(caught.value) == (
        f"mul_backward_backward doesn't return {name}, but mul_backward depends on {of}: second "
        "derivatives would lack that term in silence\n"
        f"  signature:  {second}\n"
        f"  likely fix: return {missing} as well, zeros if the derivative is zero"
    )


def test_what_the_first_derivative_takes_as_constant_needs_no_second_one() -> None:
    """mask isn't differentiable in f; the residual has no gradient, but x is there to account for it."""
    signatures = [
        "f(x: T[N], mask: T[N]) -> (y: T[N]; r: T[N])",
        "f_backward(grad_y: T[N], x: T[N], mask: T[N], r: T[N]) -> (grad_x: T[N])",
        "f_backward_backward(grad_grad_x: T[N], x: T[N], mask: T[N], r: T[N]) -> (grad_grad_y: T[N], grad_x: T[N])",
    ]
    assert len(chains(parse(text) for text in signatures)[0]) == 3


def test_a_second_derivative_through_a_residual_that_would_be_lost() -> None:
    signatures = [
        "square(x: T[N]) -> (y: T[N]; r: T[N])",
        "square_backward(grad_y: T[N], r: T[N]) -> (grad_x: T[N])",
        "square_backward_backward(grad_grad_x: T[N], r: T[N]) -> (grad_grad_y: T[N])",
    ]
    with pytest.raises(SignatureError) as caught:
        chains(parse(text) for text in signatures)
    assert str(caught.value) == (
        "square_backward depends on square's result r and takes no gradient for it: second derivatives through r would "
        "be lost\n"
        "  signature:  square_backward(grad_y: T[N], r: T[N]) -> (grad_x: T[N])\n"
        "  likely fix: add grad_r: T[N]? to its inputs, to be added to the gradients; or take x as well, and account "
        "for r in square_backward_backward"
    )


def test_an_output_whose_gradient_is_not_taken() -> None:
    with pytest.raises(SignatureError) as caught:
        wire("two(x: T[N]) -> (y: T[N], z: f64[], n: i64[])", "two_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])")
    assert str(caught.value) == (
        "two_backward doesn't take grad_z: gradients through z would be lost\n"
        "  signature:  two_backward(grad_y: T[N], x: T[N]) -> (grad_x: T[N])\n"
        "  likely fix: add grad_z: f64[]? to its inputs (absent where nobody gave one)"
    )


@pytest.mark.parametrize("taken", ["grad_s: f32[]", "grad_s: f32[], x: T[N]?"])
def test_an_element_type_that_nothing_tells_the_backward(taken: str) -> None:
    with pytest.raises(SignatureError) as caught:
        wire("f(x: T[N]) -> (s: f32[])", f"f_backward({taken}) -> (grad_x: T[N])")
    assert str(caught.value) == (
        "nothing that f_backward is always given tells it the element type T\n"
        f"  signature:  f_backward({taken}) -> (grad_x: T[N])\n"
        "  likely fix: take an input of that type as well: x: T[N]"
    )


@pytest.mark.parametrize("text", ["f(x: T[N]) -> (keep: i64[?K])", "f(n: i64[N]) -> (y: f32[N])"])
def test_no_suggestion_where_nothing_is_differentiable(text: str) -> None:
    assert suggestion(parse(text)) == ""


def test_no_suggestion_where_its_names_would_clash() -> None:
    second = parse("f_backward_backward(grad_grad_x: T[N], grad_y: T[N], x: T[N]) -> (grad_grad_y: T[N], grad_x: T[N])")
    assert suggestion(second) == ""
    assert (
        suggestion(parse("f(x: T[N], k: int) -> (y: T[N])"))
        == "f_backward(grad_y: T[N], x: T[N], k: int) -> (grad_x: T[N])"
    )


def plan(forward: str, backward: str | None = None) -> NodePlan:
    signature = parse(forward)
    return node_plan(signature, derivative(signature, parse(backward)) if backward else None)


def test_the_backward_may_return_gradients_in_any_order() -> None:
    found = plan(
        "f(a: T[N], k: int, b: T[N]) -> (y: T[N])",
        "f_backward(grad_y: T[N], k: int, a: T[N]) -> (grad_b: T[N], grad_a: T[N])",
    )
    assert found.wires == (Wire("zero_gradient", 0), Wire("scalar", 1), Wire("input", 0), Wire("mask", 0))
    assert (found.edges, found.gradients) == ((2, 0), (0, 1))
    assert (found.differentiable, found.slots) == ((True,), (0,))


def test_what_is_mutated_comes_first() -> None:
    found = plan(
        "f(x: T[N], y: T[N]!) -> (z: T[N])",
        "f_backward(grad_z: T[N]?, grad_y: T[N]?) -> (grad_x: T[N], grad_y: T[N])",
    )
    assert (found.edges, found.gradients) == ((1, 0), (1, 0))
    assert (found.differentiable, found.slots) == ((True, True), (0, 1))


def test_an_integer_that_is_overwritten_has_an_edge_and_no_gradient() -> None:
    found = plan("f(x: T[N], count: i64[1]!) -> (y: T[N])", "f_backward(grad_y: T[N]) -> (grad_x: T[N])")
    assert (found.edges, found.gradients) == ((1, 0), (-1, 0))
    assert (found.differentiable, found.slots) == ((True, False), (0, 1))


def test_a_residual_has_a_slot_only_where_its_gradient_is_taken() -> None:
    forward = "f(x: T[N], y: T[N]!) -> (z: T[N]; a: T[N], b: T[N])"
    takes = "f_backward(grad_z: T[N]?, grad_b: T[N]?, grad_y: T[N]?, a: T[N]) -> (grad_x: T[N], grad_y: T[N])"
    found = plan(forward, takes)
    assert (found.differentiable, found.slots) == ((True, False, True, True), (0, -1, 1, 2))


def test_without_a_backward_every_tensor_that_can_have_a_gradient_counts() -> None:
    found = plan("f(i: i64[N], x: T[N], k: float, y: f32[N]!) -> (z: T[N], n: i64[N]; kept: T[N])")
    assert found.wires == ()
    assert (found.edges, found.gradients) == ((3, 1), (1, 0))
    assert (found.differentiable, found.slots) == ((True, False, True, True), (0, 1, -1, 2))


OPTIONAL = "f(x: T[N], all: bool) -> (y: T[N], z: T[N]? if all, n: int; r: T[N]? if all)"


def test_gradients_of_optional_results() -> None:
    found = wire(OPTIONAL, "f_backward(grad_y: T[N], grad_z: T[N]?, r: T[N]?, z: T[N]?) -> (grad_x: T[N])")
    assert wires(found) == [("zero_gradient", 0), ("gradient", 1), ("output", 3), ("output", 1), ("mask", 0)]
    assert found.differentiable == (True, True, False, False)
    written = "f_backward(grad_y: T[N], grad_z: T[N]?, x: T[N], all: bool) -> (grad_x: T[N])"
    assert suggestion(parse(OPTIONAL)) == written


@pytest.mark.parametrize(
    ("takes", "problem", "fix"),
    [
        (
            "grad_z: T[N]",
            "f_backward has grad_z: T[N], but z of f is optional: where there is no z, it has no gradient",
            "write grad_z: T[N]? in f_backward",
        ),
        (
            "grad_z: T[N]?, r: T[N]",
            "f_backward has r: T[N], but in f it belongs to r: T[N]? if all",
            "write r: T[N]? in f_backward",
        ),
        (
            "grad_z: T[N]?, n: int",
            "f_backward takes n, a count that f returns: counts aren't kept for a backward",
            "keep it as a residual, too: (...; kept_n: i64[])",
        ),
        (
            "grad_z: T[N]?, n: i64[]",
            "f_backward takes n, a count that f returns: counts aren't kept for a backward",
            "keep it as a residual, too: (...; kept_n: i64[])",
        ),
    ],
)
def test_what_a_backward_cant_have_of_optional_results_and_counts(takes: str, problem: str, fix: str) -> None:
    with pytest.raises(SignatureError) as caught:
        wire(OPTIONAL, f"f_backward(grad_y: T[N], {takes}) -> (grad_x: T[N])")
    assert str(caught.value) == f"{problem}\n  signature:  {OPTIONAL}\n  likely fix: {fix}"
