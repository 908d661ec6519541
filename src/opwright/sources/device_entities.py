"""What a C++ file defines outside of bodies: by what names, what that uses, and where a mark for the device goes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import tree_sitter

__all__ = ["Entity", "entities", "walk"]

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
        names: by which others reach it; an operator is reached by the types that it takes.
        uses: all names that stand in it.
        marks: what would be inserted where, in bytes.
        node: where it is; None for a macro.
        pastes: whether it is a macro that makes names of parts.
    """

    names: set[bytes]
    uses: set[bytes]
    marks: Mapping[int, bytes] = field(default_factory=dict)
    node: tree_sitter.Node | None = None
    pastes: bool = False


def entities(data: bytes) -> Iterator[Entity]:
    """All that the text defines outside of bodies."""
    found = list(_within(_parsed(data)))
    pasting = {name for entity in found if entity.pastes for name in entity.names}
    words = set(_WORD.findall(data)) if pasting else set()
    for entity in found:
        if entity.node and entity.node.type == "expression_statement" and entity.uses & pasting:
            entity.names |= {word for word in words if any(part in word for part in entity.uses)}
    yield from found


def walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The node and all that is below it."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += each.children


def _parsed(data: bytes) -> tree_sitter.Node:
    return tree_sitter.Parser(_grammar()).parse(data).root_node


@functools.cache
def _grammar() -> tree_sitter.Language:
    import tree_sitter_cuda  # who has no device code doesn't load it

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
    if inner.type == "expression_statement":  # a macro that defines what its arguments name
        every = _used(inner)
        return Entity(every - _called(inner), every, node=node)
    return Entity(_defined(inner), _used(node) - _local(inner), dict(_marks(inner, template=template)), node)


def _used(node: tree_sitter.Node) -> set[bytes]:
    return {each.text for each in walk(node) if each.type in _NAMES and each.text}


def _called(node: tree_sitter.Node) -> set[bytes]:
    """The macro of what stands there like a call."""
    calls = (each.child_by_field_name("function") for each in walk(node) if each.type == "call_expression")
    return {name for call in calls if call for name in _used(call)}


def _local(node: tree_sitter.Node) -> set[bytes]:
    """The names of parameters and variables within a function: they aren't what has the same name outside."""
    names: set[bytes] = set()
    for each in walk(node) if node.type == "function_definition" else ():
        if each.type in ("parameter_declaration", "optional_parameter_declaration", "declaration"):
            for declarator in each.children_by_field_name("declarator"):
                names |= _declared(declarator)
    return names


def _defined(node: tree_sitter.Node) -> set[bytes]:
    """The names that a declaration makes; for an operator or a member, those of the types that it is about."""
    if node.type in (*_CLASSES, "alias_declaration", "concept_definition"):
        name = node.child_by_field_name("name")
        return _used(name) if name else set()
    names: set[bytes] = set()
    for child in node.children_by_field_name("declarator"):
        names |= _declared(child)
    for child in node.children:
        if child.type in _CLASSES:
            names |= _defined(child)
    return names


def _declared(node: tree_sitter.Node) -> set[bytes]:
    if node.type in ("operator_name", "operator_cast"):
        return set()
    if node.type in _NAMES or node.type == "qualified_identifier":
        return _used(node)
    if node.type == "function_declarator":
        inner, parameters = node.child_by_field_name("declarator"), node.child_by_field_name("parameters")
        named = _declared(inner) if inner else set()
        return named or (_used(parameters) if parameters else set())
    inner = node.child_by_field_name("declarator")
    if inner is None:
        return {name for child in node.children for name in _declared(child) if child.is_named}
    return _declared(inner)


def _marks(node: tree_sitter.Node, *, template: bool) -> Iterator[tuple[int, bytes]]:
    """Where functions begin, those that are members too; and constants that aren't plain numbers."""
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
    """Where the first specifier stands, behind attributes."""
    return next(child for child in node.children if child.type != "attribute_declaration").start_byte


def _is_function(node: tree_sitter.Node) -> bool:
    """Whether a declarator is a function's: pointers and references may stand around it."""
    if node.type in ("function_declarator", "operator_cast"):
        return True
    wraps = node.type in ("pointer_declarator", "reference_declarator")
    return wraps and any(_is_function(child) for child in node.children)


def _is_table(node: tree_sitter.Node) -> bool:
    words = {child.text for child in node.children if child.type in ("type_qualifier", "storage_class_specifier")}
    if node.type != "declaration" or not words & {b"const", b"constexpr"} or b"extern" in words:
        return False
    type_ = node.child_by_field_name("type")
    arrays = any(each.type == "array_declarator" for d in node.children_by_field_name("declarator") for each in walk(d))
    pointers = any(child.type == "pointer_declarator" for child in node.children)
    return arrays or (b"constexpr" in words and type_ is not None and type_.type not in _SCALARS and not pointers)


def _macro(node: tree_sitter.Node) -> Entity:
    """A macro, and the functions that its replacement defines."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    text = (value.text or b"") if value else b""
    if value is None or b"{" not in text:
        return Entity(_used(name) if name else set(), set(_WORD.findall(text)))
    readable = re.sub(rb"\\(\r?\n)", rb" \1", text).replace(b"##", b"__").replace(b"#", b" ")
    parsed = _parsed(readable)
    marks: dict[int, bytes] = {}
    if not parsed.has_error:
        for entity in _within(parsed):
            marks |= {value.start_byte + place: word for place, word in entity.marks.items()}
    return Entity(_used(name) if name else set(), set(_WORD.findall(text)), marks, pastes=b"##" in text)
