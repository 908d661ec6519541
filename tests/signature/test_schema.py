from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.signature import GeneratorParam, ScalarParam, Signature, parse, schema
from opwright.signature.names import axis_argument
from opwright.signature.scalar_kinds.lists import AnyList, FixedList


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("my_op(x: T[...], y: T[...]) -> (z: T[...])", {}, "my_op(Tensor x, Tensor y) -> Tensor"),
        ("f(x: T[N]) -> (a: T[N], b: T[N]; r: T[N])", {}, "f(Tensor x) -> (Tensor, Tensor)"),
        ("f(x: T[N]) -> (a: T[N]; r: T[N])", {"with_residuals": True}, "f(Tensor x) -> (Tensor, Tensor)"),
        ("f(x: T[N]!, y: T[N]?!, z: T[N]?)", {}, "f(Tensor(a!) x, Tensor(b!)? y=None, Tensor? z=None) -> ()"),
        (
            "f(z: T[N]?, x: T[N], k: int, a: float = 1.0, b: bool = True, n: int = -3)",
            {},
            "f(Tensor? z, Tensor x, SymInt k, float a=1.0, bool b=True, SymInt n=-3) -> ()",
        ),
        (
            "f(x: T[N], a: float = 1.0, w: T[N]?, rng: generator(1))",
            {},
            "f(Tensor x, float a=1.0, Tensor? w=None, Generator? rng=None) -> ()",
        ),
        ("f(rng: generator(1), x: T[N])", {}, "f(Generator? rng, Tensor x) -> ()"),
        ("f(x: T[N])", {"name": "ns::g", "overload": "inner"}, "ns::g.inner(Tensor x) -> ()"),
        (
            "f_backward(grad_z: T[N]?, a: float = 1.0) -> (grad_x: T[N], grad_y: T[...])",
            {"axes": ("N", "M"), "ellipsis": True, "output_mask": 2},
            (
                "f_backward(Tensor? grad_z, float a, SymInt axis_N, SymInt axis_M, SymInt[] axis_ellipsis, "
                "bool[2] output_mask=[True, True]) -> (Tensor, Tensor)"
            ),
        ),
        (
            "f_backward(grad_z: T[N], a: float = 1.0) -> (grad_x: T[N])",
            {"output_mask": 1},
            "f_backward(Tensor grad_z, float a=1.0, bool[1] output_mask=[True]) -> Tensor",
        ),
    ],
)
def test_text(text: str, options: dict[str, Any], expected: str) -> None:
    assert schema(parse(text), **options) == expected


@pytest.mark.slow
@settings(max_examples=80)
@given(data=st.data())
def test_torch_reads_each_form(signatures: st.SearchStrategy[Signature], data: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    signature = data.draw(signatures)
    axes = signature.axes if data.draw(st.booleans()) else ()
    ellipsis, mask, residuals = data.draw(st.booleans()), data.draw(st.integers(0, 3)), data.draw(st.booleans())
    read = torch._C.parse_schema(
        schema(
            signature,
            name="ns::g",
            overload="o",
            with_residuals=residuals,
            axes=axes,
            ellipsis=ellipsis,
            output_mask=mask,
        )
    )
    names = [param.name for param in signature.inputs] + [axis_argument(axis) for axis in axes]
    names += ["axis_ellipsis"] * ellipsis + ["output_mask"] * (mask > 0)
    assert [argument.name for argument in read.arguments] == names
    assert (read.name, read.overload_name) == ("ns::g", "o")
    results = len(signature.results if residuals else signature.outputs)
    if not residuals and signature.listed:
        assert [str(result.type) for result in read.returns] == ["List[Tensor]"]
    else:
        assert len(read.returns) == results + (0 if residuals else len(signature.returned))
    for param, argument in zip(signature.inputs, read.arguments, strict=False):
        kind = argument.real_type.kind()
        if isinstance(param, ScalarParam):
            if param.kind.is_optional:
                assert kind == "OptionalType"
                kind = argument.real_type.getElementType().kind()
            if isinstance(param.kind, AnyList):
                assert kind == "ListType"
                assert (param.kind.count if isinstance(param.kind, FixedList) else None) == argument.N
                element = argument.real_type.getElementType().kind()
                ints = "IntType" if isinstance(param.kind, FixedList) else "SymIntType"
                assert element == {"float": "FloatType", "int": ints, "bool": "BoolType"}[param.kind.base.name]
                if not (axes or ellipsis) and param.default is not None:
                    assert argument.default_value == list(param.default)
                continue
            kinds = {float: "FloatType", int: "SymIntType", bool: "BoolType", str: "StringType"}
            assert kind == kinds[param.kind.python_type]
            if not (axes or ellipsis):
                assert argument.default_value == param.default
        elif isinstance(param, GeneratorParam):
            assert str(argument.type) == "Optional[Generator]"
        else:
            assert str(argument.type) == ("Optional[Tensor]" if param.optional else "Tensor")
            assert (argument.alias_info is not None and argument.alias_info.is_write) == param.mutated


def test_many_mutated() -> None:
    torch = pytest.importorskip("torch")
    text = schema(parse(f"f({', '.join(f'x{i}: T[N]!' for i in range(30))})"))
    sets = {argument.alias_info.before_set.pop() for argument in torch._C.parse_schema(text).arguments}
    assert len(sets) == 30
