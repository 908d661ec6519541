"""Parses the argument ``ops=``: signatures passed separately from the source, and the instances of templates in it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from opwright.errors import SignatureError
from opwright.signature import NotationError, parse
from opwright.signature.names import identifier_of
from opwright.sources.model import ExternalSignature, Function, Parameter, is_number
from opwright.sources.types import split_list, standard_spelling

Ops = str | Sequence[str] | Mapping[str, str]

_FUNCTION = re.compile(
    r"\s*([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)\s*(?:<(.*)>\s*)?(?:\(([^<>]*)\))?\s*", re.DOTALL | re.ASCII
)
_IDENTIFIER = re.compile(r"\w+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
EXAMPLE = "f(x: f32[N]) -> (y: f32[N])"
LOAD_ARGUMENT = f'load(..., ops="{EXAMPLE}")'
"""How to pass signatures, in messages; callers that take signatures in another way replace it."""
_EXPECTED = f'expected a signature, a sequence of them, or {{function: signature}}, as in ops="{EXAMPLE}"'


def read_ops(ops: Ops) -> tuple[ExternalSignature, ...]:
    """Parse the signatures, with the names of their functions and, if specified, the arguments of the calls.

    Args:
        ops: a signature; a sequence of signatures; or a mapping from function names, calls such as ``crc32(crc, buf,
            len)``, or instances of templates such as ``adamw<float, float>``, to signatures.

    Raises:
        TypeError: `ops` is of another type.
        SignatureError: a signature or a call can't be parsed.
    """
    signatures = tuple(_signatures(ops))
    if not signatures:
        raise TypeError(f"ops={ops!r} holds no signature, {_EXPECTED}")
    return signatures


def _signatures(ops: Ops) -> Iterator[ExternalSignature]:
    if isinstance(ops, Mapping):
        for function, signature in ops.items():
            yield _external_signature(signature, function)
    elif isinstance(ops, str):
        yield _external_signature(ops)
    elif isinstance(ops, Sequence):
        for signature in ops:
            yield _external_signature(signature)
    else:
        raise TypeError(f"ops={ops!r} is of type {type(ops).__name__}, {_EXPECTED}")


def _external_signature(text: str, function: str | None = None) -> ExternalSignature:
    for part in (text, "" if function is None else function):
        if not isinstance(part, str):
            raise TypeError(f"ops holds {part!r} of type {type(part).__name__}, {_EXPECTED}")
    try:
        signature = parse(text)
    except NotationError as error:
        raise SignatureError(f"ops: {error}") from None
    if function is None:
        return ExternalSignature(signature, identifier_of(signature.name))
    named = _FUNCTION.fullmatch(function)
    if named is None:
        raise SignatureError(
            f"ops: {function!r} can't be read as a function; expected its name, as in saxpy, a call, as in "
            "crc32(crc, buf, len), or an instance of a template, as in adamw<float, float>"
        )
    called = None if named[3] is None else _call(function, named[3])
    arguments = None if named[2] is None else split_list(named[2])
    return ExternalSignature(signature, "".join(named[1].split()), called, arguments)


def _call(function: str, listed: str) -> tuple[str, ...]:
    arguments = tuple(word.strip() for word in listed.split(",")) if listed.strip() else ()
    for word in arguments:
        if not is_number(word) and not _NAME.fullmatch(word):
            raise SignatureError(
                f"ops: {word!r} in {function!r} is neither a name nor a number\n"
                "  likely fix: name each parameter of the function, in its order, as the signature does: "
                "crc32(crc, buf, len)"
            )
    return arguments


def with_defaults(functions: Sequence[Function]) -> list[Function]:
    """Return the declarations of one function template, each with the default arguments that any of them gives."""
    merged: dict[tuple[int, int], list[str]] = {}
    for function in functions:
        known = merged.setdefault(_shape(function), [""] * len(function.template))
        known[:] = [old or new or "" for old, new in itertools.zip_longest(known, function.template_defaults)]
    return [Function(**{**each.__dict__, "template_defaults": tuple(merged[_shape(each)])}) for each in functions]


def _shape(function: Function) -> tuple[int, int]:
    return len(function.template), len(function.parameters)


def instance_of(function: Function, arguments: tuple[str, ...]) -> Function:
    """Return the instance of a function template, with the arguments in place of its template parameters.

    The last arguments may be left out where their parameters have defaults, as in C++.

    Raises:
        ValueError: it is no template, or has another number of parameters; the text says what arrived and what was
            expected.
    """
    if not function.template:
        raise ValueError(f"{function.name} is no template, and ops names its instance <{', '.join(arguments)}>")
    values: dict[str, str] = {}
    for parameter, given, default in itertools.zip_longest(function.template, arguments, function.template_defaults):
        if not parameter or not (given or default):
            break
        values[_parameter_name(parameter)] = given or _with_values(default, values)
    if not len(arguments) <= len(values) == len(function.template):
        raise ValueError(
            f"{function.name} is a template of <{', '.join(function.template)}>, and ops gives it "
            f"{len(arguments)} argument{'s' * (len(arguments) != 1)}: <{', '.join(arguments)}>"
        )
    parameters = tuple(_parameter(parameter, values) for parameter in function.parameters)
    name = f"{function.name}<{', '.join(arguments)}>"
    return Function(**dict(function.__dict__, name=name, template=(), parameters=parameters))


def _parameter_name(parameter: str) -> str:
    """Return the name of a template parameter: ``BLOCK`` of ``int BLOCK = 256``."""
    words = _IDENTIFIER.findall(parameter.partition("=")[0])
    return words[-1] if words else ""


def _parameter(parameter: Parameter, values: Mapping[str, str]) -> Parameter:
    element, text = _with_values(parameter.element, values), _with_values(parameter.text, values)
    view = parameter.view
    if view == "other" and standard_spelling(element):
        view = "scalar"
    return Parameter(**dict(parameter.__dict__, element=element, text=text, view=view))


def _with_values(text: str, values: Mapping[str, str]) -> str:
    return _IDENTIFIER.sub(lambda word: values.get(word[0], word[0]), text)
