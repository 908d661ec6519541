from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.signature import Axis, Binary, Constant, Expr, Shape, TensorParam, parse
from opwright.signature.expr import determined

_LEAVES = st.integers(-4, 6).map(Constant) | st.sampled_from("ABC").map(Axis)
EXPRS: st.SearchStrategy[Expr] = st.recursive(
    _LEAVES, lambda inner: st.builds(Binary, st.sampled_from(["+", "-", "*", "//"]), inner, inner), max_leaves=8
)
SIZES = st.fixed_dictionaries({axis: st.integers(0, 7) for axis in "ABC"})


def expr(text: str) -> Expr:
    tensor = parse(f"f_backward(x: T[{text}])").inputs[0]
    assert isinstance(tensor, TensorParam)
    assert isinstance(tensor.shape, Shape)
    (dim,) = tensor.shape.exprs
    return dim


@pytest.mark.slow
@given(tree=EXPRS, sizes=SIZES)
def test_values_are_those_of_python(tree: Expr, sizes: dict[str, int]) -> None:
    try:
        expected = eval(str(tree), {}, sizes)  # noqa: S307 - our own text
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            tree.evaluate(sizes)
        assert any(not divisor.axes or _is_zero(divisor, sizes) for divisor in tree.divisors())
    else:
        assert tree.evaluate(sizes) == expected


def _is_zero(divisor: Expr, sizes: dict[str, int]) -> bool:
    return divisor.evaluate(sizes) == 0


@pytest.mark.slow
@given(tree=EXPRS, sizes=SIZES, other=st.integers(0, 50))
def test_coefficients_give_the_line(tree: Expr, sizes: dict[str, int], other: int) -> None:
    for axis in "ABC":
        if axis not in tree.axes or not _linear(tree, axis, sizes):
            continue
        slope, rest = tree.coefficients(axis, {name: size for name, size in sizes.items() if name != axis})
        for size in (0, 1, other):
            assert slope * size + rest == tree.evaluate(sizes | {axis: size})


def _linear(tree: Expr, axis: str, sizes: dict[str, int]) -> bool:
    try:
        tree.evaluate(sizes)
        return tree.is_linear_in(axis)
    except ZeroDivisionError:
        return False


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("N", "N"),
        ("3 * S", "3*S"),
        ("(3*S)+(I)", "3*S+I"),
        ("A-(B-C)", "A-(B-C)"),
        ("(A-B)-C", "A-B-C"),
        ("A+(B+C)", "A+(B+C)"),
        ("(A+B)*C", "(A+B)*C"),
        ("A*(B//C)", "A*(B//C)"),
        ("A*B//C", "A*B//C"),
        ("007", "7"),
        ("-N+M", "-1*N+M"),
        ("A--1", "A-(-1)"),
        ("A*(-1)", "A*(-1)"),
        ("A-(-B)", "A-(-1*B)"),
        ("--A", "-1*(-1*A)"),
        ("A+B-C", "A+B-C"),
        ("((((A))))", "A"),
        ("(A//2)//3", "A//2//3"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert str(expr(text)) == canonical
    assert expr(canonical) == expr(text)


@pytest.mark.parametrize(
    ("text", "linear"),
    [
        ("A", True),
        ("3*A+2", True),
        ("B-A", True),
        ("(A+1)*B", True),
        ("B*(C-A)", True),
        ("A+A", True),
        ("A*A", False),
        ("A//2", False),
        ("4//A", False),
        ("A-A", False),
        ("0*A", False),
        ("(B//2)*A", True),
        ("A*(B-A)", False),
    ],
)
def test_linear(text: str, *, linear: bool) -> None:
    assert expr(text).is_linear_in("A") is linear


def test_parts() -> None:
    tree = expr("A*(B+A)//(C//2)")
    assert tree.axes == {"A", "B", "C"}
    assert list(tree.names()) == ["A", "B", "A", "C"]
    assert [str(divisor) for divisor in tree.divisors()] == ["2", "C//2"]
    assert expr("A") == Axis("A")
    assert expr("A") != Constant(1)
    with pytest.raises(KeyError):
        tree.evaluate({"A": 1})


@pytest.mark.parametrize(
    ("equations", "known", "result"),
    [
        (["A"], "", "A"),
        (["A*B"], "", ""),
        (["A*B"], "A", "AB"),
        (["A+B", "B"], "", "AB"),
        (["A//2"], "", ""),
        (["A+B+C", "B+C", "C"], "", "ABC"),
        (["A*A"], "", ""),
        (["A+B", "A-B"], "", ""),
    ],
)
def test_determined(equations: list[str], known: str, result: str) -> None:
    assert determined(map(expr, equations), known) == frozenset(result)
