"""Lists of tensors in calls: values, shapes, errors, what is overwritten; on both runtimes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import opwright
from opwright import ArgumentError, KernelError, Operators

HERE = Path(__file__).parent
SHAPES: list[list[tuple[int, ...]]] = [
    [(3,)],
    [(), (2, 3), (4,)],
    [(0,), (1, 1, 2), (0, 5)],
    [(2,)] * 40,
]


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(HERE / "kernels/list_ops.cpp")


def drawn(shapes: list[tuple[int, ...]], **options: Any) -> list[torch.Tensor]:
    return [torch.randn(shape, dtype=torch.float64, **options) for shape in shapes]


def assert_all_close(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert type(got) is list
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("shapes", SHAPES)
def test_one_call_serves_the_list(ops: Operators, shapes: list[tuple[int, ...]]) -> None:
    xs, ys = drawn(shapes), drawn(shapes)
    assert_all_close(ops.axpy(xs, ys, 2.0), [2 * x + y for x, y in zip(xs, ys, strict=True)])
    assert_all_close(ops.axpy(tuple(xs), ys=ys, a=0.5), [x / 2 + y for x, y in zip(xs, ys, strict=True)])


def test_every_length_is_a_call_of_its_own(ops: Operators) -> None:
    for length in (1, 2, 5, 2, 1, 300):
        xs = drawn([(i % 3,) for i in range(length)])
        assert_all_close(ops.axpy(xs, xs, 1.0), [2 * x for x in xs])


def test_elements_have_any_layout(ops: Operators) -> None:
    xs = [
        torch.randn(4, 2).t(),
        torch.randn(6, 3)[::2],
        torch.randn(2, 2, 2).permute(2, 0, 1),
        torch.randn(1).expand(5),
    ]
    assert_all_close(ops.axpy(xs, [x.contiguous() for x in xs], 1.0), [2 * x for x in xs])
    xs = [torch.randn(3, 2).t(), torch.randn(2, 8)[:, ::2]]
    each, total = ops.squares(xs, torch.ones(2))
    assert_all_close(each, [(x * x).sum() for x in xs])
    torch.testing.assert_close(total, sum((x * x).sum(1) for x in xs))


def test_unaligned_elements(ops: Operators) -> None:
    odd = torch.frombuffer(bytearray(range(1, 18)), dtype=torch.float32, offset=1, count=4)
    assert_all_close(ops.axpy([odd, odd[1:]], [torch.zeros(4), torch.zeros(3)], 1.0), [odd.clone(), odd[1:].clone()])


def test_lists_beside_other_results(ops: Operators) -> None:
    x = torch.arange(9.0)
    parts, rest = ops.split(x, [torch.zeros(3), torch.zeros(2), torch.zeros(4)], 1)
    assert [part.tolist() for part in parts] == [[0, 1], [2], [3, 4, 5]]
    assert rest.tolist() == [6, 7, 8]
    parts, rest = ops.split(x, [], 1)
    assert parts == []
    assert rest.tolist() == x.tolist()


def test_lengths_that_have_nothing_to_do_with_each_other(ops: Operators) -> None:
    masks = [torch.tensor([True, False]), torch.tensor([True, True])]
    assert ops.counts([torch.zeros(2), torch.zeros(3), torch.zeros(0)], masks).tolist() == [5, 3]
    assert ops.counts([], masks).tolist() == [0, 3]
    assert ops.counts([torch.zeros(2)], []).tolist() == [2, 0]


def test_what_the_kernel_refuses(ops: Operators) -> None:
    with pytest.raises(KernelError, match="too many: 4"):
        ops.counts([torch.zeros(1)] * 4, [])


def test_overwritten(ops: Operators) -> None:
    dense, gaps = torch.arange(3.0), torch.arange(8.0)
    versions = dense._version, gaps._version
    assert ops.scale_([dense, gaps[::2], torch.zeros(0)], torch.tensor(10.0)) is None
    assert dense.tolist() == [0, 10, 20]
    assert gaps.tolist() == [0, 1, 20, 3, 40, 5, 60, 7]
    assert (dense._version, gaps._version) == (versions[0] + 1, versions[1] + 1)
    negative = torch.ones(2)
    ops.scale_([torch._neg_view(negative)], torch.tensor(3.0))
    assert negative.tolist() == [3, 3]


def test_overwritten_many(ops: Operators) -> None:
    whole = torch.ones(40)
    ops.scale_(list(whole.split(2)), torch.tensor(2.0))  # neighbours in one memory
    assert whole.tolist() == [2] * 40
    ops.scale_([whole[i::20] for i in range(20)], torch.tensor(2.0))  # within each other, but apart
    assert whole.tolist() == [4] * 40


one = torch.zeros(2)
x32, x64 = torch.zeros(3), torch.zeros(3, dtype=torch.float64)
ERRORS: list[tuple[str, Callable[[Any], Any], str]] = [
    (
        "lengths",
        lambda ops: ops.axpy([x32] * 3, [x32] * 2, 1.0),
        "axpy(): ys has 2 tensors, expected 3, as xs has: both have each ...",
    ),
    ("one", lambda ops: ops.axpy([x32] * 2, [x32], 1.0), "axpy(): ys has 1 tensor, expected 2, as xs has"),
    (
        "empty",
        lambda ops: ops.axpy([], [], 1.0),
        "axpy(): all lists are empty and there is no other tensor, so nothing tells the device and the element types",
    ),
    (
        "types",
        lambda ops: ops.axpy([x32, x32], [x32, x64], 1.0),
        "axpy(): ys[1] has element type float64, expected T = float32 (xs[0])",
    ),
    (
        "integers",
        lambda ops: ops.axpy([x32.int()], [x32.int()], 1.0),
        "axpy(): xs[0] has element type int32, expected T in",
    ),
    (
        "ranks",
        lambda ops: ops.axpy([x32, x32], [x32, x32[None]], 1.0),
        "axpy(): ys[1] has shape (1, 3), expected 1 axis for 'each ...', as xs[1] has, not 2",
    ),
    ("sizes", lambda ops: ops.axpy([x32, x32], [x32, x32[1:]], 1.0), "axpy(): ys[1] has shape (2,), expected"),
    (
        "shared axis",
        lambda ops: ops.squares([torch.zeros(2, 1), torch.zeros(3, 1)], one),
        "squares(): xs[1] has shape (3, 1), expected [M, N[1]] = (2, 1)",
    ),
    (
        "rank",
        lambda ops: ops.squares([torch.zeros(2, 1), one], one),
        "squares(): xs[1] has shape (2,), expected [M, N[1]]: 2 axes, not 1",
    ),
    (
        "one type",
        lambda ops: ops.counts([x64], []),
        "counts(): xs[0] has element type float64, expected f32 = float32",
    ),
    (
        "negative",
        lambda ops: ops.split(x32, [x32, x32[1:]], 3),
        "split(): the shape of parts[1] is [M[1]-k]: M[1]-k is negative",
    ),
    (
        "a number",
        lambda ops: ops.axpy(1.5, [x32], 1.0),
        "axpy(): xs is the float 1.5, expected a list of tensors list[T[each ...]]",
    ),
    (
        "None",
        lambda ops: ops.axpy([x32, None], [x32, x32], 1.0),
        "axpy(): xs[1] is None, expected a tensor T[each ...]",
    ),
    ("no tensor", lambda ops: ops.axpy([x32, "a"], [x32, x32], 1.0), "axpy(): xs[1] is the str 'a', expected a tensor"),
    (
        "missing",
        lambda ops: ops.axpy([x32], a=1.0),
        "axpy(): ys is missing, expected a list of tensors list[T[each ...]]",
    ),
    (
        "sparse",
        lambda ops: ops.axpy([x32], [x32.to_sparse()], 1.0),
        "axpy(): ys[0] is a sparse or otherwise packed tensor",
    ),
    (
        "nested",
        lambda ops: ops.axpy([x32, torch.nested.nested_tensor([x32], layout=torch.jagged)], [x32, x32], 1.0),
        "axpy(): xs[1] is a nested tensor, expected a dense one",
    ),
    ("device", lambda ops: ops.axpy([x32], [x32.to("meta")], 1.0), "axpy(): ys[0] is on meta, xs[0] on cpu"),
    (
        "the same twice",
        lambda ops: ops.scale_([one, one], torch.tensor(1.0)),
        "scale_(): xs[0] is overwritten, but it shares memory with xs[1]",
    ),
    (
        "overlap",
        lambda ops: ops.scale_([torch.zeros(2) for _ in range(20)] + [x32[:2], x32[1:]], torch.tensor(1.0)),
        "scale_(): xs[20] is overwritten, but it shares memory with xs[21]",
    ),
    (
        "overlap with another",
        lambda ops: ops.scale_([torch.zeros(2) for _ in range(20)] + [x32], x32[1]),
        "scale_(): xs[20] is overwritten, but it shares memory with by",
    ),
    (
        "within",
        lambda ops: ops.scale_([one, torch.zeros(1).expand(3)], torch.tensor(1.0)),
        "scale_(): xs[1] is overwritten, but several of its elements share one place in memory",
    ),
    (
        "a leaf",
        lambda ops: ops.scale_([torch.zeros(2), torch.zeros(2, requires_grad=True)], torch.tensor(1.0)),
        "scale_(): xs[1] is overwritten, and it is a leaf that requires a gradient",
    ),
    ("freed", lambda ops: ops.axpy([x32], [freed()], 1.0), "axpy(): ys[0] has no memory: its storage was freed"),
]


def freed() -> torch.Tensor:
    tensor = torch.zeros(3)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(("call", "text"), [error[1:] for error in ERRORS], ids=[error[0] for error in ERRORS])
def test_errors_name_the_tensor(ops: Operators, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((ArgumentError, RuntimeError)) as caught:
        call(ops)
    assert str(caught.value).startswith(text), str(caught.value)


def test_errors_of_long_lists_are_short(ops: Operators) -> None:
    xs = [torch.zeros(i % 7) for i in range(300)]
    with pytest.raises(ArgumentError) as caught:
        ops.axpy(xs, [*xs[:-1], torch.zeros(9)], 1.0)
    assert str(caught.value).splitlines()[1:] == [
        "  bound so far: ...[299][0]=5 (xs[299])",
        "  signature:    axpy(xs: list[T[each ...]], ys: list[T[each ...]], a: float) -> (zs: list[T[each ...]])",
    ]


def test_no_call_leaves_memory_behind(ops: Operators) -> None:
    import gc
    import weakref

    xs = [torch.randn(3) for _ in range(4)]
    zs = ops.axpy(xs, xs, 1.0)
    kept = [weakref.ref(tensor) for tensor in (*xs, *zs)]
    del xs, zs
    gc.collect()
    assert [each() for each in kept] == [None] * 8


def test_the_schema(ops: Operators) -> None:
    assert str(ops.axpy._schema).partition("(")[2] == "Tensor[] xs, Tensor[] ys, float a) -> Tensor[]"
    assert str(ops.scale_._schema).partition("(")[2] == "Tensor(a!)[] xs, Tensor by) -> ()"
    assert str(ops.split._schema).partition("(")[2] == "Tensor x, Tensor[] likes, SymInt k) -> (Tensor[], Tensor)"
    assert "bool[2] output_mask" in str(ops.axpy_backward._schema)
    assert "xs: list[T[each ...]]" in (ops.axpy.__doc__ or "")
