"""Marking the local arrays of device code that are declared without a value, when it is checked.

Each is filled with NaNs that name its declaration (emulation/local_arrays.h): what is computed from an element that
nothing has written shows in the results. Arrays that are read alone are left to the compiler's own warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from opwright.cuda.emulation.identifiers import scope_end
from opwright.cuda.emulation.regions import Functions
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.keywords import OPERATORS, STATEMENTS
from opwright.sources.cpp.line_markers import Place
from opwright.sources.cpp.tokens import Tokens

_NO_DECLARATION = {
    *OPERATORS,
    *STATEMENTS,
    *("static", "extern", "thread_local", "__shared__", "__constant__", "constexpr", "typedef", "using"),
    *("delete", "new", "operator", "friend", "template", "sizeof", "asm"),
}
_AGGREGATES = {"struct", "class", "union", "enum"}
_WRITES = {"=", "+=", "-=", "*=", "/=", "++", "--"}
_BITS = 21
"""Of the 22 bits of a float's quiet NaN that are free; not all may be zero."""
_TABLE = (
    "\nnamespace {{ const ::opwright::emulation::LocalArray opwright_local_arrays[] = {{{}}};\n"
    "const bool opwright_local_arrays_known = ::opwright::emulation::know_local_arrays(opwright_local_arrays); }}\n"
)


class LocalArrays:
    """The local arrays of one source that are filled."""

    def __init__(self, *, wanted: bool) -> None:
        """Begin without arrays; unless `wanted` there are none."""
        self._wanted = wanted
        self._known: dict[int, tuple[str, Place]] = {}

    def edits(self, functions: Functions) -> Iterator[Edit]:
        """Yield the edits that fill the arrays of a region."""
        region = functions.region
        for body in functions.bodies if self._wanted else ():
            if not body.decl.on_device or "constexpr" in body.decl.words or "consteval" in body.decl.words:
                continue
            for names, last in _declared(region.tokens, body.first + 1, body.last):
                end = region.tokens.all[last].end
                place = region.place(end)
                filled = {name: axes for name, axes in names.items() if _is_written(region.tokens, name, last)}
                if filled:
                    code = (_fill(name, axes, self._number(name, place)) for name, axes in filled.items())
                    yield Edit(end, end, "".join(code))

    def table(self) -> str:
        """Return the code behind all other that says where they are declared."""
        rows = (
            f'{{{number}, "{place.file}", {place.line}, "{name}"}}' for number, (name, place) in self._known.items()
        )
        return _TABLE.format(", ".join(rows)) if self._known else ""

    def _number(self, name: str, place: Place) -> int:
        text = f"{place.file}:{place.line}:{name}".encode("utf-8", "surrogateescape")
        number = int.from_bytes(sha256(text).digest()[:4], "little") % (1 << _BITS) | 1
        self._known[number] = name, place
        return number


def _fill(name: str, axes: int, number: int) -> str:
    """Return the statement that fills an array. It takes no element's address: the array may stay in registers."""
    loops, at, element = "", name, f"decltype({name}{'[0]' * axes})"
    for axis in range(axes):
        i = f"opwright_{axis}"
        loops += f"for (decltype(sizeof(int)) {i} = 0; {i} < sizeof({at}) / sizeof({at}[0]); ++{i}) "
        at += f"[{i}]"
    space = "::opwright::emulation::"
    return f" if constexpr ({space}is_filled<{element}>) {loops}{at} = {space}nothing_in<{number}, {element}>();"


def _declared(tokens: Tokens, at: int, end: int) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the arrays of each declaration in a function's body, and the index of its ``;``."""
    begins = True
    while at < end:
        if tokens.is_sign(at, "{") and _is_class(tokens, at):
            at = tokens.partner.get(at, at) + 1
            continue
        found = _arrays(tokens, at, end) if begins else None
        if found and found[0]:
            yield found
            at = found[1]
        begins = tokens.is_sign(at, ";", "{", "}", ":")
        at += 1


def _is_class(tokens: Tokens, opened: int) -> bool:
    head = range(tokens.statement_start(opened), opened)
    return any(tokens.is_word(at, *_AGGREGATES) for at in head) and not tokens.is_sign(opened - 1, ")")


def _arrays(tokens: Tokens, at: int, end: int) -> tuple[dict[str, int], int] | None:
    """Return the arrays without a value in the declaration that begins at `at`, and the index of its ``;``.

    Each is given with the number of its axes. One that the same declaration uses may have been written by it.
    """
    first = at = _first_name(tokens, at)
    names: dict[str, int] = {}
    while 0 <= at < end:
        behind, axes = at + 1, 0
        while tokens.is_sign(behind, "["):
            behind, axes = tokens.partner.get(behind, behind) + 1, axes + 1
        if tokens.is_word(at) and axes and tokens.is_sign(behind, ",", ";"):
            names[tokens.all[at].text] = axes
        while behind < end and not tokens.is_sign(behind, ",", ";"):
            behind = (tokens.partner.get(behind, behind) if tokens.is_sign(behind, "(", "[", "{") else behind) + 1
        if tokens.is_sign(behind, ";"):
            used = [name for name in names if len(list(tokens.positions_in(name, first, behind))) > 1]
            return {name: axes for name, axes in names.items() if name not in used}, behind
        at = behind + 1
    return None


def _first_name(tokens: Tokens, at: int) -> int:
    """Return the index of the first variable's name, directly behind the type; -1 where no such declaration begins."""
    words = 0
    while tokens.is_word(at) or tokens.is_sign(at, "::", "<"):
        if tokens.is_word(at):
            if tokens.all[at].text in _NO_DECLARATION:
                return -1
            words += not tokens.is_sign(at - 1, "::")
        behind: int | None = tokens.after_angle(at) if tokens.is_sign(at, "<") else at + 1
        if behind is None:
            return -1
        at = behind
    return at - 1 if words >= 2 and tokens.is_word(at - 1) else -1


def _is_written(tokens: Tokens, name: str, declared: int) -> bool:
    """Return whether the array is written to in its scope, or given away, rather than read alone."""
    for at in tokens.positions_in(name, declared, scope_end(tokens, declared)):
        if tokens.is_sign(at - 1, ".", "->", "::"):
            continue
        behind = at + 1
        while tokens.is_sign(behind, "["):
            behind = tokens.partner.get(behind, behind) + 1
        if behind == at + 1 or tokens.is_sign(behind, *_WRITES) or tokens.is_sign(at - 1, "&", "++", "--"):
            return True
    return False
