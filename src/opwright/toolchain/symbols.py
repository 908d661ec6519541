"""The names in an object file or a shared library, without a tool of the compiler's."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import ToolchainError

if TYPE_CHECKING:
    from pathlib import Path

_SYMBOL_TABLE, _DYNAMIC_SYMBOL_TABLE = 2, 11
_LOCAL, _HIDDEN = 0, (1, 2)


class Symbols(NamedTuple):
    """What a file gives to others, and what it needs of them."""

    defined: frozenset[str]
    undefined: frozenset[str]


def symbols(path: Path) -> Symbols:
    """The names that ``path``, an ELF file of 64 bits, defines for others and leaves undefined.

    Raises:
        ToolchainError: it is no such file.
    """
    data = path.read_bytes()
    try:
        found = list(_names(data))
    except (struct.error, ValueError, IndexError) as error:
        raise ToolchainError(f"{path} is no object file or shared library whose names can be read ({error})") from error
    defined = frozenset(name for name, here in found if here)
    return Symbols(defined, frozenset(name for name, here in found if not here) - defined)


def all_names(path: Path) -> frozenset[str]:
    """Every name in the symbol table of ``path``, an ELF file of 64 bits; those that are its own affair, too.

    Raises:
        ToolchainError: it is no such file.
    """
    data = path.read_bytes()
    try:
        return frozenset(name for name, _, _ in _entries(data))
    except (struct.error, ValueError, IndexError) as error:
        raise ToolchainError(f"{path} is no object file or shared library whose names can be read ({error})") from error


def _names(data: bytes) -> Iterator[tuple[str, bool]]:
    """Each name that isn't the file's own affair, and whether it is defined there."""
    return ((name, bool(section)) for name, is_own, section in _entries(data) if not is_own)


def _entries(data: bytes) -> Iterator[tuple[str, bool, int]]:
    """Each name, whether it is the file's own affair, and the section that it is defined in (0: none)."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("not ELF of 64 bits")
    order = "<" if data[5] == 1 else ">"
    dynamic = struct.unpack_from(f"{order}H", data, 16)[0] == 3
    (start,) = struct.unpack_from(f"{order}Q", data, 40)
    size, count = struct.unpack_from(f"{order}HH", data, 58)
    sections = [struct.unpack_from(f"{order}IIQQQQIIQQ", data, start + index * size) for index in range(count)]
    for _, kind, _, _, offset, length, link, *_rest in sections:
        if kind != (_DYNAMIC_SYMBOL_TABLE if dynamic else _SYMBOL_TABLE):
            continue
        strings = sections[link][4]
        for name, info, other, section, _value, _size in struct.iter_unpack(
            f"{order}IBBHQQ", data[offset : offset + length]
        ):
            if name:
                begin = strings + name
                is_own = info >> 4 == _LOCAL or bool(section and other & 3 in _HIDDEN)
                yield data[begin : data.index(b"\0", begin)].decode("utf-8", "replace"), is_own, section
