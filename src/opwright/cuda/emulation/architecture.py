"""``__CUDA_ARCH__``: device functions as the device's compiler would see them, host functions as the host's does.

CUDA preprocesses a source twice, for the host without the macro and for the device with it. Here the two texts become
one: a declaration that differs is taken from the side that has it; a function of both sides gets both bodies and asks,
when it is called, on which it is. What both would have to see differently (a type, an alias) is refused by name.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path

from opwright.cuda.emulation.edits import Edit, apply
from opwright.cuda.emulation.items import MARKS, Item, items
from opwright.cuda.emulation.regions import Region, regions
from opwright.errors import CompileError

WORDS = ("-D__CUDA_ARCH__=OPWRIGHT_EMULATION_ARCH",)
"""What the preprocessor is told for the device's text."""

_MACRO = b"__CUDA_ARCH__"
_CHOICE = "{{ if (::opwright::emulation::inside_kernel()) {} else {} }}"


def is_asked_for(text: str) -> bool:
    """Whether one of the author's files that preprocessed `text` is made of mentions ``__CUDA_ARCH__``."""
    files = {place.file for region in regions(text) if region.kind == "user" for place in region.places()}
    return any(_mentions(re.sub(r"\\(.)", r"\1", file)) for file in files)


def _mentions(file: str) -> bool:
    try:
        return _MACRO in Path(file).read_bytes()
    except OSError:  # <built-in>, <command-line>
        return False


def merged(host: str, device: str) -> str:
    """One text of the two.

    Raises:
        CompileError: a declaration that both sides have differs, and neither side's would be right for the other.
    """
    ours = list(regions(host))
    theirs = [region for region in regions(device) if region.kind == "user"]
    merge = _Merge()
    merge.run(items(region for region in ours if region.kind == "user"), items(theirs))
    if merge.waiting:
        ours.append(Region("user", merge.take() + "\n"))
    return "".join(apply(region.text, merge.edits.get(id(region), ())) for region in ours)


class _Merge:
    """The changes to the host's text, in order; what only the device has waits for the next declaration of both."""

    def __init__(self) -> None:
        self.edits: dict[int, list[Edit]] = {}
        self.waiting: list[str] = []

    def take(self) -> str:
        text, self.waiting = "".join(self.waiting), []
        return text

    def run(self, host: list[Item], device: list[Item]) -> None:
        matcher = SequenceMatcher(None, [each.key for each in host], [each.key for each in device], autojunk=False)
        for what, first, last, device_first, device_last in matcher.get_opcodes():
            if what == "equal":
                for one, other in zip(host[first:last], device[device_first:device_last], strict=True):
                    self._both(one, other)
            else:
                self._apart(host[first:last], device[device_first:device_last])

    def _apart(self, host: list[Item], device: list[Item]) -> None:
        """What stands in the branches of an #if: the same function twice, or what only one side has."""
        for one in host:
            other = next((each for each in device if each.chunk.name and each.head == one.head), None)
            if other:
                device = [each for each in device if each is not other]
                self._both(one, other)
            elif one.chunk.only_on_device and "global" not in one.chunk.spaces and one.chunk.kind != "class":
                self._replace(one, "")
        names = {one.chunk.name for one in host if not one.chunk.on_device} - {""}
        for each in device:
            if each.chunk.kind == "function" and not each.chunk.on_device:
                continue  # nvcc doesn't compile it, either
            if each.chunk.name in names and not each.chunk.only_on_device:
                raise _refused(each)
            self.waiting.append(each.at(each.chunk.start, each.chunk.end))

    def _both(self, one: Item, other: Item) -> None:
        if one.words == other.words and one.chunk.spaces == other.chunk.spaces:
            self._keep(one)
        elif one.words == other.words:  # only its marks differ
            self._replace(one, _marks(one, other) + one.text(one.chunk.start, one.chunk.end))
        elif one.chunk.kind == "class" and one.head == other.head and one.chunk.body:
            self._keep(one)
            self.run(one.members(), other.members())
            self._replace_waiting(one)
        elif other.chunk.only_on_device and one.chunk.only_on_device:
            self._replace(one, other.at(other.chunk.start, other.chunk.end))
        elif not other.chunk.on_device and one.chunk.kind == "function":
            self._host_alone(one, other)
        elif one.chunk.kind == "function" and one.head == other.head and "constexpr" not in one.chunk.words:
            head = _marks(one, other) + one.text(one.chunk.start, one.body[0])
            self._replace(one, head + _CHOICE.format(other.at(*other.body), one.at(*one.body)))
        elif "static_assert" in one.chunk.words:
            self._keep(one)
            self.waiting.append(other.at(other.chunk.start, other.chunk.end))
        else:
            raise _refused(one)

    def _host_alone(self, one: Item, other: Item) -> None:
        """A function of the host stays what it is; but a lambda in it may be the device's."""
        if any(mark in other.text(*other.body) for mark in MARKS):
            raise _refused(one)
        self._keep(one)

    def _keep(self, one: Item) -> None:
        if self.waiting:
            start = one.chunk.start
            text = self.take() + one.region.place(start).marker
            self._edit(one.region, Edit(start, start, text))

    def _replace(self, one: Item, text: str) -> None:
        start, end = one.chunk.start, one.chunk.end
        self._edit(one.region, Edit(start, end, self.take() + one.place.marker + text + one.region.place(end).marker))

    def _replace_waiting(self, one: Item) -> None:
        """What waits for the end of a class goes before the brace that closes it."""
        if self.waiting:
            end = one.body[1] - 1
            self._edit(one.region, Edit(end, end, self.take() + one.region.place(end).marker))

    def _edit(self, region: Region, edit: Edit) -> None:
        self.edits.setdefault(id(region), []).append(edit)


def _marks(host: Item, device: Item) -> str:
    """Whose the two are together."""
    return ("" if host.chunk.only_on_device else "__host__ ") + ("__device__ " if device.chunk.on_device else "")


def _refused(item: Item) -> CompileError:
    what = item.chunk.name or "a declaration"
    return CompileError(
        f"{item.place}: error: {what} depends on __CUDA_ARCH__, and under emulation host and device have one of it\n"
        "  likely fix: use __CUDA_ARCH__ in function bodies or for __device__ functions, or ask for OPWRIGHT_EMULATION"
    )
