"""The page from the signature to C++: it has every form of the grammar, and the parameters it shows fit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import lark
import pytest

import opwright.signature
from opwright.signature.dtypes import DType
from opwright.signature.scalars import KINDS
from opwright.sources import scan
from opwright.sources.matching import match

PAGE = (Path(__file__).parents[2] / "docs/signature_to_cpp.md").read_text()
TEXT = (Path(opwright.signature.__file__).parent / "notation.lark").read_text()
CODE = re.compile(r"`([^`]+)`")
# The table of parameters: what a row's notation becomes in a C++ kernel, and in a C function.
ROWS = re.findall(r"^\| `((?:\w+: |-> ).*?)` \| (.*?) \| (.*?) \|$", PAGE.partition("## Sizes")[0], re.MULTILINE)


def rule(name: str) -> str:
    """The rule to which one belongs that lark makes for `*`, or for a pattern: `__sum{size}_star_9` is of `_sum`."""
    return re.sub(r"\{\w+\}", "", re.sub(r"^__(.*)_star_\d+$", r"\1", name))


def symbols(rules: Iterable[lark.grammar.Rule]) -> set[tuple[str, str]]:
    pairs = {(rule(one.origin.name), rule(symbol.name)) for one in rules for symbol in one.expansion}
    return {(name, symbol) for name, symbol in pairs if name != symbol}


def test_its_signatures_use_every_part_of_every_rule() -> None:
    grammar = lark.Lark(TEXT, start="signature", parser="lalr")
    callbacks = grammar.parser.parser.parser.callbacks
    used = set[lark.grammar.Rule]()

    def noted(reduced: lark.grammar.Rule) -> None:
        build = callbacks[reduced]

        def build_and_note(children: list[object]) -> object:
            used.add(reduced)
            return build(children)

        callbacks[reduced] = build_and_note

    for each in list(callbacks):
        noted(each)
    for signature in re.findall(r'^OPWRIGHT\("(.*)"\)', PAGE, re.MULTILINE):
        grammar.parse(signature)
    missing = symbols(callbacks) - symbols(used)
    assert not missing, f"no kernel on the page has a signature with {missing}: add what it becomes, and a kernel"


def declarations(cell: str) -> list[str]:
    """The declarations in a cell, of one parameter or several: code that ends in a name after a type."""
    return [code for code in CODE.findall(cell) if re.fullmatch(r"[^=()]+[ *>&]\w+", code)]


def sizes_of(form: str) -> list[str]:
    """The int axes that a C function takes, beside those of the input that binds them."""
    return [f"int64_t {axis}" for axis in "NCM" + "K" * ("?K" in form) + "A" * ("*A" in form)]


def assert_fits(folder: Path, name: str, form: str, given: str, function: str) -> None:
    """The kernel of a file fits the signature that has `form` beside an input that binds its axes."""
    signature = f"f({given}, {form}) -> (z: f32[N])" if form[:2] != "->" else f"f({given}) {form}"
    source = folder / name
    source.write_text(f'OPWRIGHT("{signature}")\n{function}')
    (kernel,) = scan(source, source.read_text()).kernels
    match(kernel)


@pytest.mark.parametrize(("form", "cpp", "c"), ROWS, ids=[row[0] for row in ROWS])
def test_the_parameters_of_its_table_fit(form: str, cpp: str, c: str, tmp_path: Path) -> None:
    written = ", Tensor<float, 1> z" if form[:2] != "->" else ""
    asks = "if all" in form
    given = ("g: T[..., N, C, M]" if "..." in form else "g: T[N, C, M]") + ", all: bool" * asks
    given += ", size: int?" * ("= size" in form)
    view = ("Tensor<const T> g" if "..." in form else "Tensor<const T, 3> g") + ", bool all" * asks
    if form.startswith("-> (ys: list["):
        given, view = f"{given}, xs: list[T[each L]]", f"{view}, List<const T, 1> xs"
    assert declarations(cpp)
    for declared in declarations(cpp):
        last = f"{written}, {declared}" if "generator" in form else f", {declared}{written}"
        assert_fits(tmp_path, "f.cpp", form.replace("\\|", "|"), given, f"template <class T> void f({view}{last}) {{}}")
    assert bool(declarations(c)) == (c != "none")
    concrete = form.replace("T[", "f32[").replace("\\|", "|")
    for declared in declarations(c):
        parameters = ["const float *g", *["bool all"] * asks, *sizes_of(form), declared, *["float *z"] * bool(written)]
        assert_fits(tmp_path, "f.c", concrete, given.replace("T[", "f32["), f"void f({', '.join(parameters)}) {{}}")


def test_its_table_has_every_kind_of_parameter() -> None:
    forms = [row[0] for row in ROWS]
    for kind in KINDS:
        assert any(re.fullmatch(rf"\w+: {kind}", form) for form in forms), kind


def test_its_element_types_are_all_there_are() -> None:
    rows = re.findall(r"^\| (`[a-z]\w+`.*?) \| (.*?) \| (.*?) \|", PAGE, re.MULTILINE)
    told = {
        notation: (torch, cpp.strip("`"))
        for names, torches, cpps in rows
        for notation, torch, cpp in zip(CODE.findall(names), torches.split(", "), cpps.split(", "), strict=False)
    }
    for dtype in DType:
        assert told[str(dtype)] == (dtype.torch_name, dtype.cpp_name)
        assert f"`{dtype}`" in PAGE
