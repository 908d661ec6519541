"""Stand-ins for functions of objects that are left out: they let the extension link, and raise when called.

Most CUDA extensions list objects that nvcc should have made. Without them, the rest still builds, imports and works.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Container, Sequence
from pathlib import Path

from opwright.errors import SourceError
from opwright.legacy.ffi.left_out import LeftOut
from opwright.legacy.ffi.request import Request
from opwright.toolchain import Unit
from opwright.toolchain.binary.elf import symbols

_UNRESOLVED = re.compile(r"^(?:undefined symbol: (\S+)|Error relocating \S+ (\S+): symbol not found)", re.MULTILINE)
_OF_PYTHON = re.compile(r"_?Py[A-Z_]\w*")
_OF_TH = re.compile(r"_?THC?\w*|state")
_SANITIZER = re.compile(r"__(?:a|ub|t|l|m)san_\w*")


def undefined_symbols(library: Path, left_out: Sequence[LeftOut]) -> list[str]:
    """Return the symbols of ``library`` that are defined neither in its libraries nor in TH, Python or this process."""
    if not sys.platform.startswith("linux"):
        return []
    known = functools.partial(_is_given, of_th=_names_of_th(left_out), here=ctypes.CDLL(None))
    unsure = {name for name in symbols(library).undefined if not known(name)}
    return sorted(unsure & _unknown_to_the_loader(library)) if unsure else []


def _names_of_th(left_out: Sequence[LeftOut]) -> Container[str]:
    """Return the names that TH and THC define: all that look like it, or the exact list if an object is left out.

    That object's functions may look like TH's. The exact list isn't always used because it requires the TH library,
    and a first build would wait for that.
    """
    if left_out and importlib.util.find_spec("torch"):
        from opwright.legacy.th_library import exported

        return exported()
    return _LooksLikeTH()


class _LooksLikeTH:
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(_OF_TH.fullmatch(name))


def _is_given(name: str, of_th: Container[str], here: ctypes.CDLL) -> bool:
    if _OF_PYTHON.fullmatch(name) or _SANITIZER.fullmatch(name) or name in of_th:
        return True
    return hasattr(here, name)


def _unknown_to_the_loader(library: Path) -> set[str]:
    """Return the symbols that the loader can't find in the libraries linked to ``library``; this runs no code."""
    try:
        done = subprocess.run(
            ["ldd", "-r", str(library)],  # noqa: S607 - the system's program
            capture_output=True, text=True, errors="replace", check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except OSError:
        return set()
    return {first or second for first, second in _UNRESOLVED.findall(done.stdout + done.stderr)}


def stand_ins(request: Request, names: Sequence[str], left_out: Sequence[LeftOut]) -> Unit:
    """Return a unit that defines ``names``; each function raises an error (THError) that names the object left out.

    Raises:
        SourceError: a name comes from none of these objects, so its origin is unknown.
    """
    origins = {name: _origins(name, left_out) for name in names}
    if unknown := [name for name in names if not origins[name]]:
        raise _undefined(request, unknown)
    lines = ["#include <TH/TH.h>"]
    for index, (name, objects) in enumerate(origins.items()):
        text, place = map(_quoted, (_message(request, name, objects), os.path.relpath(objects[0].path, request.base)))
        lines += [
            f"void opwright_missing_{index}(void) __asm__({_quoted(name)});",
            f'void opwright_missing_{index}(void) {{ _THError({place}, 0, "%s", {text}); }}',
        ]
    return Unit(f"{request.name}.missing", "\n".join([*lines, ""]), language="c", cflags=("-fexceptions",))


def _quoted(text: str) -> str:
    """Return a C string literal."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("?"): "\\?"}
    return f'"{text.translate(plain)}"'


def describe_left_out(request: Request, names: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    """Return a message about a build without some of its objects."""
    objects = "; ".join(f"{os.path.relpath(one.path, request.base)}, {one.why}" for one in left_out)
    waits = f"until that is mended, these raise: {_listed(names)}" if names else "nothing needs it"
    return f"without {objects}; {waits}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(demangle, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _undefined(request: Request, names: Sequence[str]) -> SourceError:
    users = [f"{path} mentions {demangle(names[0])}" for path in _mentioning(names[0], request)]
    where = f"\n  {users[0]}" if users else ""
    return SourceError(
        f"create_extension({request.name!r}): nothing defines {_listed(names)}{where}\n"
        f"  likely fix: name the file that defines it in sources=, its object in extra_objects=, "
        f"or its library in libraries="
    )


def _mentioning(name: str, request: Request) -> list[str]:
    word = re.compile(rf"\b{re.escape(demangle(name).partition('(')[0])}\b")
    paths = [*request.sources, *request.headers]
    return [path for path in paths if word.search(Path(path).read_text(encoding="utf-8", errors="replace"))]


def _origins(name: str, left_out: Sequence[LeftOut]) -> list[LeftOut]:
    """Return the objects that define the name, or else the missing ones whose source, if it can be found, has it."""
    if defining := [one for one in left_out if name in (one.defines or ())]:
        return defining
    missing = [one for one in left_out if one.defines is None]
    if len(missing) == 1:
        return missing
    word = re.compile(rf"\b{re.escape(demangle(name).partition('(')[0])}\b")
    hits = [
        one for one in missing
        if (source := source_of(one.path)) and word.search(Path(source).read_text(encoding="utf-8", errors="replace"))
    ]  # fmt: skip
    return hits or missing


def source_of(path: str) -> str | None:
    """Find the source of an object next to the object or in the folders around it."""
    folder, name = os.path.split(path)
    stem = name.split(".")[0]
    up = os.path.dirname(folder)
    for near in (folder, os.path.join(folder, "src"), up, os.path.join(up, "src"), os.path.join(up, "cuda")):
        for suffix in (".cu", ".cpp", ".cc", ".c"):
            if os.path.isfile(source := os.path.join(near, stem + suffix)):
                return source
    return None


def _message(request: Request, name: str, objects: Sequence[LeftOut]) -> str:
    where = " or ".join(one.path for one in objects)
    how = " and ".join(dict.fromkeys(one.remedy or _command(one.path) for one in objects))
    return (
        f"{demangle(name)}() isn't in {request.name}: it was to come from {where}, {objects[0].why}\n"
        f"  likely fix: {how}, then run the build script again"
    )


def _command(path: str) -> str:
    source = source_of(path)
    if source is None:
        return f"make {os.path.basename(path)} (its source is not beside it)"
    if source.endswith(".cu"):
        return f"`opwright run {shlex.join(['nvcc', '-c', source, '-o', path, '-Xcompiler', '-fPIC'])}`"
    return f"`{shlex.join(['cc', '-c', source, '-o', path, '-fPIC'])}`"


def demangle(name: str) -> str:
    """Demangle a C++ symbol."""
    if not name.startswith("_Z"):
        return name
    try:
        done = subprocess.run(["c++filt", name], capture_output=True, text=True, check=False)  # noqa: S607 - the system's
    except OSError:
        return name
    return done.stdout.strip() or name
