"""Counts the operator schemas of checkouts that can be written in Opwright's notation, and says what blocks the others.

usage: python tools/expressible.py FOLDER... [--list]

Reads the calls of ``.def("...")`` in C++ and CUDA sources: schemas of ``TORCH_LIBRARY``, and of functions bound without
one (pybind11, ``RegisterOperators().op("ns::name", &f)``), whose schema follows from the head of `f`, if it is there.
A schema counts only if a signature is found that `parse` accepts, and whose schema has the same names, types, defaults
and written arguments. Element types and shapes can't be known from a schema: tensors are ``T[...]``. So this counts
interfaces, not kernels. SymInt and int are the same here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from opwright.errors import SignatureError  # noqa: E402 - from this checkout
from opwright.signature import DType, parse  # noqa: E402
from opwright.signature.schema import schema as schema_of  # noqa: E402
from opwright.sources.cpp.tokens import MalformedError, Token, Tokens, readable  # noqa: E402

_SUFFIXES = {".cpp", ".cc", ".cu", ".cuh", ".h", ".hpp"}
_NUMBERS = {"int": "int", "SymInt": "int", "float": "float", "bool": "bool", "str": "str", "Scalar": "float"}
_CPP_TYPES = {
    r"(at|torch)::Tensor": "Tensor",
    r"(c10|std|torch)::optional<(at|torch)::Tensor>": "Tensor?",
    r"int64_t|int|long|int32_t|size_t|unsigned|unsigned int": "int",
    r"double|float": "float",
    r"bool": "bool",
    r"std::string|std::string_view|c10::string_view": "str",
    r"(c10|std|torch)::optional<(int64_t|int)>": "int?",
    r"(c10|std|torch)::optional<(double|float)>": "float?",
    r"(c10|std|torch)::optional<bool>": "bool?",
    r"(c10|std|torch)::optional<std::string>": "str?",
    r"std::vector<int64_t>|std::vector<int>|(at|torch)::IntArrayRef": "int[]",
    r"std::vector<double>|std::vector<float>": "float[]",
    r"std::vector<(at|torch)::Tensor>|(at|torch)::TensorList": "Tensor[]",
    r"std::tuple<((at|torch)::Tensor,?)+>": "tuple",
    r"void": "()",
}
_BY_CODE = {dtype.code: dtype for dtype in DType}
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class Found(NamedTuple):
    """A schema of a checkout: where it stands, and its text; empty if it follows from a function that isn't found."""

    place: str
    text: str


def found(folder: Path) -> Iterator[Found]:
    """Yield the schemas of a checkout, each once."""
    texts = {path: path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES}
    heads: dict[str, str] | None = None
    seen = set[str]()
    for path, text in texts.items():
        if not re.search(r"TORCH_LIBRARY|PYBIND11_MODULE|RegisterOperators|REGISTER_EXTENSION", text):
            continue
        for line, name, function in _definitions(text):
            schema = re.sub(r"^\w+::", "", " ".join(name.split()))
            if "(" not in schema:
                if heads is None:
                    heads = _heads(texts.values())
                schema = _from_head(schema, heads.get(function, ""))
            if (schema or name) not in seen:
                seen.add(schema or name)
                yield Found(f"{path.relative_to(folder)}:{line} {name.partition('(')[0]}", schema)


def _definitions(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the literal and the function's name of each ``.def("...", &f)`` and ``.op("...", &f)``."""
    try:
        tokens = Tokens(readable(text))
    except MalformedError:
        return
    for index, token in enumerate(tokens.all):
        if not (token.text in ("def", "op") and tokens.is_sign(index - 1, ".") and tokens.is_sign(index + 1, "(")):
            continue
        inside = tokens.all[index + 2 : tokens.partner.get(index + 1, index + 2)]
        while inside and inside[0].text in ("TORCH_SELECTIVE_SCHEMA", "("):
            inside = inside[1:]
        literal = "".join(_literal(each) for each in _leading(inside))
        names = [each.text for each in inside if each.kind == "word"]
        if literal:
            yield text.count("\n", 0, token.start) + 1, literal, names[-1] if "(" not in literal and names else ""


def _leading(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        if not token.text.endswith('"'):
            return
        yield token


def _literal(token: Token) -> str:
    if match := re.fullmatch(r'R"(\w*)\((.*)\)\1"', token.text, re.DOTALL):
        return match[2]
    return "".join(_TEXT.findall(token.text)).replace('\\"', '"').replace("\\n", " ")


def _heads(texts: Iterable[str]) -> dict[str, str]:
    """Return the heads of functions by name: ``at::Tensor f(at::Tensor x)``."""
    heads: dict[str, str] = {}
    pattern = re.compile(
        r"\b((?:std::tuple<[^;{}()]*>|std::vector<[^;{}()]*>|[\w:]+))\s+(\w+)\s*\(([^(){};]*)\)\s*[;{]"
    )
    for text in texts:
        for match in pattern.finditer(text):
            if match[1] not in ("return", "else", "new"):
                heads.setdefault(match[2], f"{match[1]} {match[2]}({match[3]})")
    return heads


def _from_head(name: str, head: str) -> str:
    """Return the schema that PyTorch would infer for a function; empty if a type is unknown."""
    match = re.fullmatch(r"(.*?)\s+\w+\((.*)\)", " ".join(head.split()))
    if not match:
        return ""
    pieces = re.split(r",(?![^<]*>)", match[2]) if match[2].strip() else []
    arguments = []
    for piece in pieces:
        words = re.sub(r"\bconst\b|&|=.*", " ", re.sub(r"/\*.*?\*/|//.*", "", piece)).split()
        kind = _schema_type("".join(words[:-1]))
        if not kind or kind in ("tuple", "()"):
            return ""
        arguments.append(f"{kind} {words[-1]}")
    returns = _schema_type(re.sub(r"\b(static|inline)\b|\s", "", match[1]))
    if returns == "tuple":
        returns = f"({', '.join(['Tensor'] * match[1].count('Tensor'))})"
    return f"{name}({', '.join(arguments)}) -> {returns}" if returns else ""


def _schema_type(cpp: str) -> str:
    plain = cpp.replace(" ", "")
    return next((kind for pattern, kind in _CPP_TYPES.items() if re.fullmatch(pattern, plain)), "")


def parse_schema(text: str) -> Any:
    """Return PyTorch's schema for a text; raise RuntimeError if it is none."""
    return torch._C.parse_schema(text)  # noqa: SLF001, TID251 - there is no public one


def signature_of(text: str) -> tuple[str, str]:
    """Return the signature for a schema, and "" or what blocks it."""
    try:
        known = parse_schema(text)
    except RuntimeError:
        return "", "not a schema that PyTorch reads"
    inputs = []
    chosen = [argument.name for argument in known.arguments if "ScalarType" in str(argument.real_type)]
    for argument in known.arguments:
        written, blocked = _input(argument, f"W{chosen.index(argument.name)}" if argument.name in chosen else "")
        if blocked:
            return "", blocked
        inputs.append(written)
    kinds = {str(argument.real_type) for argument in known.arguments}
    results, blocked = _results(known, kinds, len(chosen))
    if blocked:
        return "", blocked
    if chosen and not results:
        return "", "element types that no result has"
    tensors = [argument for argument in known.arguments if "Tensor" in str(argument.type)]
    if not tensors:
        return "", "no tensor among the arguments"
    # An input that is always given binds T and `...`; if there is none, the results have types and shapes of their own.
    if results and not kinds & {"Tensor", _LIST}:
        return "", "all tensors are optional"
    written = ", ".join(results)
    arrow = f" -> [{written}]" if _is_list(known, kinds) else f" -> ({written})" if results else ""
    every = ", ".join(str(dtype) for dtype in DType if not dtype.is_complex)
    where = f" where {', '.join(f'W{i} in ({every})' for i in range(len(chosen)))}" if chosen and results else ""
    signature = f"{known.name.rpartition('::')[2]}({', '.join(inputs)}){arrow}{where}"
    try:
        ours = parse_schema(schema_of(parse(signature)))
    except (SignatureError, RuntimeError) as error:
        return signature, f"refused: {str(error).splitlines()[0]}"
    return signature, difference(known, ours)


_LIST = "List[Tensor]"
_TENSORS = {"Tensor": "T[...]", "Optional[Tensor]": "T[...]?", _LIST: "list[T[each ...]]"}
"""Not an optional list: the dispatcher finds no keys in it."""


def _results(known: Any, kinds: set[str], chosen: int) -> tuple[list[str], str]:
    """Return the results in the notation, and what blocks one.

    `kinds`: the types of the arguments; `chosen`: how many element types are arguments.
    """
    if any(result.alias_info is not None for result in known.returns):
        return _returned(known)
    if _is_list(known, kinds):  # of how many tensors, a schema doesn't say
        return [f"out_0_: {'W0' if chosen else 'T'}[...]", "out_1_: T[...]"], ""
    results = []
    for place, result in enumerate(known.returns):
        # An element type that is an argument is that of a result.
        variable = f"W{min(place, chosen - 1)}" if chosen else "T"
        written, blocked = _result(result, variable, kinds, _condition(known.arguments))
        if blocked:
            return [], blocked
        results.append(f"{result.name or 'out_'}{place}_: {written}")
    return results, ""


def _result(result: Any, variable: str, kinds: set[str], condition: str) -> tuple[str, str]:
    """Return a result's type in the notation, and what blocks it.

    `kinds`: the types of the arguments; `condition`: the argument that decides on an optional result.
    """
    kind = str(result.type)
    shape = "[...]" if kinds & {"Tensor", "Optional[Tensor]"} else "[]"
    if kind in ("int", "SymInt"):
        return "int", ""
    if kind == _LIST and _LIST in kinds:  # which has its length
        return f"list[{variable}[each ...]]", ""
    if kind == "Tensor":
        return f"{variable}{shape}", ""
    if kind == "Optional[Tensor]" and condition:
        return f"{variable}{shape}? if {condition}", ""
    return "", f"results: {_kind(kind)}"


def _is_list(known: Any, kinds: set[str]) -> bool:
    """Return whether the results are one list, whose length no argument has."""
    return [str(result.type) for result in known.returns] == [_LIST] and _LIST not in kinds


def _returned(known: Any) -> tuple[list[str], str]:
    """Return the names of the arguments that are returned, and what blocks one."""
    owners: dict[str, str] = {}
    for argument in known.arguments:
        if argument.alias_info is not None and argument.alias_info.is_write and str(argument.type) == "Tensor":
            owners |= dict.fromkeys(argument.alias_info.before_set, argument.name)
    names = []
    for result in known.returns:
        if result.alias_info is None or not result.alias_info.is_write:
            return [], "results that are views, or new beside arguments"
        sources = [owners[each] for each in result.alias_info.before_set if each in owners]
        if not sources:
            return [], "results that are optional arguments"
        names += sources
    return names, ""


def _condition(arguments: Sequence[Any]) -> str:
    """Return the argument that is most likely to decide whether an optional result is returned; "" if none can."""
    kinds = {argument.name: str(argument.type) for argument in arguments}
    decide = [name for name, kind in kinds.items() if kind == "bool"]
    decide += [n for n, kind in kinds.items() if kind in ("Optional[Tensor]", "Optional[int]", "Optional[float]")]
    return next(iter(decide), "")


def _input(argument: Any, variable: str) -> tuple[str, str]:
    """Return an argument in the notation, and what blocks it; `variable`: the one that an element type says."""
    name, kind = argument.name, str(argument.real_type)
    if argument.kwarg_only:
        return "", "keyword-only arguments"
    if argument.alias_info is not None and not argument.alias_info.is_write:
        return "", "views of arguments (Tensor(a))"
    if kind in _TENSORS:
        return f"{name}: {_TENSORS[kind]}{'!' * (argument.alias_info is not None)}", ""
    if kind == "Optional[Generator]":
        return f"{name}: generator(1)", ""
    if variable and (kind == "ScalarType" or argument.default_value is None):
        known = argument.default_value
        default = " = T" if kind != "ScalarType" else "" if known is None else f" = {_BY_CODE.get(known)}"
        return f"{name}: dtype({variable}){default}", ""
    if kind == "Optional[Device]" and argument.default_value is None:
        return f"{name}: device", ""
    default = f" = {_default(argument)}" if argument.has_default_value() and argument.default_value is not None else ""
    optional = "?" * kind.startswith("Optional[")
    plain = kind.removeprefix("Optional[").removesuffix("]" * bool(optional))
    if plain in _NUMBERS:
        return f"{name}: {_NUMBERS[plain]}{optional}{default}", ""
    element = re.fullmatch(r"List\[(\w+)\]", plain)
    if element and element[1] in ("int", "SymInt", "float", "bool") and not optional:
        if argument.N is None and default:
            return "", "defaults of lists of any length"
        length = f", {argument.N}" if argument.N else ""
        return f"{name}: list[{_NUMBERS[element[1]]}{length}]{default}", ""
    return "", f"arguments: {_kind(kind)}"


def _default(argument: Any) -> str:
    value = argument.default_value
    if isinstance(value, (list, tuple)):
        return str(value[0]) if value and all(each == value[0] for each in value) else str(value)
    return f"'{value}'" if isinstance(value, str) else str(value)


def _kind(text: str) -> str:
    return {
        "List[Tensor]": "lists of tensors",
        "Optional[List[Tensor]]": "lists of tensors",
        "List[Optional[Tensor]]": "lists of tensors",
        "Optional[Tensor]": "optional tensors",
        "number": "numbers of any type",
        "Tensor": "tensors",
    }.get(text, text)


def difference(theirs: Any, ours: Any) -> str:
    """Return how two schemas differ: names, types (SymInt is int), defaults, written arguments, results; or ""."""

    def facts(schema: Any) -> list[tuple[object, ...]]:
        return [
            (
                argument.name,
                str(argument.type).replace("number", "float"),
                argument.N,
                argument.default_value if argument.has_default_value() else "required",
                argument.alias_info is not None,
            )
            for argument in schema.arguments
        ]

    for one, other in zip(facts(theirs), facts(ours), strict=True):
        trailing = {one[3], other[3]} == {None, "required"}  # an optional one without a default: None, if it can be
        if one != other and not (one[:3] == other[:3] and one[4] == other[4] and trailing):
            return f"other arguments: {one} is {other}"
    results = [[str(result.type).replace("SymInt", "int") for result in each.returns] for each in (theirs, ours)]
    return "" if results[0] == results[1] else "other results"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print each schema with its signature, or what blocks it")
    words = parser.parse_args()
    total, written, causes = 0, 0, Counter[str]()
    print("| checkout | schemas | written | |\n|---|---|---|---|")
    for folder in words.folders:
        outcomes = [(each, *signature_of(each.text)) for each in found(folder) if each.text]
        unread = sum(not each.text for each in found(folder))
        good = sum(not blocked for _, _, blocked in outcomes)
        causes.update(blocked for _, _, blocked in outcomes if blocked)
        total, written = total + len(outcomes), written + good
        share = f"{good / len(outcomes):.0%}" if outcomes else ""
        print(f"| {folder.name} | {len(outcomes)} | {good} | {share} |" + (f" ({unread} unread)" if unread else ""))
        for each, signature, blocked in outcomes if words.list else ():
            print(f"    {each.place}\n        {each.text}\n        {blocked or signature}")
    print(f"| all | {total} | {written} | {written / max(total, 1):.0%} |\n\n| what blocks | schemas |\n|---|---|")
    for cause, count in causes.most_common():
        print(f"| {cause} | {count} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
