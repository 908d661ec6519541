"""64-bit ELF files: symbols, a shared library's requirements, its GPU code, and whether it is complete.

The files are read without the compiler's tools (System V ABI; symbol versions: the Linux Standard Base).
"""

from __future__ import annotations

import contextlib
import mmap
import re
import struct
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from opwright.errors import ToolchainError

_MAGIC, _CLASS_64 = b"\x7fELF", b"\x02"
_RELOCATABLE, _SHARED_OBJECT = 1, 3
MACHINES = {62: "x86_64", 183: "aarch64", 3: "i686", 40: "armv7l", 21: "ppc64le", 22: "s390x", 243: "riscv64"}
_SYMBOL_TABLE, _DYNAMIC, _DYNAMIC_SYMBOL_TABLE, _INITIALIZERS, _VERSIONS_NEEDED = 2, 6, 11, 14, 0x6FFFFFFE
_POINTER = 8
_NEEDED, _RPATH, _RUNPATH, _TEXTREL = 1, 15, 29, 22
_STACK, _EXECUTABLE = 0x6474E551, 1
_NOTES, _BUILD_ID, _HEAD = 4, (b"GNU\0", 3), 1 << 16
_LOCAL, _WEAK, _HIDDEN = 0, 2, (1, 2)
_MALFORMED = (struct.error, ValueError, IndexError, OverflowError)

_CUDA_MACHINE = 190
# nvcc embeds fatbinaries: a header, then an entry for each piece of code with its kind and architecture (as shown by
# cuobjdump). NVRTC makes bare cubins and PTX.
_FATBINARY = struct.pack("<IH", 0xBA55ED50, 1)
_GPU_CODE_KINDS = {1: "compute", 2: "sm"}
_PTX_TARGET = re.compile(rb"\.target\s+(sm_\d+[af]?)")


class Symbols(NamedTuple):
    """The names in an object file or a shared library.

    Attributes:
        defined: symbols that it defines and exports.
        undefined: symbols that others must define, weak ones included.
        private: local and hidden symbols.
    """

    defined: frozenset[str]
    undefined: frozenset[str]
    private: frozenset[str]


class LibraryRequirements(NamedTuple):
    """A shared library's requirements of the machine that loads it.

    Attributes:
        machine: the architecture, as in platform tags.
        libraries: the SONAMEs of the libraries that are loaded with it.
        versions: the required symbol versions by library: ``{"libc.so.6": {"GLIBC_2.14"}}``.
        undefined: symbols that other libraries must define; weak ones, which may be missing, are excluded.
        paths: folders in which libraries are searched first (RPATH and RUNPATH).
        flaws: reasons for which hardened systems refuse to load it: text relocations, an executable stack.
        gpus: the embedded GPU code: ``sm_90`` for machine code, ``compute_120`` for PTX.
    """

    machine: str
    libraries: tuple[str, ...]
    versions: dict[str, set[str]]
    undefined: frozenset[str]
    paths: tuple[str, ...]
    flaws: tuple[str, ...]
    gpus: tuple[str, ...]


def symbols(path: Path) -> Symbols:
    """Return the symbols of an object file or a shared library.

    Raises:
        ToolchainError: `path` isn't such a file.
    """
    defined, undefined, private = set[str](), set[str](), set[str]()
    try:
        elf = ElfFile(path.read_bytes())
        for symbol in elf.symbols(_DYNAMIC_SYMBOL_TABLE if elf.kind == _SHARED_OBJECT else _SYMBOL_TABLE):
            if symbol.binding == _LOCAL or (symbol.section and symbol.visibility in _HIDDEN):
                private.add(symbol.name)
            else:
                (defined if symbol.section else undefined).add(symbol.name)
    except _MALFORMED as error:
        raise ToolchainError(f"{path} is no object file or shared library whose names can be read ({error})") from error
    return Symbols(frozenset(defined), frozenset(undefined - defined), frozenset(private))


def library_requirements(data: bytes, name: str) -> LibraryRequirements:
    """Return a shared library's requirements.

    Args:
        data: its bytes.
        name: its name in messages.

    Raises:
        ToolchainError: it isn't a 64-bit ELF file, or is incomplete.
    """
    try:
        elf = ElfFile(data)
        entries = list(elf.dynamic_entries())
        flaws = ["it has text relocations"] if any(tag == _TEXTREL for tag, _ in entries) else []
        if any(segment.kind == _STACK and segment.flags & _EXECUTABLE for segment in elf.segments):
            flaws.append("it asks for an executable stack")
        dynamic_symbols = elf.symbols(_DYNAMIC_SYMBOL_TABLE)
        return LibraryRequirements(
            MACHINES.get(elf.machine, f"machine {elf.machine}"),
            tuple(text for tag, text in entries if tag == _NEEDED),
            elf.required_versions(),
            frozenset(symbol.name for symbol in dynamic_symbols if not symbol.section and symbol.binding != _WEAK),
            tuple(text for tag, text in entries if tag in {_RPATH, _RUNPATH}),
            tuple(flaws),
            tuple(dict.fromkeys(sorted(gpu_code(data), key=_architecture_order))),
        )
    except _MALFORMED as error:
        reason = "it ends too early" if isinstance(error, struct.error) else error
        raise ToolchainError(f"{name} is no shared library that can be read ({reason})") from error


def needed_libraries(library: str) -> tuple[str, ...]:
    """Return the names by which a shared library refers to those that are loaded with it, in its order.

    Only the tables are read, not the whole file. A file that is no shared library has none.

    Raises:
        OSError: the file can't be read.
    """
    with (
        open(library, "rb") as file,
        contextlib.suppress(*_MALFORMED),
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return tuple(text for tag, text in ElfFile(data).dynamic_entries() if tag == _NEEDED)
    return ()


def has_initializers(library: Path) -> bool:
    """Return whether a shared library runs code of its own when it is loaded: constructors of global objects.

    The C compiler's start files give every library one entry (``frame_dummy``). On systems without ELF the answer is
    False.

    Raises:
        OSError: the file can't be read.
    """
    try:
        sections = ElfFile(library.read_bytes()).of_kind(_INITIALIZERS)
        return sum(section.size for section in sections) > _POINTER
    except _MALFORMED:
        return False


def build_id(library: Path) -> str:
    """Return the linker's hash of a library's contents (``--build-id``), in hexadecimal; "" if it has none.

    Raises:
        OSError: the file can't be read.
    """
    with library.open("rb") as file, contextlib.suppress(*_MALFORMED):
        elf = ElfFile(file.read(_HEAD))
        for segment in elf.segments:
            if segment.kind != _NOTES:
                continue
            file.seek(segment.offset)
            for name, kind, value in _notes(file.read(segment.size), elf.order):
                if (name, kind) == _BUILD_ID:
                    return value.hex()
    return ""


def _notes(data: bytes, order: str) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield the name, the kind and the value of each note; all are padded to 4 bytes."""
    at = 0
    while at < len(data):
        name, value, kind = struct.unpack_from(f"{order}III", data, at)
        begin = at + 12 + (name + 3) // 4 * 4
        yield data[at + 12 : at + 12 + name], kind, data[begin : begin + value]
        at = begin + (value + 3) // 4 * 4


def describe_damage(library: Path, *, relocatable: bool = False) -> str:
    """Return why a compiler's output file can't be loaded, as the end of a sentence; "" if the file is complete.

    Mapping an incomplete library can crash the process. On systems without ELF, only missing and empty files are
    detected.

    Args:
        library: the file.
        relocatable: whether an object file is expected, to be linked later (`Options.relocatable`).
    """
    try:
        data = library.read_bytes()
    except FileNotFoundError:
        return "wrote no library"
    if not data:
        return "wrote an empty file"
    if not sys.platform.startswith("linux"):
        return ""
    if not data.startswith(_MAGIC):
        return f"wrote {len(data)} bytes that are no shared library"
    try:
        if data[4:5] != _CLASS_64:  # 32 bits: Opwright runs on no such system
            return "wrote a library for another processor"
        elf = ElfFile(data)
        if elf.kind != (_RELOCATABLE if relocatable else _SHARED_OBJECT):
            return "wrote an object that is no shared library"
        _ = elf.sections  # raises if the table is incomplete
        whole = all(segment.offset + segment.size <= len(data) for segment in elf.segments)
    except _MALFORMED:
        whole = False
    return "" if whole else "wrote a library that ends too early"


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int
    info: int


class _Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    size: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    visibility: int
    section: int
    """The index of the section that defines the symbol; 0 if another file defines it."""


class ElfFile:
    """The tables of an ELF file; malformed data raises one of `_MALFORMED`."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        if data[:5] != _MAGIC + _CLASS_64:
            raise ValueError("not ELF of 64 bits")
        self.data, self.order = data, "<" if data[5] == 1 else ">"
        self.kind, self.machine = self.read("HH", 16)

    def read(self, form: str, offset: int) -> tuple[int, ...]:
        """Read numbers in the file's byte order."""
        return struct.unpack_from(self.order + form, self.data, offset)

    @cached_property
    def segments(self) -> list[_Segment]:
        """The parts that are loaded, in their order."""
        (start,), (size, count) = self.read("Q", 32), self.read("HH", 54)
        rows = (self.read("IIQQQQ", start + index * size) for index in range(count))
        return [_Segment(row[0], row[1], row[2], row[5]) for row in rows]

    @cached_property
    def sections(self) -> list[_Section]:
        """The sections, by number."""
        (start,), (size, count) = self.read("Q", 40), self.read("HH", 58)
        rows = (self.read("IIQQQQIIQQ", start + index * size) for index in range(count))
        return [_Section(row[1], row[4], row[5], row[6], row[7]) for row in rows]

    def of_kind(self, kind: int) -> Iterator[_Section]:
        """Return the sections of one kind."""
        return (section for section in self.sections if section.kind == kind)

    def text(self, section: _Section, offset: int) -> str:
        """Read a name from a section's string table."""
        begin = self.sections[section.link].offset + offset
        end = self.data.find(b"\0", begin)
        if end < 0:
            raise ValueError("a name has no end")
        return self.data[begin:end].decode("utf-8", "replace")

    def symbols(self, table: int) -> Iterator[_Symbol]:
        """Yield the named symbols of all symbol tables of one kind."""
        for section in self.of_kind(table):
            rows = struct.iter_unpack(f"{self.order}IBBH16x", self.data[section.offset : section.offset + section.size])
            for name, info, other, home in rows:
                if name:
                    yield _Symbol(self.text(section, name), info >> 4, other & 3, home)

    def dynamic_entries(self) -> Iterator[tuple[int, str]]:
        """Yield the tags of the dynamic section, with the string of those that have one (else "")."""
        for section in self.of_kind(_DYNAMIC):
            for offset in range(section.offset, section.offset + section.size, 16):
                tag, value = self.read("qQ", offset)
                yield tag, self.text(section, value) if tag in {_NEEDED, _RPATH, _RUNPATH} else ""

    def required_versions(self) -> dict[str, set[str]]:
        """Read the required symbol versions of each library; the file has nested lists linked by offsets."""
        versions: dict[str, set[str]] = {}
        for section in self.of_kind(_VERSIONS_NEEDED):
            library_at = section.offset
            for _ in range(section.info):
                _, count, library, first, next_library = self.read("HHIII", library_at)
                names = versions.setdefault(self.text(section, library), set())
                version_at = library_at + first
                for _ in range(count):
                    _, _, _, version, next_version = self.read("IHHII", version_at)
                    names.add(self.text(section, version))
                    version_at += next_version
                library_at += next_library
        return versions


def gpu_code(data: bytes) -> Iterator[str]:
    """Yield the architectures of the GPU code embedded in a library, such as ``sm_90`` and ``compute_120``."""
    yield from list(_in_fatbinaries(data)) or _outside_fatbinaries(data)


def _in_fatbinaries(data: bytes) -> Iterator[str]:
    start = data.find(_FATBINARY)
    while start >= 0:
        header, size = struct.unpack_from("<6xHQ", data, start)
        entry, end = start + header, start + header + size
        while entry + 32 <= min(end, len(data)):
            kind, length, payload, number = struct.unpack_from("<H2xIQ12xI", data, entry)
            if kind in _GPU_CODE_KINDS:
                yield f"{_GPU_CODE_KINDS[kind]}_{number}"
            entry += length + payload or end
        start = data.find(_FATBINARY, start + 1)


def _outside_fatbinaries(data: bytes) -> Iterator[str]:
    """Yield the architectures of cubins (ELF files) and of PTX (text), except PTX inside cubins (for debuggers)."""
    rest, start = 0, data.find(b"\x7fELF\x02\x01", 1)
    between = []
    while start >= 0:
        header = data[start : start + 64].ljust(64, b"\0")
        machine, sections, flags, size, count = struct.unpack("<18xH20xQI6xHH2x", header)
        following = start + 1
        if machine == _CUDA_MACHINE:  # ABI version 8 (CUDA 13) moved the architecture
            yield f"sm_{flags >> 8 & 0xFF if header[8] >= 8 else flags & 0xFF}"
            between.append(data[rest:start])
            following = rest = start + max(sections + size * count, 64)
        start = data.find(b"\x7fELF\x02\x01", following)
    for piece in (*between, data[rest:]):
        for match in _PTX_TARGET.finditer(piece):
            yield match[1].decode().replace("sm_", "compute_")


def _architecture_order(name: str) -> tuple[bool, int]:
    return name.startswith("compute"), int(re.sub(r"\D", "", name))
