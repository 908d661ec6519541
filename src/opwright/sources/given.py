"""Reads ``ops=``: signatures that are given beside the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from opwright.errors import SignatureError
from opwright.signature import NotationError, parse
from opwright.sources.model import Given, is_number

__all__ = ["EXAMPLE", "GIVEN_TO_LOAD", "Ops", "read_ops"]

Ops = str | Sequence[str] | Mapping[str, str]

_FUNCTION = re.compile(r"\s*([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)\s*(?:\((.*)\))?\s*", re.DOTALL | re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
EXAMPLE = "f(x: f32[N]) -> (y: f32[N])"
GIVEN_TO_LOAD = f'load(..., ops="{EXAMPLE}")'
"""How messages tell to give signatures; who takes them in another way puts that in its place."""
_EXPECTED = f'expected a signature, a sequence of them, or {{function: signature}}, as in ops="{EXAMPLE}"'


def read_ops(ops: Ops) -> tuple[Given, ...]:
    """The signatures, each with the name of its function and perhaps with what that is called with.

    Args:
        ops: one signature; several; or a mapping from the function's name, or a call such as ``crc32(crc, buf, len)``,
            to the signature.

    Raises:
        TypeError: it is something else.
        SignatureError: a signature or a call can't be read.
    """
    found = tuple(_each(ops))
    if not found:
        raise TypeError(f"ops={ops!r} holds no signature, {_EXPECTED}")
    return found


def _each(ops: Ops) -> Iterator[Given]:
    if isinstance(ops, Mapping):
        for function, signature in ops.items():
            yield _given(signature, function)
    elif isinstance(ops, str):
        yield _given(ops)
    elif isinstance(ops, Sequence):
        for signature in ops:
            yield _given(signature)
    else:
        raise TypeError(f"ops={ops!r} is of type {type(ops).__name__}, {_EXPECTED}")


def _given(text: str, function: str | None = None) -> Given:
    for part in (text, "" if function is None else function):
        if not isinstance(part, str):
            raise TypeError(f"ops holds {part!r} of type {type(part).__name__}, {_EXPECTED}")
    try:
        signature = parse(text)
    except NotationError as error:
        raise SignatureError(f"ops: {error}") from None
    if function is None:
        return Given(signature, signature.name)
    named = _FUNCTION.fullmatch(function)
    if named is None:
        raise SignatureError(
            f"ops: {function!r} can't be read as a function; expected its name, as in saxpy, or a call, as in "
            "crc32(crc, buf, len)"
        )
    called = None if named[2] is None else _call(function, named[2])
    return Given(signature, "".join(named[1].split()), called)


def _call(function: str, listed: str) -> tuple[str, ...]:
    words = tuple(word.strip() for word in listed.split(",")) if listed.strip() else ()
    for word in words:
        if not is_number(word) and not _NAME.fullmatch(word):
            raise SignatureError(
                f"ops: {word!r} in {function!r} is neither a name nor a number\n"
                "  likely fix: name each parameter of the function, in its order, as the signature does: "
                "crc32(crc, buf, len)"
            )
    return words
