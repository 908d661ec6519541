"""`bind` finds the sizes that trying all of them finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.errors import ArgumentError
from opwright.signature import Signature, bind, parse
from tests.signature.binding import info

_DIMS = st.sampled_from(
    ["A", "B", "C", "2*A", "A+B", "A*B", "3*C-1", "B//2", "A-B", "4-C", "(A+1)*C", "2", "A+B+C", "C//A"]
)
_LIMIT = 15


def _solutions(signature: Signature, shapes: dict[str, tuple[int, ...]]) -> Iterator[tuple[dict[str, int], Any]]:
    """Every way to read the shapes, found by trying all sizes; knows nothing of how bind solves."""
    leads: set[tuple[int, ...]] = set()
    equations: list[str] = []
    for tensor in signature.tensors:
        shape, dims = shapes[tensor.name], tensor.dims
        lead = shape[: len(shape) - len(dims)]
        if tensor.has_ellipsis:
            leads.add(lead)
        if len(shape) < len(dims) or (lead and not tensor.has_ellipsis):
            return
        equations += [f"({dim}) == {size}" for dim, size in zip(dims, shape[len(lead) :], strict=True)]
    if len(leads) > 1:
        return
    condition = compile(" and ".join(equations) or "True", "<equations>", "eval")
    for sizes in itertools.product(range(_LIMIT), repeat=len(signature.axes)):
        axes = dict(zip(signature.axes, sizes, strict=True))
        if _holds(condition, axes):
            yield axes, next(iter(leads), None)


def _holds(condition: CodeType, axes: dict[str, int]) -> bool:
    try:
        return bool(eval(condition, {}, axes))  # noqa: S307 - our own text
    except ZeroDivisionError:
        return False


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data())
def test_against_brute_force(data: st.DataObject) -> None:
    tensors = []
    for name in "abc"[: data.draw(st.integers(1, 3))]:
        dims = (["..."] if data.draw(st.booleans()) else []) + data.draw(st.lists(_DIMS, max_size=3))
        tensors.append(f"{name}: T[{', '.join(dims)}]")
    signature = parse(f"f_backward({', '.join(tensors)})")  # a backward's axes needn't be determined
    truth = {axis: data.draw(st.integers(0, 3)) for axis in signature.axes}
    lead = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    shapes = {t.name: _shape(t, truth, lead, data) for t in signature.tensors}
    expected = list(itertools.islice(_solutions(signature, shapes), 2))
    try:
        bound = bind(signature, {name: info(*shape) for name, shape in shapes.items()})
    except ArgumentError as error:
        refused_rightly(str(error), signature, solvable=bool(expected))
    else:
        assert expected == [(bound.axes, bound.ellipsis)]


def refused_rightly(text: str, signature: Signature, *, solvable: bool) -> None:
    """Nothing fits; or two unknowns stand everywhere, which no one-unknown solver tells, or 0 is a coefficient."""
    undetermined = "and no argument tells" in text
    assert undetermined or not solvable
    assert not undetermined or signature.bound_by_required != signature.axes or "=0 (" in text


def _shape(tensor: Any, truth: dict[str, int], lead: tuple[int, ...], data: st.DataObject) -> tuple[int, ...]:
    sizes = [*lead] if tensor.has_ellipsis else []
    sizes += [
        max(0, dim.evaluate(truth | {"A": truth["A"] or 1} if "//A" in str(dim) else truth)) for dim in tensor.dims
    ]
    if sizes and data.draw(st.sampled_from([False, False, True])):
        sizes[data.draw(st.integers(0, len(sizes) - 1))] = data.draw(st.integers(0, 4))
    return tuple(sizes)


@pytest.mark.slow
@settings(max_examples=200)
@given(axes=st.fixed_dictionaries({axis: st.integers(1, 3) for axis in "ABC"}), order=st.permutations(range(4)))
def test_any_order_of_arguments_is_solved(axes: dict[str, int], order: list[int]) -> None:
    texts = ["a: T[A*B, C]", "b: T[A+B+C]", "c: T[2*A-1]", "d: T[B//2, C//A]"]
    signature = parse(f"f({', '.join(texts[i] for i in order)})")
    shapes = {t.name: tuple(max(0, eval(str(d), {}, axes)) for d in t.dims) for t in signature.tensors}  # noqa: S307
    assert bind(signature, {name: info(*shape) for name, shape in shapes.items()}).axes == axes
