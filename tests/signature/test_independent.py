"""``independent``: where its axes are, what a derived backward inherits, and what doesn't change by it."""

from __future__ import annotations

import pytest

from opwright.signature import parse, schema
from opwright.signature.clauses.independent import Slices, described, slices
from opwright.signature.clauses.variants import variant_signatures
from opwright.signature.derivatives import chains, overload_name, with_derived

CONV = "conv(x: T[N, C, L], w: T[C, K]) -> (y: T[N, C, L-K+1])"


@pytest.mark.parametrize(
    "text",
    [
        f"{CONV} independent N, C",
        "f(x: T[..., G, D]) -> (y: T[..., G]) independent G",
        "f(x: T[G, D]) -> (y: T[G]) where T in (f32, f64) batched independent G derived autocast: f32 flops: ...*G*D",
        "dot(x: T[N], y: T[N]) -> (s: T[]) independent N",
        "f_backward(grad_y: T[]) -> (grad_x: T[N]) independent N",
        "gather(x: T[M, C], at: i64[N] in [0, M)) -> (y: T[N, C]) independent N, C",
        "f(x: T[N]!, w: T[]?) -> (x) independent N",
        "f(x: T[B, 3, S]) -> (y: T[B, S], n: int) independent B, S",
    ],
)
def test_it_reads_back_as_it_was(text: str) -> None:
    signature = parse(text)
    assert str(signature) == text
    assert signature.independent
    without = signature.replaced(independent=())
    assert schema(signature) == schema(without)
    assert without == parse(text.replace(f" independent {', '.join(signature.independent)}", ""))


def test_it_may_stand_at_any_place_among_the_modifiers() -> None:
    assert str(parse(f"{CONV} derived independent N, C where T in (f32, f64)")) == (
        f"{CONV} where T in (f32, f64) independent N, C derived"
    )


def test_where_the_axes_are() -> None:
    assert slices(parse(f"{CONV} independent N, C")) == (Slices("N", (3, 0), (3,)), Slices("C", (2, 2), (2,)))
    (axis,) = slices(parse("f(x: T[..., G, D], w: T[G]) -> (y: T[..., G]; r: T[D]) independent G"))
    assert axis == Slices("G", (2, 1), (1, 0))


def test_in_words() -> None:
    assert described(parse(f"{CONV} independent N, C")) == "N (w shared), C"
    backward = f"{CONV[:4]}_backward(grad_y: T[N, C, L-K+1], w: T[C, K]) -> (grad_x: T[N, C, L], grad_w: T[C, K])"
    assert described(parse(f"{backward} independent N")) == "N (w shared; grad_w summed)"


def test_derived_operators_have_it() -> None:
    """The gradient of a sum is shared, that of what is shared is a sum: each derivative is independent, too."""
    signatures, derived = with_derived([parse(f"{CONV} independent N, C derived")])
    assert len(derived) == 5
    assert all(signature.independent == ("N", "C") for signature in signatures)
    _, derived = with_derived([parse("f(x: T[G, D]) -> (y: T[]) batched independent G derived")])
    assert all(each.signature.independent == ("G",) for each in derived.values())


def test_a_handwritten_backward_says_it_itself() -> None:
    backward = (
        "conv_backward(grad_y: T[N, C, L-K+1], x: T[N, C, L], w: T[C, K]) -> (grad_x: T[N, C, L], grad_w: T[C, K])"
    )
    (chain,) = chains(map(parse, [f"{CONV} independent N, C", backward]))
    assert [signature.independent for signature in chain] == [("N", "C"), ()]
    (chain,) = chains(map(parse, [CONV, f"{backward} independent N"]))
    assert [signature.independent for signature in chain] == [(), ("N",)]


def test_another_word_is_another_overload() -> None:
    """Graphs that were traced with the word, and have a folded call in them, aren't found without it."""
    names = {overload_name([parse(CONV + word)]) for word in ("", " independent N", " independent C")}
    assert len(names) == 3


def test_variants_overwrite_what_they_are_given() -> None:
    """A sum that is overwritten isn't added to, so the forms themselves are independent along nothing."""
    forms = variant_signatures(parse("total(x: T[N, C]) -> (y: T[C]) independent N, C variants: out"))
    assert forms["total.out"].independent == ()
