"""Reads the head of a function with tree-sitter."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import tree_sitter

from opwright.sources.model import Function, Language, Parameter
from opwright.sources.types import classified

__all__ = ["UnreadableError", "read_function"]

_PARAMETERS = {"parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"}
_VARIADIC = {"...", "variadic_parameter"}  # as C++ has it, as C has it
_LAYERS = {f"{kind}_declarator" for kind in ("pointer", "reference", "array", "function", "variadic")}
_TYPE_PARAMETERS = {"type_parameter_declaration", "optional_type_parameter_declaration"}
_CPP = re.compile(rb"\btemplate\b|::|[<&]")
_CUDA_WORDS = re.compile(
    rb"\b__(?:global|host|device|forceinline|noinline)__\b|"
    rb"\b__(?:launch_bounds|cluster_dims|block_size|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)"
)
_WHY_NOT_C = "` is C++, and this is C; C++ is given in files `*.cpp`, or as `cpp="


class UnreadableError(Exception):
    """The head can't be read as that of a function; the text is shown between ` and `."""


def read_function(head: bytes, language: Language, namespace: tuple[str, ...], line: int) -> Function:
    """Reads ``template <class T> void name(...)``, which begins at `line` of its file.

    Raises:
        UnreadableError: it is no function's head, or one that tree-sitter can't read.
    """
    parser = tree_sitter.Parser(_grammar(language))
    written, head = head, _without_cuda(head) if language == "cuda" else head
    root = parser.parse(head + b"{}").root_node
    declarator = next((node for node in _walk(root) if node.type == "function_declarator"), None)
    name = declarator.child_by_field_name("declarator") if declarator else None
    parameters = declarator.child_by_field_name("parameters") if declarator else None
    if declarator is None or name is None or parameters is None or parameters.has_error:
        raise UnreadableError(f"{_line(head)}{_WHY_NOT_C if language == 'c' and _CPP.search(head) else ''}")
    return Function(
        name="::".join((*namespace, _text(name))),
        template=_template(root),
        parameters=tuple(_parameters(parameters)),
        returns=_returns(head, root, declarator),
        line=line + name.start_point.row,
        text=_line(written),
        static=_is_static(head[: declarator.start_byte], language),
        kernel=language == "cuda" and b"__global__" in written[: declarator.start_byte],
    )


def _without_cuda(head: bytes) -> bytes:
    """Blanks for what CUDA writes before a function's name: the rest is C++'s, and every character where it was."""
    return _CUDA_WORDS.sub(lambda found: re.sub(rb"[^\n]", b" ", found.group()), head)


@functools.cache
def _grammar(language: Language) -> tree_sitter.Language:
    # Each grammar is a shared library of megabytes: only the one that is needed is loaded.
    if language == "c":
        import tree_sitter_c

        return tree_sitter.Language(tree_sitter_c.language())
    import tree_sitter_cpp

    return tree_sitter.Language(tree_sitter_cpp.language())


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The node and everything below it, in the order of the text; a head may be nested deeper than Python recurses."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def _text(node: tree_sitter.Node | None) -> str:
    return _line(node.text or b"") if node else ""


def _line(text: bytes) -> str:
    """The text on one line, without comments and directives."""
    without = re.sub(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", b" ", text, flags=re.DOTALL | re.MULTILINE)
    return " ".join(without.decode(errors="replace").split())


def _template(root: tree_sitter.Node) -> tuple[str, ...]:
    listed = next((node for node in _walk(root) if node.type == "template_parameter_list"), None)
    found = [node for node in listed.children if node.is_named and node.type != "comment"] if listed else []
    return tuple(_template_parameter(node) for node in found)


def _template_parameter(node: tree_sitter.Node) -> str:
    if node.type not in _TYPE_PARAMETERS:
        return _text(node)
    named = node.child_by_field_name("name") or next((c for c in node.children if c.type == "type_identifier"), None)
    return _text(named) or _text(node)


def _returns(head: bytes, root: tree_sitter.Node, declarator: tree_sitter.Node) -> str:
    trailing = next((child for child in declarator.children if child.type == "trailing_return_type"), None)
    if trailing:
        return _text(trailing).removeprefix("->").strip()
    definition = next((node for node in _walk(root) if node.type == "function_definition"), None)
    kind = definition.child_by_field_name("type") if definition else None
    if definition and kind and not definition.has_error:
        return _line(head[kind.start_byte : declarator.start_byte])
    # A macro before the type (`FORCE_INLINE void f()`): tree-sitter takes the macro for the type.
    words = _line(head[: declarator.start_byte]).split()
    return words[-1] if words else ""


def _is_static(before_name: bytes, language: Language) -> bool:
    words = set(re.findall(r"\w+", _line(before_name)))
    return "static" in words or (language == "c" and "inline" in words)


def _parameters(listed: tree_sitter.Node) -> Iterator[Parameter]:
    nodes = [node for node in listed.children if node.type in _PARAMETERS | _VARIADIC]
    if [_text(node) for node in nodes] == ["void"]:
        return
    for node in nodes:
        yield _parameter(node)


def _parameter(node: tree_sitter.Node) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    default = node.child_by_field_name("default_value")
    layers = [inner.type.removeprefix("abstract_") for inner in _walk(declarator)] if declarator else []
    name = next((inner for inner in _walk(declarator) if inner.type == "identifier"), None) if declarator else None
    text = _text(node)
    return classified(
        name=_text(name),
        text=text.removesuffix(_text(default)).rstrip(" =") if default else text,
        written=_text(node.child_by_field_name("type")),
        const=any(child.type == "type_qualifier" and child.text == b"const" for child in node.children),
        layers=tuple(layer for layer in layers if layer in _LAYERS),
    )
