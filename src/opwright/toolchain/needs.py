"""What a shared library asks of the machine that loads it: libraries, versions of their symbols, a processor, GPUs.

Read from its sections (System V ABI; versions: the Linux Standard Base), without a tool of the compiler's.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from opwright.errors import ToolchainError

_DYNAMIC, _DYNAMIC_SYMBOLS, _VERSIONS_NEEDED = 6, 11, 0x6FFFFFFE
_NEEDED, _RPATH, _RUNPATH, _TEXTREL = 1, 15, 29, 22
_STACK, _EXECUTABLE = 0x6474E551, 1
MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l", 21: "ppc64le", 22: "s390x", 243: "riscv64"}
_CUDA_MACHINE = 190
# What nvcc embeds (fatbinary: a header, then for each code an entry with its kind and architecture), as cuobjdump
# shows it; and what stands in cubins and PTX by themselves, which is what NVRTC makes.
_FATBINARY = struct.pack("<IH", 0xBA55ED50, 1)
_KINDS = {1: "compute", 2: "sm"}
_PTX_TARGET = re.compile(rb"\.target\s+(sm_\d+[af]?)")


class Needs(NamedTuple):
    """What it asks for.

    Attributes:
        machine: the architecture, as platform tags name it.
        libraries: what is loaded with it, by SONAME.
        versions: the versioned symbols' versions, by library: ``{"libc.so.6": {"GLIBC_2.14"}}``.
        undefined: symbols that are looked for elsewhere; weak ones, which may be missing, are not among them.
        paths: folders in which libraries are searched first (RPATH and RUNPATH).
        flaws: what hardened systems refuse to load: text relocations, an executable stack.
        gpus: the code for GPUs within: ``sm_90`` for machine code, ``compute_120`` for PTX.
    """

    machine: str
    libraries: tuple[str, ...]
    versions: dict[str, set[str]]
    undefined: frozenset[str]
    paths: tuple[str, ...]
    flaws: tuple[str, ...]
    gpus: tuple[str, ...]


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int
    info: int


def needs(data: bytes, name: str) -> Needs:
    """What the library of these bytes asks for.

    Args:
        data: an ELF file of 64 bits.
        name: what it is called, for messages.

    Raises:
        ToolchainError: it is no such file, or not a whole one.
    """
    try:
        return _File(data).needs()
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        what = "it ends too early" if isinstance(error, struct.error) else error
        raise ToolchainError(f"{name} is no shared library that can be read ({what})") from error


class _File:
    def __init__(self, data: bytes) -> None:
        if data[:5] != b"\x7fELF\x02":
            raise ValueError("not ELF of 64 bits")
        self.data, self.order = data, "<" if data[5] == 1 else ">"
        (start,) = self.read("Q", 40)
        size, count = self.read("HH", 58)
        rows = (self.read("IIQQQQIIQQ", start + index * size) for index in range(count))
        self.sections = [_Section(row[1], row[4], row[5], row[6], row[7]) for row in rows]

    def read(self, form: str, offset: int) -> tuple[int, ...]:
        """Numbers, in the file's own byte order."""
        return struct.unpack_from(self.order + form, self.data, offset)

    def text(self, section: _Section, offset: int) -> str:
        """A name in the strings that belong to a section."""
        begin = self.sections[section.link].offset + offset
        return self.data[begin : self.data.index(b"\0", begin)].decode("utf-8", "replace")

    def needs(self) -> Needs:
        """All of it."""
        entries = [*self.dynamic()]
        flaws = ["it has text relocations"] if any(tag == _TEXTREL for tag, _ in entries) else []
        flaws += ["it asks for an executable stack"] if self.executable_stack() else []
        return Needs(
            MACHINES.get(self.read("H", 18)[0], f"machine {self.read('H', 18)[0]}"),
            tuple(text for tag, text in entries if tag == _NEEDED),
            self.versions(),
            frozenset(self.undefined()),
            tuple(text for tag, text in entries if tag in {_RPATH, _RUNPATH}),
            tuple(flaws),
            tuple(dict.fromkeys(sorted(gpu_code(self.data), key=_by_number))),
        )

    def of_kind(self, kind: int) -> Iterator[_Section]:
        """The sections of a kind."""
        return (section for section in self.sections if section.kind == kind)

    def dynamic(self) -> Iterator[tuple[int, str]]:
        """The entries that name something, and those that are flaws."""
        for section in self.of_kind(_DYNAMIC):
            for offset in range(section.offset, section.offset + section.size, 16):
                tag, value = self.read("qQ", offset)
                if tag in {_NEEDED, _RPATH, _RUNPATH}:
                    yield tag, self.text(section, value)
                elif tag == _TEXTREL:
                    yield tag, ""

    def versions(self) -> dict[str, set[str]]:
        """The versions of symbols that are asked of each library: lists of lists, linked by offsets."""
        found: dict[str, set[str]] = {}
        for section in self.of_kind(_VERSIONS_NEEDED):
            place = section.offset
            for _ in range(section.info):
                _, count, library, first, following = self.read("HHIII", place)
                names = found.setdefault(self.text(section, library), set())
                at = place + first
                for _ in range(count):
                    _, _, _, version, more = self.read("IHHII", at)
                    names.add(self.text(section, version))
                    at += more
                place += following
        return found

    def undefined(self) -> Iterator[str]:
        """Symbols without a home, but for weak ones."""
        weak = 2
        for section in self.of_kind(_DYNAMIC_SYMBOLS):
            for offset in range(section.offset, section.offset + section.size, 24):
                name, info, _, home = self.read("IBBH", offset)
                if name and not home and info >> 4 != weak:
                    yield self.text(section, name)

    def executable_stack(self) -> bool:
        """Whether a program header says so."""
        (start,) = self.read("Q", 32)
        size, count = self.read("HH", 54)
        segments = (self.read("II", start + index * size) for index in range(count))
        return any(kind == _STACK and flags & _EXECUTABLE for kind, flags in segments)


def gpu_code(data: bytes) -> Iterator[str]:
    """The architectures of the codes for GPUs that are embedded in a library."""
    found = [*_in_fatbinaries(data)]
    yield from found or _by_themselves(data)


def _by_themselves(data: bytes) -> Iterator[str]:
    """Cubins, which are ELF files; and PTX, which is text, but for what cubins hold of it for debuggers."""
    rest, place = 0, data.find(b"\x7fELF\x02\x01", 1)
    between = []
    while place >= 0:
        header = data[place : place + 64].ljust(64, b"\0")
        machine, sections, flags, size, count = struct.unpack("<18xH20xQI6xHH2x", header)
        following = place + 1
        if machine == _CUDA_MACHINE:  # where the architecture stands, ABI version 8 (CUDA 13) has changed
            yield f"sm_{flags >> 8 & 0xFF if header[8] >= 8 else flags & 0xFF}"
            between.append(data[rest:place])
            following = rest = place + max(sections + size * count, 64)
        place = data.find(b"\x7fELF\x02\x01", following)
    for piece in (*between, data[rest:]):
        for match in _PTX_TARGET.finditer(piece):
            yield match[1].decode().replace("sm_", "compute_")


def _in_fatbinaries(data: bytes) -> Iterator[str]:
    place = data.find(_FATBINARY)
    while place >= 0:
        header, size = struct.unpack_from("<6xHQ", data, place)
        entry, end = place + header, place + header + size
        while entry + 32 <= min(end, len(data)):
            kind, length, payload, number = struct.unpack_from("<H2xIQ12xI", data, entry)
            if kind in _KINDS:
                yield f"{_KINDS[kind]}_{number}"
            entry += length + payload or end
        place = data.find(_FATBINARY, place + 1)


def _by_number(name: str) -> tuple[bool, int]:
    return name.startswith("compute"), int(re.sub(r"\D", "", name))
