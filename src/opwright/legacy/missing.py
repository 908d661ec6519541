"""Functions that nothing defines: those of objects that aren't there get stand-ins, which say so when they are called.

Most CUDA extensions name objects that nvcc was to make. Without them, what remains still builds, imports and works.
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
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from opwright.errors import SourceError
from opwright.legacy.request import Request
from opwright.toolchain import Unit
from opwright.toolchain.symbols import symbols

_UNRESOLVED = re.compile(r"^(?:undefined symbol: (\S+)|Error relocating \S+ (\S+): symbol not found)", re.MULTILINE)
_OF_PYTHON = re.compile(r"_?Py[A-Z_]\w*")
_OF_TH = re.compile(r"_?THC?\w*|state")
_SANITIZER = re.compile(r"__(?:a|ub|t|l|m)san_\w*")


def unresolved(request: Request, library: Path) -> list[str]:
    """The symbols that ``library`` needs and that neither its libraries, TH, Python nor this process will give it."""
    if not sys.platform.startswith("linux"):
        return []
    known = functools.partial(_is_given, of_th=_names_of_th(request), here=ctypes.CDLL(None))
    unsure = {name for name in symbols(library).undefined if not known(name)}
    return sorted(unsure & _unknown_to_the_loader(library)) if unsure else []


def _names_of_th(request: Request) -> Container[str]:
    """What TH and THC define: taken on trust by their look, but where an object is missing that may define such names.

    To know them, the library has to be there, and the first build would wait for it.
    """
    if missing_objects(request) and importlib.util.find_spec("torch"):
        from opwright.legacy.library import exported

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
    """What the loader, which is only asked and runs nothing, doesn't find in all that ``library`` is linked to."""
    try:
        done = subprocess.run(
            ["ldd", "-r", str(library)],  # noqa: S607 - the system's
            capture_output=True, text=True, errors="replace", check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except OSError:
        return set()
    return {first or second for first, second in _UNRESOLVED.findall(done.stdout + done.stderr)}


def missing_objects(request: Request) -> list[str]:
    """The objects to link that aren't there."""
    return [path for path in request.objects if not os.path.exists(path)]


def stand_ins(request: Request, names: Sequence[str]) -> Unit:
    """A unit that defines ``names``, each of which raises through THError which object it waits for.

    Raises:
        SourceError: no object is missing, so that nothing says where they were to come from.
    """
    missing = missing_objects(request)
    if not missing:
        raise _undefined(request, names)
    lines = ["#include <TH/TH.h>"]
    for index, name in enumerate(names):
        objects = _likely(name, missing)
        text, place = map(_quoted, (_message(request, name, objects), os.path.relpath(objects[0], request.base)))
        lines += [
            f"void opwright_missing_{index}(void) __asm__({_quoted(name)});",
            f'void opwright_missing_{index}(void) {{ _THError({place}, 0, "%s", {text}); }}',
        ]
    return Unit(f"{request.name}.missing", "\n".join([*lines, ""]), language="c", cflags=("-fexceptions",))


def _quoted(text: str) -> str:
    """A C string."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("?"): "\\?"}
    return f'"{text.translate(plain)}"'


def waiting(request: Request, names: Sequence[str]) -> str:
    """What a build without some of its objects says of itself."""
    objects = ", ".join(os.path.relpath(path, request.base) for path in missing_objects(request))
    waits = f"until it does, these raise: {_listed(names)}" if names else "nothing needs it"
    return f"without {objects}, which does not exist; {waits}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(readable, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _undefined(request: Request, names: Sequence[str]) -> SourceError:
    users = [f"{path} mentions {readable(names[0])}" for path in _mentioning(names[0], request)]
    where = f"\n  {users[0]}" if users else ""
    return SourceError(
        f"create_extension({request.name!r}): nothing defines {_listed(names)}{where}\n"
        f"  likely fix: name the file that defines it in sources=, its object in extra_objects=, "
        f"or its library in libraries="
    )


def _mentioning(name: str, request: Request) -> list[str]:
    word = re.compile(rf"\b{re.escape(readable(name).partition('(')[0])}\b")
    paths = [*request.sources, *request.headers]
    return [path for path in paths if word.search(Path(path).read_text(encoding="utf-8", errors="replace"))]


def _likely(name: str, missing: Sequence[str]) -> list[str]:
    """Of several missing objects those whose source, where it can be found, has that name in it."""
    if len(missing) == 1:
        return list(missing)
    word = re.compile(rf"\b{re.escape(readable(name).partition('(')[0])}\b")
    hits = [
        path for path in missing
        if (source := source_of(path)) and word.search(Path(source).read_text(encoding="utf-8", errors="replace"))
    ]  # fmt: skip
    return hits or list(missing)


def source_of(path: str) -> str | None:
    """The source beside a missing object, or in the folders around it, that it was to be made from."""
    folder, name = os.path.split(path)
    stem = name.split(".")[0]
    up = os.path.dirname(folder)
    for near in (folder, os.path.join(folder, "src"), up, os.path.join(up, "src"), os.path.join(up, "cuda")):
        for suffix in (".cu", ".cpp", ".cc", ".c"):
            if os.path.isfile(found := os.path.join(near, stem + suffix)):
                return found
    return None


def _message(request: Request, name: str, objects: Sequence[str]) -> str:
    where = " or ".join(objects)
    return (
        f"{readable(name)}() isn't in {request.name}: it was to come from {where}, which did not exist when the "
        f"extension was built\n  likely fix: {_how(objects)}, then run the build script again"
    )


def _how(objects: Iterable[str]) -> str:
    commands = []
    for path in objects:
        source = source_of(path)
        if source is None:
            commands.append(f"make {os.path.basename(path)} (its source is not beside it)")
        elif source.endswith(".cu"):
            words = ["nvcc", "-c", source, "-o", path, "-Xcompiler", "-fPIC"]
            commands.append(f"`opwright run {shlex.join(words)}`")
        else:
            commands.append(f"`{shlex.join(['cc', '-c', source, '-o', path, '-fPIC'])}`")
    return " and ".join(commands)


def readable(name: str) -> str:
    """A C++ symbol as it was written."""
    if not name.startswith("_Z"):
        return name
    try:
        done = subprocess.run(["c++filt", name], capture_output=True, text=True, check=False)  # noqa: S607 - the system's
    except OSError:
        return name
    return done.stdout.strip() or name
