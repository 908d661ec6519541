"""``__CUDA_ARCH__``: merging a source's preprocessed code for the host and for the device.

CUDA preprocesses a source twice, for the host without the macro and for the device with it. Here the two results are
merged. A declaration that only one side has is taken from that side. A ``__host__ __device__`` function whose body
differs gets both bodies and chooses at run time. Other declarations that both sides need and that differ (types,
aliases) are errors.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from opwright.cuda.emulation.regions import Region, regions
from opwright.errors import CompileError
from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.line_markers import Place
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.cuda_declarations import Declaration, declarations

MARKS = {"__host__", "__device__"}


@dataclass(frozen=True, eq=False)
class Item:
    """A declaration and the region that contains it.

    Attributes:
        region: the region.
        decl: the declaration.
    """

    region: Region
    decl: Declaration

    @property
    def place(self) -> Place:
        """The file and line where it begins."""
        return self.region.place(self.decl.start)

    @property
    def key(self) -> tuple[Place, str, str]:
        """A key that is equal for the same declaration of the host's and the device's code."""
        return self.place, self.decl.kind, self.decl.name

    @functools.cached_property
    def words(self) -> list[str]:
        """The declaration's tokens without ``__host__`` and ``__device__``, for comparisons with others."""
        return _words(self.text(self.decl.start, self.decl.end))

    @property
    def head(self) -> list[str]:
        """The same tokens, up to the body of the function."""
        return _words(self.text(self.decl.start, self.body[0])) if self.decl.body else self.words

    @property
    def body(self) -> tuple[int, int]:
        """The offsets of its body: of the opening brace, and just past the closing one."""
        every, (first, last) = self.region.tokens.all, self.decl.body or (0, 0)
        return every[first].start, every[last].end

    def text(self, start: int, end: int) -> str:
        """Return the region's text between two offsets."""
        return self.region.text[start:end]

    def at(self, start: int, end: int) -> str:
        """Return the region's text between two offsets, with a line marker in front."""
        return self.region.place(start).marker + self.text(start, end)

    def members(self) -> list[Item]:
        """Return the declarations in a class's body."""
        first, last = self.decl.body or (0, 0)
        return [Item(self.region, decl) for decl in declarations(self.region.tokens, first + 1, last)]


def _words(text: str) -> list[str]:
    return [token.text for token in Tokens(text).all if token.text not in MARKS]


def items(parts: Iterable[Region]) -> list[Item]:
    """Return the declarations of several regions, in order."""
    return [Item(region, decl) for region in parts for decl in declarations(region.tokens)]


ARCHITECTURE_FLAGS = ("-D__CUDA_ARCH__=OPWRIGHT_EMULATION_ARCH",)
"""The preprocessor's additional flags for the device's code."""

_MACRO = b"__CUDA_ARCH__"
_CHOICE = "{{ if (::opwright::emulation::inside_kernel()) {} else {} }}"


def uses_architecture(text: str) -> bool:
    """Return whether ``__CUDA_ARCH__`` occurs in one of the author's files that preprocessed `text` comes from."""
    files = {marker.place.path for region in regions(text) if region.kind == "user" for marker in region.markers.all}
    return any(_mentions(file) for file in files)


def _mentions(file: str) -> bool:
    try:
        return _MACRO in Path(file).read_bytes()
    except OSError:  # <built-in>, <command-line>
        return False


def merge_texts(host: str, device: str) -> str:
    """Merge the preprocessed code for the host and for the device.

    Raises:
        CompileError: a declaration that both sides have differs and can't be merged.
    """
    ours = list(regions(host))
    theirs = [region for region in regions(device) if region.kind == "user"]
    merge = _Merge()
    merge.run(items(region for region in ours if region.kind == "user"), items(theirs))
    if merge.waiting:
        ours.append(Region("user", merge.take() + "\n"))
    return "".join(apply_edits(region.text, merge.edits.get(id(region), ())) for region in ours)


class _Merge:
    """The edits of the host's code; device-only declarations are inserted before the next one that both sides have."""

    def __init__(self) -> None:
        self.edits: dict[int, list[Edit]] = {}
        self.waiting: list[str] = []

    def take(self) -> str:
        text, self.waiting = "".join(self.waiting), []
        return text

    def run(self, host: list[Item], device: list[Item]) -> None:
        matcher = SequenceMatcher(None, [item.key for item in host], [item.key for item in device], autojunk=False)
        for what, first, last, device_first, device_last in matcher.get_opcodes():
            if what == "equal":
                for one, other in zip(host[first:last], device[device_first:device_last], strict=True):
                    self._both(one, other)
            else:
                self._apart(host[first:last], device[device_first:device_last])

    def _apart(self, host: list[Item], device: list[Item]) -> None:
        """Merge the branches of an #if: two versions of a function, or declarations that only one side has."""
        for one in host:
            other = next((item for item in device if item.decl.name and item.head == one.head), None)
            if other:
                device = [item for item in device if item is not other]
                self._both(one, other)
            elif one.decl.only_on_device and "global" not in one.decl.spaces and one.decl.kind != "class":
                self._replace(one, "")
        names = {one.decl.name for one in host if not one.decl.on_device} - {""}
        for item in device:
            if item.decl.kind == "function" and not item.decl.on_device:
                continue  # nvcc doesn't compile it, either
            if item.decl.name in names and not item.decl.only_on_device:
                raise _refused(item)
            self.waiting.append(item.at(item.decl.start, item.decl.end))

    def _both(self, one: Item, other: Item) -> None:
        """Merge an item of the host's text with the device's item of the same name."""
        if one.words == other.words and one.decl.spaces == other.decl.spaces:
            self._keep(one)
        elif one.words == other.words:  # only its marks differ
            self._replace(one, _marks(one, other) + one.text(one.decl.start, one.decl.end))
        elif one.decl.kind == "class" and one.head == other.head and one.decl.body:
            self._keep(one)
            self.run(one.members(), other.members())
            self._replace_waiting(one)
        elif other.decl.only_on_device and one.decl.only_on_device:
            self._replace(one, other.at(other.decl.start, other.decl.end))
        elif not other.decl.on_device and one.decl.kind == "function":
            self._host_alone(one, other)
        elif one.decl.kind == "function" and one.head == other.head and "constexpr" not in one.decl.words:
            head = _marks(one, other) + one.text(one.decl.start, one.body[0])
            self._replace(one, head + _CHOICE.format(other.at(*other.body), one.at(*one.body)))
        elif "static_assert" in one.decl.words:
            self._keep(one)
            self.waiting.append(other.at(other.decl.start, other.decl.end))
        else:
            raise _refused(one)

    def _host_alone(self, one: Item, other: Item) -> None:
        """Keep a host function unchanged; refuse one that contains a lambda for the device."""
        if any(mark in other.text(*other.body) for mark in MARKS):
            raise _refused(one)
        self._keep(one)

    def _keep(self, one: Item) -> None:
        if self.waiting:
            start = one.decl.start
            text = self.take() + one.region.place(start).marker
            self._edit(one.region, Edit(start, start, text))

    def _replace(self, one: Item, text: str) -> None:
        start, end = one.decl.start, one.decl.end
        self._edit(one.region, Edit(start, end, self.take() + one.place.marker + text + one.region.place(end).marker))

    def _replace_waiting(self, one: Item) -> None:
        """Insert the waiting declarations of a class before its closing brace."""
        if self.waiting:
            end = one.body[1] - 1
            self._edit(one.region, Edit(end, end, self.take() + one.region.place(end).marker))

    def _edit(self, region: Region, edit: Edit) -> None:
        self.edits.setdefault(id(region), []).append(edit)


def _marks(host: Item, device: Item) -> str:
    """Return the union of both declarations' marks."""
    return ("" if host.decl.only_on_device else "__host__ ") + ("__device__ " if device.decl.on_device else "")


def _refused(item: Item) -> CompileError:
    what = item.decl.name or "a declaration"
    return CompileError(
        f"{item.place}: error: {what} depends on __CUDA_ARCH__, and under emulation host and device have one of it\n"
        "  likely fix: use __CUDA_ARCH__ in function bodies or for __device__ functions, or ask for OPWRIGHT_EMULATION"
    )
