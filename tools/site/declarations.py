"""Finds the public declarations of a C++ header: those outside namespaces called detail and not private."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import tree_sitter
import tree_sitter_cpp

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
# Words that matter only to compilers.
_NOISE = re.compile(
    rb"\b(?:OPWRIGHT_(?:HOST_)?DEVICE|__attribute__\(\(.*?\)\)|inline) ?|^ *OPWRIGHT_[A-Z_]+$", re.MULTILINE
)
_MADE = re.compile(r"OPWRIGHT_\w*?([A-Z]+)\((\w+)((?:, \w+)*)\)")
_MORE = {"BINARY": ", y", "TWO": ", y", "THREE": ", y, z"}
# A computed type; an empty pack of types (floating.h) isn't the caller's to pass.
_INTERNAL = re.compile(r"(?:constexpr )?\bdetail::\w+<[^()]*> (?=\w+\()")
_WHOLE = re.compile(r"typename detail::whole<(\w+)>::type")
_UNNAMED = re.compile(r", class(?:\.\.\. None| = detail::\w+<[^<>]*>)")
_SPECIAL = re.compile(r"^~|= delete;")
_NAMESPACES = ("namespace_definition", "linkage_specification")
_FUNCTIONS = ("function_definition", "declaration", "field_declaration", "alias_declaration", "type_definition")
_CLASSES = ("class_specifier", "struct_specifier")


def declarations(source: bytes) -> list[str]:
    """Return each macro, function and class with the comment right above it."""
    quiet = _NOISE.sub(b"", source)
    undefined = {name.decode() for name in re.findall(rb"^#undef (\w+)", source, re.MULTILINE)}
    nodes = [node for node in _inside(_PARSER.parse(quiet).root_node) if _name(node) not in undefined]
    return list(dict.fromkeys(text for node in nodes if not _name(node).endswith("_H") and (text := _shown(node))))


def _inside(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the declarations of a file, including those inside conditions and namespaces."""
    for child in node.named_children:
        if child.type in _NAMESPACES or child.type.startswith(("preproc_if", "preproc_el")):
            if child.type != "namespace_definition" or _name(child) not in ("detail", ""):
                yield from _inside(child.child_by_field_name("body") or child)
        else:
            yield child


def _name(node: tree_sitter.Node) -> str:
    named = node.child_by_field_name("name")
    return _text(named) if named else ""


def _shown(node: tree_sitter.Node) -> str:
    if node.type in ("preproc_def", "preproc_function_def"):
        parameters = node.child_by_field_name("parameters")
        text = f"#define {_name(node)}{_text(parameters) if parameters else ''}"
    else:
        text = _declared(node)
    return _comment(node) + text if text else ""


def _declared(node: tree_sitter.Node) -> str:
    if made := _MADE.match(_text(node)):  # defined by a macro, from its name and its parameters besides x
        return f"{made[2]}(x{made[3] or _MORE.get(made[1], '')})"
    if node.has_error:
        return ""  # defined by a macro
    inner = next((child for child in node.named_children if child.type in (*_CLASSES, *_FUNCTIONS)), None)
    if node.type == "template_declaration" and inner:
        parameters = node.child_by_field_name("parameters")
        below = _declared(inner)
        written = _UNNAMED.sub("", _line(_text(parameters))) if parameters else ""
        return f"template {written}\n{below}" if below else ""
    if node.type in _CLASSES or (
        node.type in ("declaration", "field_declaration") and inner and inner.child_by_field_name("body")
    ):
        return _class(node if node.type in _CLASSES else inner or node)
    return _head(node) if node.type in _FUNCTIONS else ""


def _head(node: tree_sitter.Node) -> str:
    """Return a function without its body, or a declaration."""
    if node.type == "type_definition":
        return _dedented(node)
    body = node.child_by_field_name("body")
    first = next((child for child in node.children if child.type == "field_initializer_list"), body)
    end = first.start_byte - node.start_byte if first else None
    text = _INTERNAL.sub("auto ", _line((node.text or b"")[:end].decode()).rstrip(";{ "))
    return _WHOLE.sub(r"\1", text).replace(", None...", "") + ";"


def _class(node: tree_sitter.Node) -> str:
    body = node.child_by_field_name("body")
    if body is None:
        return ""
    head = _line((node.text or b"")[: body.start_byte - node.start_byte].decode())
    members = "\n".join(_public(node, body))
    indented = "".join(f"  {line}\n" for line in members.splitlines())
    return f"{head} {{\n{indented}}};"


def _public(node: tree_sitter.Node, body: tree_sitter.Node) -> Iterator[str]:
    public = node.type == "struct_specifier"
    for child in body.named_children:
        if child.type == "access_specifier":
            public = _text(child) == "public"
        elif public and (text := _declared(child)) and not _SPECIAL.search(text):
            yield _comment(child) + text


def _comment(node: tree_sitter.Node) -> str:
    above = node.prev_named_sibling
    if above is None or above.type != "comment" or above.end_point[0] + 1 < node.start_point[0]:
        return ""
    return _text(above) + "\n" if above.start_point[1] == node.start_point[1] else ""


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def _dedented(node: tree_sitter.Node) -> str:
    """Return the text as it is written, with its line breaks, dedented."""
    return textwrap.dedent(" " * node.start_point[1] + _text(node))


def _line(text: str) -> str:
    return " ".join(text.split())
