"""Keeping an object file's instances of templates apart from those of other files.

Each file that uses ``std::vector<int>`` defines its functions, and the linker chooses one definition for all files.
Where some files are compiled with checks of every access, the others may get the checked one. An object file whose
instances have names of their own runs them, and no other file does (System V ABI: symbols, section groups).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from opwright.toolchain.binary.elf import ElfFile

_SYMBOL_TABLE, _GROUP = 2, 17
_WEAK, _UNIQUE = 2, 10
_SYMBOL = 24
_OFFSET_IN_HEADER = 24
_SHARED = re.compile(rb"_Z(?:T[A-Z]|GV)?Z*NK?8opwright|(?!_Z)")
"""Names that stay: those in the namespace that several files of Opwright share, and what C++ has not named."""
_PREFIX = b"opwright."


def own_templates(path: Path) -> None:
    """Rename the instances of templates and the inline functions that an object file defines, in its symbol table.

    Those in the namespace ``opwright`` keep their names: their variables are one in a whole program. A file that isn't
    ELF stays as it is.
    """
    data = path.read_bytes()
    try:
        elf = ElfFile(data)
    except ValueError:
        return
    changed = bytearray(data)
    (headers,), (header_size,) = elf.read("Q", 40), elf.read("H", 58)
    for number, table in enumerate(elf.sections):
        if table.kind != _SYMBOL_TABLE:
            continue
        strings = elf.sections[table.link]
        names = bytearray(data[strings.offset : strings.offset + strings.size])
        # The linker keeps one of all groups with the same name, which needn't be the name of anything in it.
        groups = {each.info for each in elf.sections if each.kind == _GROUP and each.link == number}
        for index, at in enumerate(range(table.offset, table.offset + table.size, _SYMBOL)):
            start, kind, _, home = elf.read("IBBH", at)
            name = bytes(names[start : names.index(0, start)])
            if home and (kind >> 4 in (_WEAK, _UNIQUE) or index in groups) and not _SHARED.match(name):
                struct.pack_into(f"{elf.order}I", changed, at, len(names))
                names += _PREFIX + name + b"\0"
        header = headers + header_size * table.link + _OFFSET_IN_HEADER
        struct.pack_into(f"{elf.order}QQ", changed, header, len(changed), len(names))
        changed += names
    path.write_bytes(changed)
