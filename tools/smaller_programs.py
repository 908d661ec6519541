"""Make CUDA programs of others smaller: numbers on their command lines, and in their sources.

`try_cuda_programs.py` does so until the time suffices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_INTEGER = re.compile(r"(--?\w+=|)(\d+)")
REDUCED = (
    (1, 1, 1 << 62),
    (1, 1, 10),
    (8, 1024, 10),
    (64, 64, 10),
    (4096, 32, 10),
    (1 << 20, 10, 10),
    (1 << 40, 4, 4),
)
"""Numbers on a command line are divided by the first, but not to less than the second, until the time suffices.

The last of them, which often says how many times something is repeated, is at most the third.
"""
SMALL = 3
"""The place in `REDUCED` of numbers that most programs still take, and that tell whether they are right."""
_CONSTANT = re.compile(
    r"(?P<before>^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+\(?|-D[ \t]*(?P<option>\w+)=|"
    r"\b(?P<variable>\w+)\s*=\s*\(?|(?P<bound><=?)\s*\(?)"
    r"(?P<number>\d+[uUlL]*(?:[ \t]*(?:<<|\*)[ \t]*\d+[uUlL]*)*)(?P<behind>\)?)"
    r"(?(option)(?=\s|$)|(?=[ \t]*(?:[;,]|/[/*]|$)))",
    re.MULTILINE,
)
"""A constant of a source, or of an option of a Makefile, given by a product or a power of two; or a loop's end."""
_REPEATED = re.compile(r"iter|repeat|rep[es]?$|loop|trial|runs?$|steps$", re.IGNORECASE)
PARTS = 16
"""By how much the sizes in sources are divided, once or twice, where fewer repetitions don't suffice either."""


def smaller(arguments: Sequence[str], by: int, least: int, last: int) -> list[str]:
    """Return a command line with numbers above `least` divided and the last one at most `last`, and small for large."""
    words = [_INTEGER.fullmatch(word) or ("small" if by > 1 and word == "large" else word) for word in arguments]
    at = [i for i, word in enumerate(words) if not isinstance(word, str)]
    for i, found in enumerate(words):
        if isinstance(found, str):
            continue
        number = int(found[2])
        number = max(least, number // by) if number > least else number
        words[i] = f"{found[1]}{min(number, last) if i == at[-1] else number}"
    return [str(word) for word in words]


def with_smaller_constants(text: str, parts: int = PARTS) -> str:
    """Return a source or a Makefile in which large sizes are divided and nothing is repeated more than twice.

    A size is a multiple of eight from 2048 on, a loop's end one from 65536 on, and stays one. Other numbers may be
    anything, such as a hash's multiplier.
    """

    def changed(found: re.Match[str]) -> str:
        name = found["macro"] or found["option"] or found["variable"] or ""
        number = _value(found["number"])
        if _REPEATED.search(name):
            number = min(number, 2)
        elif number >= (1 << 16 if found["bound"] else 2048) and number % 8 == 0:
            number = number if parts == 1 else max(number // parts // 8 * 8, 256)
        else:
            return found[0]
        return f"{found['before']}{number}{found['behind']}"

    return _CONSTANT.sub(changed, text)


def _value(text: str) -> int:
    """Return what a product of numbers and powers of two comes to, such as `3 * 1024` and `1UL << 28`."""
    value = 1
    for sign, number in re.findall(r"(<<|\*|^)\s*(\d+)", text):
        value = value << min(int(number), 62) if sign == "<<" else value * int(number)
    return value


def with_sizes(text: str, sizes: Mapping[str, int]) -> str:
    """Return a source with other numbers where it defines integers of these names by numbers."""
    for name, size in sizes.items():
        kind, number = r"\b(?:int|long|unsigned|size_t|u?int\d+_t)", r"\d+(?:\s*\*\s*\d+)?"
        definition = rf"({kind}\s+{re.escape(name)}\s*=\s*){number}(?=\s*[;,])"
        text = re.sub(definition, rf"\g<1>{size}", text)
    return text
