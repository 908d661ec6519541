"""Which names a project, its package and its operator may have: all three follow from one."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import OpwrightError
from opwright.toolchain.flags import header_dir

if TYPE_CHECKING:
    from opwright.scaffold.kinds import Kind

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_WORD = re.compile(r"[A-Za-z_]\w*")
# With longer ones the lines of a new project would be longer than its linter has them.
_LONGEST = 32
_CODE = (".py", ".c", ".cpp", ".cu")
_ENDINGS = {"_backward": "an operator's gradient", "_emulated": "an operator's emulated form"}
_RESERVED = Path(__file__).parent / "reserved"


@dataclass(frozen=True)
class Name:
    """A name, in its three forms.

    Attributes:
        project: of the distribution, ``my-op``.
        package: what is imported, and the operator, ``my_op``.
        module: of the class derived from `torch.nn.Module`, ``MyOp``.
    """

    project: str
    package: str
    module: str


def read_name(text: str, kind: Kind) -> Name:
    """The forms of a name.

    Raises:
        OpwrightError: no project of that kind can have it.
    """
    package = text.replace("-", "_")
    if not _NAME.fullmatch(text):
        raise _refused(
            text, "expected lower-case letters, digits, and single '-' or '_' between them, a letter first", text
        )
    if len(text) > _LONGEST:
        why = f"it has {len(text)} characters, expected at most {_LONGEST}"
        raise _refused(text, why, text[:_LONGEST].rstrip("-_"))
    for ending, what in _ENDINGS.items():
        if package.endswith(ending):
            raise _refused(text, f"a name that ends in {ending} is that of {what}", text[: -len(ending)])
    if taken := _taken(package, kind):
        raise _refused(text, f"{package} is {taken}", f"{text}_op" if "_" in text else f"{text}-op")
    return Name(text, package, "".join(part.capitalize() for part in package.split("_")))


def _refused(text: str, why: str, fix: str) -> OpwrightError:
    words = re.findall(r"[a-z][a-z0-9]*|[0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", fix).lower())
    while words and words[0].isdigit():
        words.pop(0)
    hint = "-".join(words) or "my-op"
    joined = hint if "-" in fix or "_" not in fix else hint.replace("-", "_")
    return OpwrightError(f"a project can't be called {text!r}: {why}\n  likely fix: opwright new {joined}")


def _taken(package: str, kind: Kind) -> str:
    """What a name is already; nothing where it is free."""
    if keyword.iskeyword(package):
        return "a word of Python's"
    if package in sys.stdlib_module_names:
        return "a module of Python's"
    if package in _folders(kind):
        return "a folder of the project's"
    for what, words in _reserved().items():
        if package in words:
            return what
    if package in _defined():
        return "something in opwright.h"
    return "a name that the project's code has for something else" if package in _used(kind) else ""


@cache
def _reserved() -> dict[str, frozenset[str]]:
    """Names that something else has, by what that is: the first line of a file of them.

    Of Python's modules those that `sys.stdlib_module_names` leaves out, and those of later versions.
    """
    texts = (path.read_text("utf-8") for path in sorted(_RESERVED.glob("*.txt")))
    return {what: frozenset(words.split()) for what, _, words in (text.partition("\n") for text in texts)}


@cache
def _defined() -> frozenset[str]:
    """The types and macros of the header that kernels include: a function of that name would hide one."""
    pattern = re.compile(r"\b(?:struct|class|using|namespace|define|typename)\s+(?:alignas\(\w+\)\s+)?([a-z]\w*)")
    folder = header_dir()
    paths = (folder / "opwright.h", *(folder / "opwright").glob("*.h"))
    found = frozenset(word for path in paths for word in pattern.findall(path.read_text("utf-8")))
    return found | {"half", "bfloat16"}  # macros define these


def _folders(kind: Kind) -> frozenset[str]:
    """The project's own folders: from its root, Python would look for the package in the one of that name."""
    from opwright.scaffold.filling import templates

    return frozenset(place.partition("/")[0] for place in templates(kind) if "/" in place)


def _used(kind: Kind) -> frozenset[str]:
    """The words in the code of the kind's templates."""
    from opwright.scaffold.filling import templates

    paths = (path for path in templates(kind).values() if path.suffix in _CODE)
    return frozenset(word for path in paths for word in _WORD.findall(path.read_text("utf-8"))) - {"my_op"}
