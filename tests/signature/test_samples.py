from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from opwright.errors import ArgumentError
from opwright.signature import (
    Binding,
    DType,
    Sample,
    Signature,
    TensorInfo,
    TensorSample,
    bind,
    parse,
    sample,
    sample_at,
)


def addresses(tensor: TensorSample) -> list[int]:
    indices = itertools.product(*map(range, tensor.shape))
    return [tensor.offset + sum(i * s for i, s in zip(index, tensor.strides, strict=True)) for index in indices]


def assert_fits(signature: Signature, drawn: Sample) -> None:
    axes, ellipsis, types = drawn.binding.axes, drawn.binding.ellipsis, drawn.binding.types
    assert drawn.tensors.keys() == {tensor.name for tensor in signature.tensors}
    given = signature.given_sizes(drawn.scalars)
    assert set(axes) == {*signature.axes, *given}
    assert all(axes[axis] == size >= 0 for axis, size in given.items())
    for tensor in signature.tensors:
        made = drawn.tensors[tensor.name]
        if made is None:
            assert tensor.optional
            continue
        core = [eval(str(dim), {}, dict(axes)) for dim in tensor.dims]  # noqa: S307
        lead = list(made.shape[: len(made.shape) - len(core)])
        assert [*made.shape] == lead + core
        if signature.broadcasts:
            assert ellipsis is not None
            widened = [1] * (len(ellipsis) - len(lead)) + lead
            assert all(own in (1, size) for own, size in zip(widened, ellipsis, strict=True))
            assert not tensor.mutated or lead == list(ellipsis)
        else:
            assert lead == (list(ellipsis or ()) if tensor.has_ellipsis else [])
        assert made.dtype is tensor.type.resolve(types)
        used = addresses(made)
        assert made.storage_size >= max(used, default=-1) + 1
        assert len(set(used)) == len(used) or not tensor.mutated
        if used:
            assert made.low < made.high
    for scalar in signature.scalars:
        value = drawn.scalars[scalar.name]
        assert type(value) is scalar.kind.python_type or (value is None and scalar.kind.is_optional)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_samples_fit(signatures: st.SearchStrategy[Signature], data: st.DataObject, seed: int) -> None:
    signature = data.draw(signatures)
    try:
        drawn = sample(signature, random.Random(seed), max_numel=500)
    except ArgumentError:
        event("no sizes")  # as for T[0-1], or an empty index range
    else:
        event("checked")
        assert_fits(signature, drawn)


LLTM = parse(
    "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S]?, idx: i64[B] in [-1, S), n: T[2*B-1]!, "
    "k: int, on: bool, alpha: float = 2.5) -> (h: T[B, S]; g: T[B, ?K])"
)


def draws(count: int = 400, **options: object) -> list[Sample]:
    rng = random.Random(7)
    return [sample(LLTM, rng, **options) for _ in range(count)]  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_real_signature_gets_every_kind_of_sample() -> None:
    drawn = draws()
    for one in drawn:
        assert_fits(LLTM, one)
        infos = {name: TensorInfo(made.shape, made.dtype) for name, made in one.tensors.items() if made}
        assert bind(LLTM, infos).axes == one.binding.axes
        index = one.tensors["idx"]
        assert index is not None
        assert (index.low, index.high) == (-1, one.binding.axes["S"])
    assert {one.binding.types["T"] for one in drawn} == {DType.F32, DType.F64, DType.F16, DType.BF16}
    assert {one.binding.axes["I"] for one in drawn} == {0, 1, 2, 3, 5, 8, 17}
    assert {one.tensors["bias"] is None for one in drawn} == {True, False}
    assert {one.scalars["alpha"] == 2.5 for one in drawn} == {True, False}
    weights = [one.tensors["weights"] for one in drawn]
    big = [w for w in weights if w and min(w.shape) > 2]
    dense = [w for w in big if w.strides == (w.shape[1], 1)]
    assert any(w.offset for w in dense)
    assert any(not w.offset for w in dense)
    assert any(w.strides == (1, w.shape[0]) for w in big)
    assert any(w.strides[1] == 2 for w in big)
    assert any(0 in w.strides for w in big)
    assert len(dense) < len(big)


def test_contiguous_and_given_choices() -> None:
    for one in draws(100, contiguous=True, types={"T": DType.F64}, sizes=(2, 4)):
        assert one.binding.types == {"T": DType.F64}
        assert set(one.binding.axes.values()) <= {2, 4}
        for made in one.tensors.values():
            if made:
                assert addresses(made) == list(range(made.storage_size))


def test_the_same_seed_draws_the_same() -> None:
    assert draws(20) == draws(20)


def test_values() -> None:
    drawn = sample(parse("f(a: u8[N], b: i16[N], c: bool[N], d: c64[N])"), random.Random(0), sizes=(3,))
    assert {n: (t.low, t.high) for n, t in drawn.tensors.items() if t} == {
        "a": (0, 8),
        "b": (-8, 8),
        "c": (0, 2),
        "d": (-1.0, 1.0),
    }


def test_a_backward_draws_what_its_forward_would_bind() -> None:
    signature = parse("f_backward(grad_z: T[M*N]?) -> (grad_x: T[..., M, N])")
    drawn = sample(signature, random.Random(0))
    assert drawn.binding.axes.keys() == {"M", "N"}
    assert drawn.binding.ellipsis is not None


def test_named_sizes_fit() -> None:
    signature = parse(
        "pool(x: T[H, W], k: int in [1, inf), by: int, at: i64[OH] in [0, OH), last: int in [0, OH]) -> (y: T[OH, OW])"
        " where OH = (H - k)//by + 1, OW = (W - k)//by + 1"
    )
    rng, empty = random.Random(0), 0
    for _ in range(200):
        drawn = sample(signature, rng, attempts=200)
        assert_fits(signature, drawn)
        axes = drawn.binding.axes
        assert axes["OH"] == (axes["H"] - axes["k"]) // axes["by"] + 1 >= drawn.scalars["last"]
        empty += axes["OW"] == 0
    assert 0 < empty < 60
    fixed = sample(signature, rng, sizes=(2, 3, 5), fixed={"OW": 0}).binding.axes
    assert fixed["OW"] == 0 != fixed["W"]


def test_a_call_has_no_more_operations_than_it_may_take() -> None:
    text = "attend(q: T[B, D], table: i32[B, M]) -> (y: T[B, D])"
    drawn = [
        [sample(parse(text + flops), random.Random(seed), sizes=(2, 9000)) for seed in range(40)]
        for flops in ("", " flops: 64*B*M*D//(D - 2)", " flops: 64*B*M*D")
    ]
    worked = [max(d.binding.axes["B"] * d.binding.axes["M"] * d.binding.axes["D"] for d in draws) for draws in drawn]
    assert worked[0] > 2**28 // 64 >= worked[2]


def test_a_fixed_size_is_in_its_domain() -> None:
    """As `opwright check` asks for each size to be 0, where that can be."""
    signature = parse("top(x: T[G, E], groups: int in [1, G], k: int in [1, groups*E]) -> (y: T[k])")
    rng = random.Random(0)
    assert sample(signature, rng, sizes=(2, 3), fixed={"k": 1}).binding.axes["k"] == 1
    for name in ("k", "E"):
        with pytest.raises(ArgumentError, match="no sizes drawn from"):
            sample(signature, rng, sizes=(2, 3), fixed={name: 0})


def test_a_call_with_given_sizes_computes_the_named_ones() -> None:
    signature = parse("f(x: T[N], by: int) -> (y: T[M]) where M = (N - 3)//by")
    types = {"T": DType.F32}
    assert sample_at(signature, Binding({"N": 9, "by": 2}, None, types)).binding.axes["M"] == 3
    for sizes, message in (({"N": 9, "by": 0}, "division by zero in M"), ({"N": 2, "by": 1}, "is -1, expected a size")):
        with pytest.raises(ArgumentError, match=message):
            sample_at(signature, Binding(sizes, None, types))


@pytest.mark.parametrize(
    "text",
    [
        "f(x: T[A, B, C, D]) -> (y: T[A, B, C, D])",
        "f(x: T[H], k: int, by: int, pad: int) -> (y: T[OH]) where OH = (H + 2*pad - by*(k - 1) - 1)//by + 1",
    ],
)
def test_smaller_sizes_where_none_of_the_wanted_ones_fit(text: str) -> None:
    for seed in range(5):
        drawn = sample(signature := parse(text), random.Random(seed), sizes=(64, 32, 128), max_numel=1 << 14)
        assert_fits(signature, drawn)
    one = sample(parse("f(x: T[A, B])"), random.Random(0), sizes=(64, 32, 128), max_numel=1 << 14)
    assert {64, 32, 128} >= {*one.binding.axes.values()}


def test_no_sizes() -> None:
    with pytest.raises(ArgumentError) as caught:
        sample(parse("f(x: T[N, N-20])"), random.Random(0), sizes=(1, 2))
    assert str(caught.value) == (
        "f(): no sizes drawn from (1, 2) satisfy the signature with at most 65536 elements a tensor\n"
        "  signature:    f(x: T[N, N-20])\n"
        "  likely fix:   other sizes="
    )


KINDS = ("whole", "short", "one", "empty", "scalar")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "f(x: T, y: T, z: T?, w: T!) -> (v: T)",
        "f(x: T, y: T) -> (z: T)",
        "f(x: T[N], y: T[N, M]?, z: T[M]) -> (w: T[]) batched",
    ],
)
def test_leading_axes_broadcast(text: str) -> None:
    """Axes are left out or have size 1; nothing but what is overwritten always has all of them."""
    signature, rng = parse(text), random.Random(5)
    found = set()
    for _ in range(400):
        drawn = sample(signature, rng)
        assert_fits(signature, drawn)
        infos = {name: TensorInfo(made.shape, made.dtype) for name, made in drawn.tensors.items() if made}
        bound = bind(signature, infos)
        assert (bound.ellipsis, bound.types) == (drawn.binding.ellipsis, drawn.binding.types)
        for tensor in signature.tensors:
            made = drawn.tensors[tensor.name]
            if made is None:
                continue
            lead = made.shape[: len(made.shape) - len(tensor.dims)]
            whole = drawn.binding.ellipsis or ()
            found |= {(tensor.name, kind) for kind in KINDS if is_(kind, lead, whole)}
    expected = {(t.name, kind) for t in signature.tensors for kind in KINDS}
    assert expected - found == {(t.name, kind) for t in signature.mutated for kind in ("short", "one")}


def is_(kind: str, lead: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether a tensor's leading axes, of all of them, are an example of what is meant."""
    narrowed = zip(lead[::-1], whole[::-1], strict=False)
    return {
        "whole": lead == whole and len(whole) > 1,
        "short": 0 < len(lead) < len(whole),
        "one": any(own == 1 != size for own, size in narrowed),
        "empty": 0 in lead,
        "scalar": not lead,
    }[kind]


def test_torch_accepts_the_layouts() -> None:
    torch = pytest.importorskip("torch")
    for one in draws(100):
        for made in one.tensors.values():
            if made:
                storage = torch.zeros(made.storage_size, dtype=getattr(torch, made.dtype.torch_name))
                assert storage.as_strided(made.shape, made.strides, made.offset).shape == made.shape
