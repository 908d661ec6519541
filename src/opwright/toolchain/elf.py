"""Is a file that a compiler left a whole shared library? Mapping one that isn't can end the process."""

from __future__ import annotations

import os
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HEADER_BYTES = 64
_SEGMENT = "IIQQQQ"
_RELOCATABLE, _SHARED_OBJECT = 1, 3


def what_is_wrong_with(library: Path, *, relocatable: bool = False) -> str:
    """What keeps ``library`` from being loaded, as the end of a sentence; nothing where it seems whole.

    `relocatable`: an object file is expected, for others to link (`Options.relocatable`).

    Where libraries aren't ELF files, only their absence is noticed.
    """
    try:
        with open(library, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                return "wrote an empty file"
            if not sys.platform.startswith("linux"):
                return ""
            head = file.read(_HEADER_BYTES)
            if not head.startswith(b"\x7fELF"):
                return f"wrote {size} bytes that are no shared library"
            if head[4] != 2:  # of 32 bits: nowhere that we run
                return "wrote a library for another processor"
            order = "<" if head[5] == 1 else ">"
            kind, segments, sections, *counts = struct.unpack(f"{order}16xH14xQQ6xHHHH2x", head)
            if kind != (_RELOCATABLE if relocatable else _SHARED_OBJECT):
                return "wrote an object that is no shared library"
            segment_size, segment_count, section_size, section_count = counts
            file.seek(segments)
            table = file.read(segment_size * segment_count)
            ends = [sections + section_size * section_count, segments + segment_size * segment_count]  # or none: 0
            for index in range(segment_count):
                _, _, offset, _, _, length = struct.unpack_from(f"{order}{_SEGMENT}", table, index * segment_size)
                ends.append(offset + length)
            return "wrote a library that ends too early" if max(ends) > size else ""
    except FileNotFoundError:
        return "wrote no library"
    except struct.error:
        return "wrote a library that ends too early"
