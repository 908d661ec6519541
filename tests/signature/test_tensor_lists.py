"""Lists of tensors in signatures: their lengths, the signature of a call, its samples, wiring, and wrong signatures."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from opwright.errors import ArgumentError, SignatureError
from opwright.signature import bind, parse, sample, schema
from opwright.signature.binding import TensorInfo
from opwright.signature.dtypes import DType
from opwright.signature.tensor_lists.calls import (
    Lengths,
    elements,
    flat,
    groups,
    lengths_of,
    pack_call,
    packed,
    split_call,
)
from opwright.signature.tensor_lists.derivatives import derivative_of_call
from opwright.signature.wiring import derivative, node_plan, suggestion
from tests.signature.messages import assert_refused

FORWARD = parse(
    "f(xs: list[T[N, each M]], w: T[N], ys: list[T[each M]]!) -> (zs: list[T[each 2*M]], s: T[]; r: list[T[]])"
)
BACKWARD = parse(
    "f_backward(grad_ys: list[T[each M]], grad_zs: list[T[each 2*M]], grad_s: T[], w: T[N], xs: list[T[N, each M]]) -> "
    "(grad_w: T[N], grad_xs: list[T[N, each M]], grad_ys: list[T[each M]])"
)


@pytest.mark.parametrize(
    "text",
    [
        str(FORWARD),
        str(BACKWARD),
        "f(xs: list[T[each ...]], b: list[bool]) -> (ys: list[acc(T)[each ..., 3]], n: list[bool[]])",
        "f(xs: list[bool[..., each N+1]]!, y: T[...])",
        "f(k: int, xs: list[f32[k, each k*N]]) -> (ys: list[f32[each N//2, each N]])",
    ],
)
def test_round_trip(text: str) -> None:
    assert str(parse(text)) == text


def test_schema() -> None:
    expected = "f(Tensor[] xs, Tensor w, Tensor(a!)[] ys) -> (Tensor[], Tensor)"
    assert schema(FORWARD) == expected
    assert schema(FORWARD, with_residuals=True).endswith("-> (Tensor[], Tensor, Tensor[])")


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("f(xs: list[T[each N]], ys: list[T[each N]]) -> (zs: list[T[]])", {"xs": 0, "ys": 0, "zs": 0}),
        ("f(xs: list[T[N]], ys: list[T[N]]) -> (z: T[N])", {"xs": 0, "ys": 1}),
        (
            "f(xs: list[T[each N]], ys: list[T[each M]], zs: list[T[each M, each N]]) -> (z: T[])",
            {"xs": 0, "ys": 0, "zs": 0},
        ),
        ("f(xs: list[T[each N]], ys: list[T[each M]]) -> (zs: list[T[each N, each M]])", {"xs": 0, "ys": 0, "zs": 0}),
        ("f(xs: list[T[each ...]], ys: list[T[..., each N]]) -> (zs: list[T[each ...]])", {"xs": 0, "ys": 1, "zs": 0}),
        ("f(k: int, xs: list[T[each k*N]], ys: list[T[each k*M]]) -> (z: T[])", {"xs": 0, "ys": 1}),
    ],
)
def test_lists_that_share_an_own_axis_have_the_same_length(text: str, of: dict[str, int]) -> None:
    found = groups(parse(text))
    assert {name: group for (name, _), group in found.of.items()} == of
    assert found.count == len(set(of.values()))


def test_the_signature_of_a_call() -> None:
    made = elements(FORWARD, Lengths((2,)))
    assert [str(param) for param in made.inputs] == [
        "xs[0]: T[N, M[0]]",
        "xs[1]: T[N, M[1]]",
        "w: T[N]",
        "ys[0]: T[M[0]]!",
        "ys[1]: T[M[1]]!",
    ]
    assert [str(result) for result in made.outputs] == ["zs[0]: T[2*M[0]]", "zs[1]: T[2*M[1]]", "s: T[]"]
    assert [str(result) for result in made.residuals] == ["r[0]: T[]", "r[1]: T[]"]
    assert (str(made), made.of) == (str(FORWARD), FORWARD)
    assert elements(FORWARD, Lengths((2,))) is made
    leading = elements(parse("g(xs: list[T[each ..., C]]) -> (ys: list[T[each ...]])"), Lengths((2,), (0, 2)))
    assert [str(p) for p in leading.inputs] == ["xs[0]: T[C]", "xs[1]: T[...[1][0], ...[1][1], C]"]
    assert [str(p) for p in leading.outputs] == ["ys[0]: T[]", "ys[1]: T[...[1][0], ...[1][1]]"]


def shaped(*shapes: tuple[int, ...]) -> list[Any]:
    return [SimpleNamespace(shape=shape) for shape in shapes]


def test_arguments_are_taken_apart_and_put_together() -> None:
    xs, ys, w = shaped((2, 1), (2, 3)), shaped((1,), (3,)), SimpleNamespace(shape=(2,))
    made, values = split_call(FORWARD, [xs, w, ys, "mask"])
    assert values == [*xs, w, *ys, "mask"]
    assert pack_call(made, values) == [xs, w, ys, "mask"]
    assert list(flat((None, 2, 0, 2), [1, [2, 3], [], []])) == [1, 2, 3, None, None]
    assert list(packed((None, 2, 0, 2), [1, 2, 3, None, None])) == [1, [2, 3], [], []]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        (str(FORWARD), [shaped((1, 1)), None, shaped()], "ys has 0 tensors, expected 1, as xs has: both have each M"),
        (
            "f(xs: list[T[each ...]], ys: list[T[each ..., 2]]) -> (z: T[])",
            [shaped((1,), (1, 1)), shaped((1, 2), (1, 2))],
            "ys[1] has shape (1, 2), expected 2 axes for 'each ...', as xs[1] has, not 1",
        ),
        (
            "f(xs: list[T[each ..., 2, 2]]) -> (z: T[])",
            [shaped((2,))],
            "xs[0] has shape (2,), expected [each ..., 2, 2]: at least 2 axes",
        ),
    ],
)
def test_lengths_that_dont_fit(text: str, values: list[Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        lengths_of(parse(text), values)
    assert str(caught.value) == f"f(): {message}\n  signature:    {parse(text)}"


def test_the_wiring_of_a_call_is_that_of_its_tensors() -> None:
    """The wiring of the operator, with lists taken apart, is that of the signatures of the call."""
    whole = derivative(FORWARD, BACKWARD)
    for length in (0, 1, 3):
        made = derivative_of_call(whole, elements(FORWARD, Lengths((length,))))
        if length:  # without tensors there is nothing to differentiate in some lists
            assert made == derivative(made.forward, made.backward)
        plan = node_plan(made.forward, made)
        assert len(plan.edges) == 2 * length + 1
        assert [slot for slot in plan.slots if slot >= 0] == list(range(2 * length + 1))
        assert len(plan.slots) == 3 * length + 1
    assert parse(suggestion(parse("g(xs: list[T[each ...]]) -> (ys: list[T[each ...]])"))).outputs[0].listed


def test_samples_have_tensors_of_own_sizes() -> None:
    made, rng = elements(FORWARD, Lengths((3,))), random.Random(0)
    seen = set()
    for _ in range(50):
        drawn = sample(made, rng)
        shapes = [made_.shape for name, made_ in drawn.tensors.items() if name.startswith("xs") and made_]
        assert len(shapes) == 3
        assert len({shape[0] for shape in shapes}) == 1
        seen.add(len({shape[1] for shape in shapes}))
    assert seen >= {2, 3}


def test_a_call_is_bound_tensor_by_tensor() -> None:
    made = elements(FORWARD, Lengths((2,)))
    infos = {"xs[0]": (2, 1), "xs[1]": (2, 3), "w": (2,), "ys[0]": (1,), "ys[1]": (3,)}
    binding = bind(made, {name: TensorInfo(shape, DType.F32) for name, shape in infos.items()})
    assert dict(binding.axes) == {"N": 2, "M[0]": 1, "M[1]": 3}


BEHIND = "check the elements in the kernel: OPWRIGHT_CHECK(condition, message...)"
MESSAGES: list[tuple[str, str, str | None]] = [
    ("f(x: T[^each N]) -> (y: T[])", "'each' stands in lists of tensors", "a list: list[T[each N]]; or leave it out"),
    ("f(xs: list[T^]) -> (y: T[])", "'xs': the tensors of a list have axes", "xs: list[T[each N]]"),
    ("f(xs: list[T[^each 3]]) -> (y: T[])", "each tensor has the same size 3", "leave out 'each': 3"),
    (
        "f(xs: list[T[N, ^each ...]]) -> (y: T[])",
        "'each ...' stands for leading axes",
        "write it first, and once: [each ..., N]",
    ),
    ("f(xs: list[T[each N]^?]) -> (y: T[])", "'xs': the tensors of a list can't be optional", "list[T[each N]]"),
    ("f(xs: list[T[each N]^!])", "'xs': the tensors of a list can't be mutated", "list[T[each N]]!"),
    (
        "f(xs: list[T[each N]^, 2]) -> (y: T[])",
        "'xs': the tensors of a list can't be of a fixed length",
        "a list of tensors has any length",
    ),
    (
        "f(xs: list[T[each N]]^?) -> (y: T[])",
        "'xs' is a list of tensors and can't be optional",
        "an empty list is what an absent one would be: xs: list[T[each N]]",
    ),
    ("f(xs: list[i64[each N]] ^in [0, 3]) -> (y: f32[])", "'xs' is a list of tensors, which has no domain", BEHIND),
    (
        "f(xs: list[T[each N]] ^= 1) -> (y: T[])",
        "'xs' is a list of tensors and can't have a default",
        "xs: list[T[each N]]",
    ),
    (
        "f(xs: list[T[each N]]) -> (ys: list[T[each N]]^!)",
        "'ys' is an output and can't be mutated",
        "leave out the '!'",
    ),
    (
        "f(xs: list[T[each N]]) -> (ys: list[^int])",
        "'ys' is an output, and outputs are tensors",
        "a tensor: ys: i64[N]",
    ),
    (
        "f(xs: list[T[each N]]) -> (ys: list[T[^?K]])",
        "the kernel can't decide sizes of the tensors in a list",
        "sizes of an argument's: list[T[each N]]",
    ),
    (
        "f(xs: list[T[each N]]) -> (y: T[^N])",
        "'N' is a size of each tensor in a list, and 'y' has one size",
        "'each' in lists only, or another name: N2",
    ),
    (
        "f(xs: list[T[each N]], ys: list[T[^N]]) -> (y: T[])",
        "'N' is a size of each tensor in a list, and 'ys' has one size",
        "'each' in lists only, or another name: N2",
    ),
    (
        "f(xs: list[T[each N]], ^k: int in [0, N]) -> (y: T[])",
        "'N' is a size of each tensor in a list, and the domain of k has one size",
        "'each' in lists only, or another name: N2",
    ),
    (
        "f(xs: list[T[each N]]) -> (y: T[M]) where ^M = N//2",
        "'N' is a size of each tensor in a list, and the size 'M' has one size",
        "'each' in lists only, or another name: N2",
    ),
    (
        "f(xs: list[T[each N]]) -> (y: T[]) flops: ^2*N",
        "'N' is a size of each tensor in a list, and flops: has one size",
        "'each' in lists only, or another name: N2",
    ),
    ("f(k: int, xs: list[T[^each k]]) -> (y: T[])", "'k' is the same for each tensor of 'xs'", "leave out 'each': k"),
    (
        "f(xs: list[T[N]], ys: list[T[N]]) -> (^zs: list[T[N]])",
        "nothing tells how many tensors 'zs' has",
        "an axis of one of the lists: zs: list[T[each N]]",
    ),
    (
        "f(x: T[N]) -> (^ys: list[T[N]])",
        "nothing tells how many tensors 'ys' has",
        "an axis of one of the lists: ys: list[T[each N]]",
    ),
    (
        "f(xs: list[T[each N]]) -> (y: T[]) ^batched",
        "'batched' and lists of tensors don't mix",
        "take the leading axes in the kernel: xs: list[T[each ..., C]]",
    ),
    (
        "f(xs: list[f32[each N]]) -> (y: f32[]) ^launch over 3, threads 3",
        "a kernel on the device can't take lists of tensors",
        "write the function that launches the kernels, and put the signature before that",
    ),
    (
        "f(^xs: list[T[each N]], r: generator(1)) -> (y: T[])",
        "an operator with lists of tensors can't draw random numbers",
        "a tensor of random numbers as an argument",
    ),
]


MESSAGES += [
    (
        "f(^xs: list[T[each N]]) -> (count: int)",
        "a count, 'count', and lists of tensors don't mix",
        "a tensor that is always there",
    ),
    (
        "f(^xs: list[T[each N]], all: bool) -> (y: T[]? if all)",
        "a result on a condition, 'y', and lists of tensors don't mix",
        "a tensor that is always there",
    ),
    (
        "f(^xs: list[T[each N]], x: T[*A]) -> (y: T[])",
        "groups of axes and lists of tensors don't mix",
        "leading axes of each: xs: list[T[each ..., C]]",
    ),
    (
        "f(xs: list[T[^*A]]) -> (y: T[])",
        "the tensors of a list have no groups of axes",
        "leading axes of each: [each ..., N]",
    ),
    (
        "f(xs: list[T[1 ^if keep]], keep: bool) -> (y: T[])",
        "a bool can't decide axes of the tensors in a list",
        "leave out what begins with 'if'",
    ),
    (
        "f(xs: list[T[each N]], all: bool) -> (ys: list[T[each N]] ^if all)",
        "'ys' is a list of tensors, which is always returned",
        "leave out the condition",
    ),
]


@pytest.mark.parametrize(("marked", "message", "fix"), MESSAGES)
def test_wrong_signatures(marked: str, message: str, fix: str | None) -> None:
    assert_refused(marked, message, fix)


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (
            "f_backward(grad_s: T[], w: T[N]) -> (grad_xs: list[T[N, each M]])",
            "f_backward returns grad_xs: list[T[N, each M]], and nothing that it takes tells each M",
        ),
        (
            "f_backward(grad_s: T[N], xs: list[T[N, each M]]) -> (grad_xs: list[T[N, each M]])",
            "f_backward has grad_s: T[N], but in f it belongs to s: T[]",
        ),
        (
            "f_backward(grad_s: T[], xs: T[N, M], w: T[N]) -> (grad_w: T[N])",
            "f_backward has xs: T[N, M], but in f it belongs to xs: list[T[N, each M]]",
        ),
    ],
)
def test_wrong_backwards(backward: str, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        derivative(parse("f(xs: list[T[N, each M]], w: T[N]) -> (s: T[])"), parse(backward))
    assert str(caught.value).startswith(message)


def test_a_gradient_of_a_list_that_isnt_taken() -> None:
    with pytest.raises(
        SignatureError, match=r"add grad_ys: list\[T\[each N\]\] to its inputs \(zeros where nobody gave one\)"
    ):
        derivative(
            parse("f(xs: list[T[each N]]) -> (ys: list[T[each N]], s: T[])"),
            parse("f_backward(grad_s: T[], xs: list[T[each N]]) -> (grad_xs: list[T[each N]])"),
        )
