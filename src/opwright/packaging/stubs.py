"""The ``.pyi`` stub of a library: its operators' signatures for type checkers and editors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from opwright.signature import GeneratorParam, Param, ScalarParam, Signature, TensorParam
from opwright.signature.chosen.kinds import DeviceKind
from opwright.signature.clauses.variants import variant_signatures
from opwright.signature.names import attribute_of, forward_of, operator_of, overload_of
from opwright.signature.schema import number_type, sections

_HEADING = '''\
# Written by Opwright from the signatures of {module}; builds write it anew.
"""Operators of {module}."""

import torch as _torch
'''
_USED = ("tuple", "str", "list", "staticmethod")
"""Names of Python's in stubs that an operator can also have; the other types' names are C++ keywords."""


def public(signatures: Sequence[Signature]) -> list[Signature]:
    """Return the signatures of operators that users call, with their variants, without the backwards of others."""
    names = {signature.name for signature in signatures}
    written = [s for s in signatures if forward_of(s.name) not in names]
    return [each for s in written for each in (s, *variant_signatures(s).values())]


def stub(module: str, signatures: Sequence[Signature], comments: Mapping[str, str] | None = None) -> str:
    """Return the text of the stub.

    Args:
        module: the module that contains the operators.
        signatures: the operators' signatures, in order.
        comments: the authors' doc comments, by operator.
    """
    texts = comments or {}
    shadowed = any({*signature.name.split(".")} & {*_USED} for signature in signatures)
    heading = _HEADING.format(module=module) + ("import builtins as _builtins\n" if shadowed else "")
    types = [_type(signature, param, "") for signature in signatures for param in signature.inputs]
    groups = list(_groups(signatures, texts).values())
    overloaded = {operator_of(each.name) for each in groups if overload_of(each.name) or len(each.signatures) > 1}
    if overloaded or any("_typing." in each for each in types):
        heading = heading.replace("import torch", "import typing as _typing\n\nimport torch", 1)
    prefix = "_builtins." if shadowed else ""
    parts = [heading]
    for name in dict.fromkeys(operator_of(each.name) for each in groups):
        own = [each for each in groups if operator_of(each.name) == name]
        parts.append(_packet(name, own, prefix) if name in overloaded else _function(own[0], prefix))
    return "\n".join(parts)


@dataclass
class _Group:
    """What is called by one name: an operator, or the alternatives of one, with their authors' comments."""

    name: str
    signatures: list[Signature]
    comments: list[str]

    def each(self) -> Iterator[_Group]:
        """Yield the alternatives as operators of their own, by the names that are attributes of the operator."""
        if len(self.signatures) > 1:
            for signature, comment in zip(self.signatures, self.comments, strict=True):
                yield _Group(signature.name, [signature], [comment])


def _groups(signatures: Sequence[Signature], comments: Mapping[str, str]) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for signature in signatures:
        group = groups.setdefault(signature.shown_name, _Group(signature.shown_name, [], []))
        group.signatures.append(signature)
        group.comments.append(comments.get(signature.name, ""))
    return groups


def _function(group: _Group, prefix: str, name: str = "", first: str = "") -> str:
    """Return the definition of a function; `name`: if not the operator's, `first`: an argument before the others."""
    returns = _returns(group.signatures[0], prefix)
    arguments = [*filter(None, [first]), *_arguments(group.signatures, prefix)]
    begin = f"def {name or group.name}"
    line = f"{begin}({', '.join(arguments)}) -> {returns}:"
    if len(line) > 120:
        broken = "".join(f"    {argument},\n" for argument in arguments)
        line = f"{begin}(\n{broken}) -> {returns}:"
    words = "\n\n    ".join(map(_documentation, group.signatures, group.comments))
    return f'{line}\n    """{words}\n    """\n'


def _packet(name: str, overloads: Sequence[_Group], prefix: str) -> str:
    """Return the definition of an operator with overloads or alternatives.

    They are its attributes; a call takes any of them.
    """
    several = "@_typing.overload\n" * (len(overloads) > 1)
    members = [member for each in overloads for member in (each, *each.each())]
    own = [f"@{prefix}staticmethod\n{_function(each, prefix, attribute_of(each.name))}" for each in members]
    calls = [f"{several}{_function(each, prefix, '__call__', '__self')}" for each in overloads]
    return "\n".join([f"class _{name}:", *(indent(text, "    ") for text in own + calls), f"{name}: _{name}", ""])


def _arguments(alternatives: Sequence[Signature], prefix: str) -> list[str]:
    """Return the arguments as in PyTorch's schema: with a default only if all later arguments have one too."""
    texts: list[str] = []
    signature, defaults = alternatives[0], True
    places = len(signature.inputs) - len(signature.given)
    types = [_types(alternatives, place, prefix) for place in range(len(signature.inputs))]
    for param, annotation in zip(signature.inputs[:places][::-1], types[:places][::-1], strict=True):
        default = _default(param) if defaults else ""
        defaults = default != ""
        texts.append(f"{param.name}: {annotation}{default}")
    by_name = [f"{param.name}: {types[places + i]}" for i, param in enumerate(signature.inputs[places:])]
    return [*texts[::-1], *["*"] * bool(by_name), *by_name, *_of_factory(signature, prefix)]


def _types(alternatives: Sequence[Signature], place: int, prefix: str) -> str:
    """Return what the alternatives take for an argument."""
    each = (_type(signature, signature.inputs[place], prefix).split(" | ") for signature in alternatives)
    return " | ".join(dict.fromkeys(kind for kinds in each for kind in kinds))


def _of_factory(signature: Signature, prefix: str) -> Iterator[str]:
    if signature.is_factory and (signature.chosen_type or not signature.device):
        yield "*"
        if signature.chosen_type:
            yield "dtype: _torch.dtype | None = None"
        if not signature.device:
            yield f"device: _torch.device | {prefix}str | None = None"


def _type(signature: Signature, param: Param, prefix: str) -> str:
    if isinstance(param, ScalarParam):
        if isinstance(param.kind, DeviceKind):
            return param.kind.annotation.replace("str", f"{prefix}str")
        return prefix * param.kind.annotation.startswith("str") + param.kind.annotation
    if isinstance(param, GeneratorParam):
        return "_torch.Generator | None"
    if param.listed:
        return "_typing.Sequence[_torch.Tensor]"
    number = number_type(signature, param)
    numbers = f" | {number.__name__}" if number else ""
    return f"_torch.Tensor{numbers}{' | None' * param.optional}"


def _default(param: Param) -> str:
    if isinstance(param, ScalarParam):
        if not param.has_default:
            return ""
        return " = None" if param.default is None else f" = {param.kind.in_python(param.default, '_torch')}"
    return " = None" if isinstance(param, GeneratorParam) or param.optional else ""


def _returns(signature: Signature, prefix: str) -> str:
    if signature.listed:
        return f"{prefix}list[_torch.Tensor]"
    types = [_result(output, prefix) for output in signature.outputs] or ["_torch.Tensor"] * len(signature.returned)
    if len(types) > 1:
        return f"{prefix}tuple[{', '.join(types)}]"
    return types[0] if types else "None"


def _result(output: TensorParam, prefix: str) -> str:
    if output.listed:
        return f"{prefix}list[_torch.Tensor]"
    return "int" if output.is_count else "_torch.Tensor | None" if output.condition else "_torch.Tensor"


def _documentation(signature: Signature, comment: str) -> str:
    """Return the signature, the author's comment, then each argument and result with its element type and shape."""
    escaped = comment.replace("\\", "\\\\").replace('"', '\\"')
    lines = "\n\n".join(filter(None, [str(signature.operator), escaped, *sections(signature)])).splitlines()
    return "\n".join(f"    {line}".rstrip() if i else line for i, line in enumerate(lines))
