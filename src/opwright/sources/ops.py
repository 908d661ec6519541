"""Parses the argument ``ops=``: signatures passed separately from the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from opwright.errors import SignatureError
from opwright.signature import NotationError, parse
from opwright.signature.names import identifier_of
from opwright.sources.model import ExternalSignature, is_number

Ops = str | Sequence[str] | Mapping[str, str]

_FUNCTION = re.compile(r"\s*([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)\s*(?:\((.*)\))?\s*", re.DOTALL | re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
EXAMPLE = "f(x: f32[N]) -> (y: f32[N])"
LOAD_ARGUMENT = f'load(..., ops="{EXAMPLE}")'
"""How to pass signatures, in messages; callers that take signatures in another way replace it."""
_EXPECTED = f'expected a signature, a sequence of them, or {{function: signature}}, as in ops="{EXAMPLE}"'


def read_ops(ops: Ops) -> tuple[ExternalSignature, ...]:
    """Parse the signatures, with the names of their functions and, if specified, the arguments of the calls.

    Args:
        ops: a signature; a sequence of signatures; or a mapping from function names, or calls such as ``crc32(crc,
            buf, len)``, to signatures.

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
            f"ops: {function!r} can't be read as a function; expected its name, as in saxpy, or a call, as in "
            "crc32(crc, buf, len)"
        )
    called = None if named[2] is None else _call(function, named[2])
    return ExternalSignature(signature, "".join(named[1].split()), called)


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
