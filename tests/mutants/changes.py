"""Every single change of a C, C++ or CUDA source that a slip of the author's might have made.

The kinds are those of mutation testing: operators replaced or deleted, constants and bounds off by one, statements
left out, arguments swapped. Only what is executed is changed: neither signatures nor types, nor what checks arguments.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import tree_sitter

_BLANKED = re.compile(
    rb"\b(?:OPWRIGHT|OPWRIGHT_CHECK|TORCH_CHECK|THArgCheck|THError)\s*\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|"
    rb"\((?:[^()\"]|\"(?:[^\"\\]|\\.)*\"|\((?:[^()]|\([^()]*\))*\))*\))*\)|\bOPWRIGHT_HOST_DEVICE\b"
)
"""What isn't changed, or what the grammar doesn't know: signatures, checks of arguments, marks."""
_LOOPS = {b"parallel_for": 0, b"CUDA_KERNEL_LOOP": 1}
"""Loops that are written as calls, and which argument says how many rounds there are."""
_BARRIERS = (b"__syncthreads", b"__syncwarp")
_OTHER = {b"max": "min", b"min": "max", b"fmax": "fmin", b"fmin": "fmax", b"sin": "cos", b"exp": "expm1"}
_EDGE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
_TENSOR = re.compile(rb"\b(?:Tensor|Strided|Resizable)\s*<")


class Mutant(NamedTuple):
    """A source with one change.

    Attributes:
        function: in whose body it is.
        kind: of change.
        change: what was there, and what is there now.
        line: where, in the file.
        text: the whole source with the change.
        number: which one it is of those that are called the same.
    """

    function: str
    kind: str
    change: str
    line: int
    text: str
    number: int = 1

    def __str__(self) -> str:
        """What it is called: the same as long as the function's code is."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.function}: {self.kind}: {self.change}{again}"


class _Edit(NamedTuple):
    kind: str
    start: int
    end: int
    to: str


def mutants(text: str, language: str) -> list[Mutant]:
    """All mutants of a source, in its order.

    Args:
        text: the source.
        language: ``"c"``, ``"cpp"`` or ``"cuda"``.
    """
    data = text.encode()
    seen: Counter[str] = Counter()
    made: dict[str, Mutant] = {}
    for name, function in functions(text, language):
        tensors = _tensor_names(function)
        edits = [edit for node in _executed_nodes(function) for edit in _edits(node, tensors)]
        edits += _swapped_parameters(function) if language != "c" else []  # C functions are bound by their names
        for edit in edits:
            changed = (data[: edit.start] + edit.to.encode() + data[edit.end :]).decode()
            if changed in made or changed == text:
                continue
            was = " ".join(data[edit.start : edit.end].decode().split())
            mutant = Mutant(name, edit.kind, f"{was} -> {edit.to}", data.count(b"\n", 0, edit.start) + 1, changed)
            seen[str(mutant)] += 1
            made[changed] = mutant._replace(number=seen[str(mutant)])
    return list(made.values())


def functions(text: str, language: str) -> list[tuple[str, tree_sitter.Node]]:
    """All functions that a source defines, with their names."""
    root = tree_sitter.Parser(_grammar(language)).parse(_BLANKED.sub(_blank, text.encode())).root_node
    return [(_name(node), node) for node in _walk(root) if node.type == "function_definition"]


def shuffled_mutants(every: list[Mutant], seed: int) -> Iterator[Mutant]:
    """All of them in a random order: each kind of change in turn, from the function that had fewest so far."""
    rng = random.Random(seed)
    kinds = sorted({mutant.kind for mutant in every})
    left = {kind: [m for m in every if m.kind == kind] for kind in kinds}
    for kind in kinds:
        rng.shuffle(left[kind])
    rng.shuffle(kinds)
    taken: Counter[str] = Counter()
    while any(left.values()):
        for kind in kinds:
            if left[kind]:
                one = min(left[kind], key=lambda mutant: taken[mutant.function])
                left[kind].remove(one)
                taken[one.function] += 1
                yield one


def _edits(node: tree_sitter.Node, tensors: set[bytes]) -> Iterator[_Edit]:
    if rule := _RULES.get(node.type):
        yield from rule(node)
    if node.type == "call_expression":
        yield from _element(node, tensors)


def _binary(node: tree_sitter.Node) -> Iterator[_Edit]:
    left, right, sign = _child(node, "left"), _child(node, "right"), _child(node, "operator")
    operator, index = _text(sign), _is_inside(node, "subscript_argument_list", "subscript_expression")
    one, other = _text(left), _text(right)
    if operator in ("+", "-"):
        yield _at(sign, "index" if index else "sign", "-" if operator == "+" else "+")
        yield _at(node, "index" if index else "missing term", one)
        if operator == "+":
            yield _at(node, "index" if index else "missing term", other)
    elif operator in ("*", "/", "%"):
        yield _at(node, "index" if index else "factor", one)
    if operator in ("-", "/"):
        yield _at(node, "swapped", f"({other}) {operator} ({one})")
    if operator in _EDGE:
        yield _at(sign, "bound", _EDGE[operator])
    if operator in _TURNED:
        yield _at(sign, "comparison", _TURNED[operator])


def _unary(node: tree_sitter.Node) -> Iterator[_Edit]:
    sign = _child(node, "operator")
    if _text(sign) in ("-", "!"):
        yield _at(sign, "sign" if _text(sign) == "-" else "comparison", "")


def _number(node: tree_sitter.Node) -> Iterator[_Edit]:
    if _is_inside(node, "template_argument_list", "kernel_call_syntax", "array_declarator", "initializer_list"):
        return
    text, parent = _text(node), node.parent
    started = _is_inside(node, "init_declarator") and _is_inside(node, "for_statement", until="compound_statement")
    if started and parent and parent.type == "init_declarator":
        yield _at(node, "bound", "1" if text == "0" else "0")
    elif text not in ("0", "0xffffffff"):
        index = _is_inside(node, "subscript_argument_list", "subscript_expression")
        yield _at(node, "index" if index else "factor", f"(2 * {text})")
        yield _at(node, "index" if index else "factor", f"({text} + 1)")


def _assignment(node: tree_sitter.Node) -> Iterator[_Edit]:
    if _is_inside(node, "for_statement", until="compound_statement") and not _is_inside(node, "expression_statement"):
        return  # the step of a loop
    left, right, sign = _child(node, "left"), _child(node, "right"), _child(node, "operator")
    if _text(sign) in ("+=", "-="):
        yield _at(sign, "sign", "-=" if _text(sign) == "+=" else "+=")
        yield _at(sign, "missing term", "=")
    elif _text(sign) == "=" and left.type != "identifier" and right.type not in ("number_literal", "initializer_list"):
        yield from _scaled(right)
    if node.parent and node.parent.type == "expression_statement":
        yield _at(node, "missing term", "")


def _initial(node: tree_sitter.Node) -> Iterator[_Edit]:
    value = node.child_by_field_name("value")
    if value and value.type in ("binary_expression", "call_expression", "subscript_expression"):
        yield from _scaled(value)


def _returned(node: tree_sitter.Node) -> Iterator[_Edit]:
    for value in node.named_children:
        if value.type not in ("number_literal", "initializer_list", "true", "false", "compound_literal_expression"):
            yield from _scaled(value)


def _conditional(node: tree_sitter.Node) -> Iterator[_Edit]:
    one, other = _child(node, "consequence"), _child(node, "alternative")
    yield _Edit("swapped", one.start_byte, other.end_byte, f"{_text(other)} : {_text(one)}")


def _condition(node: tree_sitter.Node) -> Iterator[_Edit]:
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value") if condition else None
    if value and value.type in ("identifier", "field_expression", "call_expression"):
        yield _at(value, "comparison", f"!{_text(value)}")


def _call(node: tree_sitter.Node) -> Iterator[_Edit]:
    function, arguments = _child(node, "function"), _child(node, "arguments").named_children
    name = function.text or b""
    if name in _BARRIERS:
        yield _at(node, "barrier", "")
    if name in _OTHER:
        yield _at(function, "comparison" if name in (b"max", b"min") else "factor", _OTHER[name])
    if name in _LOOPS and arguments:
        count = arguments[_LOOPS[name]]
        yield _at(count, "bound", f"({_text(count)}) - 1")
        yield _at(count, "bound", f"({_text(count)}) + 1")
    elif name not in _OTHER:
        for one, other in itertools.pairwise(arguments):
            if one.type == other.type:
                yield _Edit("swapped", one.start_byte, other.end_byte, f"{_text(other)}, {_text(one)}")


def _element(node: tree_sitter.Node, tensors: set[bytes]) -> Iterator[_Edit]:
    """An element of a tensor, which is written as a call."""
    if _child(node, "function").text in tensors:
        for argument in _child(node, "arguments").named_children:
            yield _at(argument, "index", f"({_text(argument)}) + 1")


def _subscript(node: tree_sitter.Node) -> Iterator[_Edit]:
    for child in node.named_children[1:]:
        for index in child.named_children if child.type == "subscript_argument_list" else [child]:
            yield _at(index, "index", f"({_text(index)}) + 1")
            yield _at(index, "index", f"({_text(index)}) - 1")


def _scaled(node: tree_sitter.Node) -> Iterator[_Edit]:
    yield _at(node, "sign", f"-({_text(node)})")
    yield _at(node, "factor", f"2 * ({_text(node)})")


def _swapped_parameters(function: tree_sitter.Node) -> list[_Edit]:
    """The names of neighbouring parameters of one type, exchanged."""
    listed = next((node for node in _walk(function) if node.type == "parameter_list"), None)
    named = [(each, _declared(each)) for each in listed.named_children] if listed else []
    edits = []
    for (one, first), (other, second) in itertools.pairwise(named):
        if first is None or second is None or _without(one, first) != _without(other, second):
            continue
        to = _renamed_parameter(one, first, _text(second)) + ", " + _renamed_parameter(other, second, _text(first))
        edits.append(_Edit("swapped", one.start_byte, other.end_byte, to))
    return edits


def _declared(parameter: tree_sitter.Node) -> tree_sitter.Node | None:
    declarator = parameter.child_by_field_name("declarator")
    return next((node for node in _walk(declarator) if node.type == "identifier"), None) if declarator else None


def _without(parameter: tree_sitter.Node, name: tree_sitter.Node) -> str:
    return _renamed_parameter(parameter, name, "")


def _renamed_parameter(parameter: tree_sitter.Node, name: tree_sitter.Node, to: str) -> str:
    at = name.start_byte - parameter.start_byte
    text = (parameter.text or b"").decode()
    return f"{text[:at]}{to}{text[at + len(_text(name)) :]}"


_RULES: dict[str, Callable[[tree_sitter.Node], Iterator[_Edit]]] = {
    "binary_expression": _binary,
    "unary_expression": _unary,
    "number_literal": _number,
    "assignment_expression": _assignment,
    "init_declarator": _initial,
    "return_statement": _returned,
    "conditional_expression": _conditional,
    "if_statement": _condition,
    "call_expression": _call,
    "subscript_expression": _subscript,
}


def _tensor_names(function: tree_sitter.Node) -> set[bytes]:
    """The parameters that are tensors."""
    found = set()
    for node in _walk(function):
        if node.type == "parameter_declaration" and _TENSOR.search(node.text or b"") and (name := _declared(node)):
            found.add(name.text or b"")
    return found


def _executed_nodes(function: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in function.children:
        if child.type in ("compound_statement", "field_initializer_list"):
            yield from _walk(child)


def _name(function: tree_sitter.Node) -> str:
    declarator = next((node for node in _walk(function) if node.type == "function_declarator"), None)
    return _text(_child(declarator, "declarator")) if declarator else "?"


def _is_inside(node: tree_sitter.Node, *kinds: str, until: str = "function_definition") -> bool:
    """Whether it is part of one of these, within the same `until`."""
    above = node.parent
    while above and above.type != until:
        if above.type in kinds:
            return True
        above = above.parent
    return False


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The node and all below it, in the order of the text."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.children)


def _child(node: tree_sitter.Node, name: str) -> tree_sitter.Node:
    found = node.child_by_field_name(name)
    assert found is not None, f"{node.type} without {name}: {_text(node)}"
    return found


def _at(node: tree_sitter.Node, kind: str, to: str) -> _Edit:
    return _Edit(kind, node.start_byte, node.end_byte, to)


def _text(node: tree_sitter.Node) -> str:
    return " ".join((node.text or b"").decode().split())


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match.group())


@functools.cache
def _grammar(language: str) -> tree_sitter.Language:
    if language == "c":
        import tree_sitter_c

        return tree_sitter.Language(tree_sitter_c.language())
    import tree_sitter_cuda  # C++ and what CUDA adds

    return tree_sitter.Language(tree_sitter_cuda.language())
