"""Parses the head of a function with tree-sitter, and resolves ``using`` aliases in its parameters' types.

Aliases are those of the same file, such as ``template <class T> using Matrix = PackedTensorAccessor32<T, 2>;``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

import tree_sitter

from opwright.languages import Language
from opwright.record import record
from opwright.sources.cpp.tokens import without_comments
from opwright.sources.model import Function, Parameter
from opwright.sources.types import classified, split_list, with_complex_apart, with_complex_joined

_PARAMETERS = {"parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"}
_VARIADIC = {"...", "variadic_parameter"}  # in the C++ grammar, in the C grammar
_LAYERS = {f"{kind}_declarator" for kind in ("pointer", "reference", "array", "function", "variadic")}
_TYPE_PARAMETERS = {"type_parameter_declaration", "optional_type_parameter_declaration"}
_CPP = re.compile(rb"\btemplate\b|::|[<&]")
_CUDA_WORDS = re.compile(
    rb"\b__(?:global|host|device|forceinline|noinline)__\b|"
    rb"\b__(?:launch_bounds|cluster_dims|block_size|maxnreg)__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)"
)
_BRACED = re.compile(rb"=\s*\{")
_WHY_NOT_C = "` is C++, and this is C; C++ is given in files `*.cpp`, or as `cpp="


class UnreadableError(Exception):
    """A head that can't be parsed as a function's; messages show its text between ` and `."""


def read_function(text: str, language: Language, namespace: tuple[str, ...], line: int) -> Function:
    """Parse the head ``template <class T> void name(...)``, which begins at `line` of its file.

    Raises:
        UnreadableError: the text isn't the head of a function, or tree-sitter can't parse it.
    """
    parser = tree_sitter.Parser(_grammar(language))
    written = text.encode("utf-8", "surrogateescape")
    head = _without_cuda(written) if language == "cuda" else written
    head = _without_braced_defaults(with_complex_joined(head))
    root = parser.parse(head + b"{}").root_node
    declarator = next((node for node in _walk(root) if node.type == "function_declarator"), None)
    name = declarator.child_by_field_name("declarator") if declarator else None
    parameters = declarator.child_by_field_name("parameters") if declarator else None
    if declarator is None or name is None or parameters is None or parameters.has_error:
        raise UnreadableError(f"{_line(head)}{_WHY_NOT_C if language == 'c' and _CPP.search(head) else ''}")
    return Function(
        name="::".join((*namespace, _text(name))),
        template=tuple(map(_template_parameter, _template(root))),
        template_defaults=tuple(map(_default, _template(root))),
        parameters=tuple(_parameters(parameters)),
        returns=_returns(head, root, declarator),
        line=line + name.start_point.row,
        text=_line(written),
        static=_is_static(head[: declarator.start_byte], language),
        kernel=language == "cuda" and b"__global__" in written[: declarator.start_byte],
    )


def _without_cuda(head: bytes) -> bytes:
    """Replace CUDA's specifiers before a function's name by spaces: the rest is C++, at unchanged offsets."""
    return _CUDA_WORDS.sub(lambda found: re.sub(rb"[^\n]", b" ", found.group()), head)


def _without_braced_defaults(head: bytes) -> bytes:
    """Replace default arguments such as ``= {1, 2}``, which the grammar lacks, by 0; offsets don't change."""
    at = 0
    while found := _BRACED.search(head, at):
        at, depth, opened = found.end(), 1, found.end() - 1
        while at < len(head) and depth:
            depth += {b"{": 1, b"}": -1}.get(head[at : at + 1], 0)
            at += 1
        head = head[:opened] + b"0" + re.sub(rb"[^\n]", b" ", head[opened + 1 : at]) + head[at:]
    return head


@functools.cache
def _grammar(language: Language) -> tree_sitter.Language:
    # Each grammar is a shared library of several megabytes, so it is loaded only if needed.
    if language == "c":
        import tree_sitter_c

        return tree_sitter.Language(tree_sitter_c.language())
    import tree_sitter_cpp

    return tree_sitter.Language(tree_sitter_cpp.language())


def _walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the node and its descendants, in order; iteratively, since nesting may exceed Python's recursion limit."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.children)


def _text(node: tree_sitter.Node | None) -> str:
    return _line(node.text or b"") if node else ""


def _line(text: bytes) -> str:
    """Return the text on one line, without comments and directives."""
    return with_complex_apart(" ".join(without_comments(text.decode(errors="replace"), directives=False).split()))


def _template(root: tree_sitter.Node) -> list[tree_sitter.Node]:
    listed = next((node for node in _walk(root) if node.type == "template_parameter_list"), None)
    return [node for node in listed.children if node.is_named and node.type != "comment"] if listed else []


def _template_parameter(node: tree_sitter.Node) -> str:
    if node.type not in _TYPE_PARAMETERS:
        return _text(node)
    named = node.child_by_field_name("name") or next((c for c in node.children if c.type == "type_identifier"), None)
    return _text(named) or _text(node)


def _default(node: tree_sitter.Node) -> str:
    """Return the default argument of a template parameter, or ""."""
    return _text(node.child_by_field_name("default_type") or node.child_by_field_name("default_value"))


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


_USING = re.compile(r"(?:\btemplate\s*<([^<>]*)>\s*)?\busing\s+(\w+)\s*=\s*([^;{}=]+);")
_WORD = re.compile(r"\w+")
_MOST = 8  # maximum depth of aliases of aliases; deeper ones are circular


@record
class Alias:
    """A ``using`` alias of a type.

    Attributes:
        parameters: the names of its template parameters.
        type: the aliased type.
    """

    parameters: tuple[str, ...]
    type: str


def aliases(text: str) -> dict[str, Alias]:
    """Return the ``using`` aliases in the source code of a file, by name; headers aren't read."""
    if "using" not in text:
        return {}
    matches = (match.groups() for match in _USING.finditer(without_comments(text)))
    return {name: Alias(_names(template or ""), meaning) for template, name, meaning in matches}


def resolve_aliases(function: Function, known: Mapping[str, Alias]) -> Function:
    """Return `function` with aliases in its parameters' types resolved, if the result is a type for kernels.

    The parameters' `text` stays unchanged.
    """
    if not known:
        return function
    known = {name: alias for name, alias in known.items() if name not in function.template}
    fields = dict(function.__dict__, parameters=tuple(_aliases_parameter(each, known) for each in function.parameters))
    return Function(**fields)


def _aliases_parameter(parameter: Parameter, known: Mapping[str, Alias]) -> Parameter:
    if parameter.view != "other":
        return _with_element(parameter, known)
    written = _expanded(parameter.element, known)
    layers = ("reference_declarator",) if parameter.reference else ()
    resolved = classified(
        name=parameter.name, text=parameter.text, written=written, const=parameter.const, layers=layers
    )
    return parameter if resolved.view == "other" else _with_element(resolved, known)


def _with_element(parameter: Parameter, known: Mapping[str, Alias]) -> Parameter:
    """Resolve an alias of the elements' type: ``using real = double;`` in ``Tensor<const real, 1>``."""
    written = _expanded(parameter.element, known)
    element = classified(name="", text="", written=written, const=False, layers=())
    known_element = written != parameter.element and element.view == "scalar"
    return Parameter(**dict(parameter.__dict__, element=element.element)) if known_element else parameter


def _expanded(written: str, known: Mapping[str, Alias]) -> str:
    for _ in range(_MOST):
        name, _, rest = written.partition("<")
        alias = known.get(name.strip())
        arguments = split_list(rest.rpartition(">")[0])
        if alias is None or len(arguments) != len(alias.parameters):
            return written
        values = dict(zip(alias.parameters, arguments, strict=True))
        written = _WORD.sub(lambda word, values=values: values.get(word[0], word[0]), alias.type)  # type: ignore[misc]
    return written


def _names(template: str) -> tuple[str, ...]:
    """Return the last word of each parameter: ``class T, int N`` -> ("T", "N")."""
    identifiers = (_WORD.findall(parameter.partition("=")[0]) for parameter in split_list(template))
    return tuple(parameter[-1] if parameter else "" for parameter in identifiers)
