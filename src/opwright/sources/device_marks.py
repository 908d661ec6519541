"""Marks the C++ code that pointwise functions use as device code, so that a CUDA compiler can compile it.

Functions, members, tables and macros of the file that the pointwise function uses directly or indirectly are found by
name. They are marked with `OPWRIGHT_HOST_DEVICE` (tables with `OPWRIGHT_TABLE`). Nothing else changes, so CPU kernels
in the same file stay as they are. Line numbers don't change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter

from opwright.sources.cpp.directives import includes

FUNCTION = b"OPWRIGHT_HOST_DEVICE "
TABLE = b"OPWRIGHT_TABLE "
_NAMES = {"identifier", "type_identifier", "field_identifier", "namespace_identifier"}
_CLASSES = {"struct_specifier", "class_specifier", "union_specifier"}
_INSIDE = {
    *("translation_unit", "namespace_definition", "declaration_list", "linkage_specification"),
    *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "ERROR"),
}
_MACROS = {"preproc_def", "preproc_function_def"}
_WORD = re.compile(rb"[A-Za-z_]\w*")
_UNMARKED = {"default_method_clause", "delete_method_clause"}
_SCALARS = {"primitive_type", "sized_type_specifier", "placeholder_type_specifier"}


@dataclass
class Entity:
    """A function, class, variable or macro.

    Attributes:
        names: the names by which other code refers to it; for an operator, the types of its parameters.
        uses: all names that occur in it.
        marks: the marks to insert, by byte offset.
        node: its syntax node; None for a macro.
        pastes: whether it is a macro that pastes names together (``##``).
    """

    names: set[bytes]
    uses: set[bytes]
    marks: Mapping[int, bytes] = field(default_factory=dict)
    node: tree_sitter.Node | None = None
    pastes: bool = False


def entities(data: bytes) -> Iterator[Entity]:
    """Yield the entities that the source defines outside of bodies."""
    every_entity = list(_within(_parsed(data)))
    pasting = {name for entity in every_entity if entity.pastes for name in entity.names}
    words = set(_WORD.findall(data)) if pasting else set()
    for entity in every_entity:
        if entity.node and entity.node.type == "expression_statement" and entity.uses & pasting:
            entity.names |= {word for word in words if any(part in word for part in entity.uses)}
    yield from every_entity


def walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the node and its descendants."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += current.children


def _parsed(data: bytes) -> tree_sitter.Node:
    return tree_sitter.Parser(_grammar()).parse(data).root_node


@functools.cache
def _grammar() -> tree_sitter.Language:
    import tree_sitter_cuda  # loaded only if there is device code

    return tree_sitter.Language(tree_sitter_cuda.language())


def _within(node: tree_sitter.Node) -> Iterator[Entity]:
    for child in node.children:
        if child.type in _INSIDE:
            yield from _within(child)
        elif child.type in _MACROS:
            yield _macro(child)
        elif child.is_named and child.type != "comment":
            yield _entity(child)


def _entity(node: tree_sitter.Node) -> Entity:
    inner, template = node, False
    while inner.type == "template_declaration":
        inner, template = inner.children[-1], True
    if inner.type == "expression_statement":  # a macro call that defines entities named by its arguments
        used = _used_names(inner)
        return Entity(used - _called_names(inner), used, node=node)
    return Entity(
        _defined_names(inner), _used_names(node) - _local_names(inner), dict(_marks(inner, template=template)), node
    )


def _used_names(node: tree_sitter.Node) -> set[bytes]:
    return {inner.text for inner in walk(node) if inner.type in _NAMES and inner.text}


def _called_names(node: tree_sitter.Node) -> set[bytes]:
    """Return the names of the macros (or functions) that are called in the node."""
    calls = (inner.child_by_field_name("function") for inner in walk(node) if inner.type == "call_expression")
    return {name for call in calls if call for name in _used_names(call)}


def _local_names(node: tree_sitter.Node) -> set[bytes]:
    """Return the names of a function's parameters and local variables, which hide outer names."""
    names: set[bytes] = set()
    for inner in walk(node) if node.type == "function_definition" else ():
        if inner.type in ("parameter_declaration", "optional_parameter_declaration", "declaration"):
            for declarator in inner.children_by_field_name("declarator"):
                names |= _declared_names(declarator)
    return names


def _defined_names(node: tree_sitter.Node) -> set[bytes]:
    """Return the names that a declaration defines: for an operator, the types of its parameters.

    For a qualified name, all parts are included, such as the class of a member.
    """
    if node.type in (*_CLASSES, "alias_declaration", "concept_definition"):
        name = node.child_by_field_name("name")
        return _used_names(name) if name else set()
    names: set[bytes] = set()
    for child in node.children_by_field_name("declarator"):
        names |= _declared_names(child)
    for child in node.children:
        if child.type in _CLASSES:
            names |= _defined_names(child)
    return names


def _declared_names(node: tree_sitter.Node) -> set[bytes]:
    if node.type in ("operator_name", "operator_cast"):
        return set()
    if node.type in _NAMES or node.type == "qualified_identifier":
        return _used_names(node)
    if node.type == "function_declarator":
        inner, parameters = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
        named = _declared_names(inner) if inner else set()
        return named or (_used_names(parameters) if parameters else set())
    inner = node.child_by_field_name("declarator")
    if inner is None:
        return {name for child in node.children for name in _declared_names(child) if child.is_named}
    return _declared_names(inner)


def _marks(node: tree_sitter.Node, *, template: bool) -> Iterator[tuple[int, bytes]]:
    """Yield the offsets and marks of functions, including members, and of constants that aren't plain numbers."""
    if node.type in _CLASSES:
        yield from _members(node)
    elif node.type == "function_definition":
        if not any(child.type in _UNMARKED for child in node.children):
            yield _start(node), FUNCTION
    elif node.type in ("declaration", "field_declaration"):
        if any(_is_function(child) for child in node.children_by_field_name("declarator")):
            yield _start(node), FUNCTION
        elif _is_table(node) and not template:
            yield _start(node), TABLE
    elif node.type in ("friend_declaration", "template_declaration"):
        yield from _marks(node.children[-1], template=True)
    for child in node.children if node.type in ("declaration", "field_declaration") else ():
        yield from _marks(child, template=template) if child.type in _CLASSES else ()


def _members(node: tree_sitter.Node) -> Iterator[tuple[int, bytes]]:
    body = node.child_by_field_name("body")
    for child in body.children if body else ():
        yield from _marks(child, template=True)


def _start(node: tree_sitter.Node) -> int:
    """Return the offset of the first specifier, after any attributes."""
    return next(child for child in node.children if child.type != "attribute_declaration").start_byte


def _is_function(node: tree_sitter.Node) -> bool:
    """Return whether a declarator, perhaps within pointer or reference declarators, is a function's."""
    if node.type in ("function_declarator", "operator_cast"):
        return True
    wraps = node.type in ("pointer_declarator", "reference_declarator")
    return wraps and any(_is_function(child) for child in node.children)


def _is_table(node: tree_sitter.Node) -> bool:
    specifiers = {child.text for child in node.children if child.type in ("type_qualifier", "storage_class_specifier")}
    if node.type != "declaration" or not specifiers & {b"const", b"constexpr"} or b"extern" in specifiers:
        return False
    type_ = node.child_by_field_name("type")
    arrays = any(
        inner.type == "array_declarator" for d in node.children_by_field_name("declarator") for inner in walk(d)
    )
    pointers = any(child.type == "pointer_declarator" for child in node.children)
    return arrays or (b"constexpr" in specifiers and type_ is not None and type_.type not in _SCALARS and not pointers)


def _macro(node: tree_sitter.Node) -> Entity:
    """Return the entity of a macro, with the functions that its replacement defines."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    text = (value.text or b"") if value else b""
    if value is None or b"{" not in text:
        return Entity(_used_names(name) if name else set(), set(_WORD.findall(text)))
    readable = re.sub(rb"\\(\r?\n)", rb" \1", text).replace(b"##", b"__").replace(b"#", b" ")
    parsed = _parsed(readable)
    marks: dict[int, bytes] = {}
    if not parsed.has_error:
        for entity in _within(parsed):
            marks |= {value.start_byte + place: word for place, word in entity.marks.items()}
    return Entity(_used_names(name) if name else set(), set(_WORD.findall(text)), marks, pastes=b"##" in text)


MATHEMATICS = frozenset(
    {
        *("abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "celu", "clamp"),
        *("copysign", "cos", "cosh", "deg2rad", "digamma", "elu", "erf", "erfc", "erfinv", "exp", "exp2"),
        *("expm1", "fabs", "floor", "fma", "fmax", "fmin", "fmod", "frac", "gelu", "gelu_tanh", "hardshrink"),
        *("hardsigmoid", "hardswish", "hardtanh", "hypot", "isfinite", "isinf", "isnan", "leaky_relu", "lerp"),
        *("lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logsigmoid", "max", "min", "mish"),
        *("nan_to_num", "nearbyint", "one_minus_square", "pentagamma", "pow", "rad2deg", "reciprocal", "relu"),
        *("relu6", "remainder", "rint", "round", "rsqrt", "selu", "sigmoid", "sign", "signbit", "silu", "sin"),
        *("sinc", "sinh", "softplus", "softshrink", "softsign", "sqrt", "square", "square_minus_one", "tan"),
        *("tanh", "tanhshrink", "tetragamma", "tgamma", "trigamma", "trunc", "xlog1py", "xlogy"),
    }
)
"""The math functions of Opwright's headers. CUDA's functions of the same names may differ (`round`, `min`)."""
_OTHERS = re.compile(r'"|<(?:math\.h|cmath|complex|tgmath\.h|ctgmath)>')
_MARKED = re.compile(rb"\b(?:__device__|__global__|__host__|OPWRIGHT_HOST_DEVICE)\b")


def mark_for_device(text: str, functions: Iterable[str]) -> str:
    """Return the source with these functions, and everything that they use, marked for the device.

    Args:
        text: source code in C++ or CUDA C++.
        functions: names, with or without their namespaces.
    """
    data = text.encode("utf-8", "surrogateescape")
    every_entity = list(entities(data))
    used = _reached(every_entity, {name.rpartition("::")[2].encode() for name in functions})
    marks = {place: word for entity in used for place, word in entity.marks.items() if not _is_marked(data, place)}
    if not any(_OTHERS.search(str(include)) for include in includes(text)):
        marks |= dict.fromkeys(_mathematics(used, every_entity), b"opwright::")
    pieces, at = [], 0
    for place in sorted(marks):
        pieces += [data[at:place], marks[place]]
        at = place
    return b"".join([*pieces, data[at:]]).decode("utf-8", "surrogateescape")


def _reached(every_entity: list[Entity], names: set[bytes]) -> list[Entity]:
    """Return the entities with one of these names, and all that they use directly or indirectly."""
    by_name: dict[bytes, list[Entity]] = {}
    for entity in every_entity:
        for name in entity.names:
            by_name.setdefault(name, []).append(entity)
    reached: dict[int, Entity] = {}
    waiting = list(names)
    while waiting:
        for entity in by_name.pop(waiting.pop(), []):
            if id(entity) not in reached:
                reached[id(entity)] = entity
                waiting += entity.uses
    return list(reached.values())


def _is_marked(data: bytes, place: int) -> bool:
    """Return whether the author has marked the function that begins at the offset `place`."""
    head = re.split(rb"[({;=]", data[place : place + 400], maxsplit=1)[0]
    return bool(_MARKED.search(head))


def _mathematics(used: list[Entity], every_entity: list[Entity]) -> set[int]:
    """Return the offsets of calls of the headers' math functions by names that have no other meaning in the file."""
    calls = {node.start_byte: node.text for e in used if e.node for node in walk(e.node) if _is_call(node)}
    names = {name for entity in every_entity for name in entity.names}
    others = {
        node.text for e in every_entity if e.node for node in walk(e.node) if _is_name(node) and not _is_call(node)
    }
    return {place for place, name in calls.items() if name not in names and name not in others and _known(name)}


def _known(name: bytes | None) -> bool:
    return name is not None and name.decode() in MATHEMATICS


def _is_name(node: tree_sitter.Node) -> bool:
    """Return whether the node is an unqualified name."""
    return node.type == "identifier" and (node.parent is None or node.parent.type != "qualified_identifier")


def _is_call(node: tree_sitter.Node) -> bool:
    """Return whether the node is the unqualified name of the function in a call."""
    parent = node.parent
    if not _is_name(node) or parent is None or parent.type != "call_expression":
        return False
    called = parent.child_by_field_name("function")
    return called is not None and called.start_byte == node.start_byte and called.end_byte == node.end_byte
