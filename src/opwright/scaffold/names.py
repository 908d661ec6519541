"""The names of a project, its package, operator and module, and the names that can't be used."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opwright.errors import OpwrightError
from opwright.scaffold.kinds import Kind, templates
from opwright.signature import DType
from opwright.toolchain.compilers.flags import header_dir

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_WORD = re.compile(r"[A-Za-z_]\w*")
# With a longer name, lines of a new project would exceed its linter's limit.
_LONGEST = 32
_CODE = (".py", ".c", ".cpp", ".cu")
_STAND_INS = {"emulation", "nvrtc"}  # headers that a kernel includes only under the names of CUDA's
_ENDINGS = {"_backward": "an operator's gradient", "_emulated": "an operator's emulated form"}
_RESERVED = Path(__file__).parent / "reserved"


@dataclass(frozen=True)
class Name:
    """A project's name in its three forms.

    Attributes:
        project: the distribution's name, ``my-op``.
        package: the name of the package and of the operator, ``my_op``.
        module: the name of the class derived from `torch.nn.Module`, ``MyOp``.
    """

    project: str
    package: str
    module: str


def parse_name(text: str, kind: Kind) -> Name:
    """Parse a project's name, and check that it can be used.

    Raises:
        OpwrightError: the name can't be used for a project of that kind.
    """
    package = text.replace("-", "_")
    if not _NAME.fullmatch(text):
        raise _refusal(
            text, "expected lower-case letters, digits, and single '-' or '_' between them, a letter first", text
        )
    if len(text) > _LONGEST:
        why = f"it has {len(text)} characters, expected at most {_LONGEST}"
        raise _refusal(text, why, text[:_LONGEST].rstrip("-_"))
    for ending, what in _ENDINGS.items():
        if package.endswith(ending):
            raise _refusal(text, f"a name that ends in {ending} is that of {what}", text[: -len(ending)])
    if taken := _taken(package, kind):
        raise _refusal(text, f"{package} is {taken}", f"{text}_op" if "_" in text else f"{text}-op")
    return Name(text, package, "".join(part.capitalize() for part in package.split("_")))


def _refusal(text: str, why: str, fix: str) -> OpwrightError:
    parts = re.findall(r"[a-z][a-z0-9]*|[0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", fix).lower())
    while parts and parts[0].isdigit():
        parts.pop(0)
    hint = "-".join(parts) or "my-op"
    joined = hint if "-" in fix or "_" not in fix else hint.replace("-", "_")
    return OpwrightError(f"a project can't be called {text!r}: {why}\n  likely fix: opwright new {joined}")


def _taken(package: str, kind: Kind) -> str:
    """Return what else has the name; an empty string if it is free."""
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
    """Return the reserved names by their owner, which is the first line of each file.

    Python's modules in these files are those missing in `sys.stdlib_module_names`, and those of later versions.
    """
    texts = (path.read_text("utf-8") for path in sorted(_RESERVED.glob("*.txt")))
    return {what: frozenset(words.split()) for what, _, words in (text.partition("\n") for text in texts)}


@cache
def _defined() -> frozenset[str]:
    """Return the types and macros in the headers that kernels include: a function of the same name would hide one."""
    pattern = re.compile(r"\b(?:struct|class|using|namespace|define|typename)\s+(?:alignas\(\w+\)\s+)?([a-z]\w*)")
    folder = header_dir()
    ours = (path for path in folder.glob("opwright/**/*.h") if not _STAND_INS & {*path.parts})
    paths = (folder / "opwright.h", *ours)
    names = frozenset(name for path in paths for name in pattern.findall(path.read_text("utf-8")))
    return names | {dtype.cpp_name for dtype in DType}  # most are defined by macros


def _folders(kind: Kind) -> frozenset[str]:
    """Return the project's own folders: in its root, Python would import such a folder instead of the package."""
    return frozenset(place.partition("/")[0] for place in templates(kind) if "/" in place)


def _used(kind: Kind) -> frozenset[str]:
    """Return the words in the code of the kind's templates."""
    paths = (path for place, path in templates(kind).items() if place.endswith(_CODE))
    return frozenset(word for path in paths for word in _WORD.findall(path.read_text("utf-8"))) - {"my_op"}
