"""Functions that nothing defines: those of objects that aren't there get stand-ins, which say so when they are called.

Most CUDA extensions name objects that nvcc was to make. Without them, what remains still builds, imports and works.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from opwright.errors import SourceError
from opwright.legacy.request import Request
from opwright.toolchain import Unit

_UNRESOLVED = re.compile(r"^(?:undefined symbol: (\S+)|Error relocating \S+ (\S+): symbol not found)", re.MULTILINE)
_OF_PYTHON = re.compile(r"_?Py[A-Z_]\w*")
_OF_TH = re.compile(r"_?THC?\w*|state")
_SANITIZER = re.compile(r"__(?:a|ub|t|l|m)san_\w*")


def unresolved(library: Path) -> list[str]:
    """The symbols that ``library`` needs and that neither its libraries, TH, Python nor this process will give it.

    Asked of the loader itself, which only looks (nothing is run). Where it has no such mode, nothing is known.
    """
    if not sys.platform.startswith("linux"):
        return []
    try:
        done = subprocess.run(
            ["ldd", "-r", str(library)], capture_output=True, text=True, errors="replace", check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except OSError:
        return []
    names = sorted({first or second for first, second in _UNRESOLVED.findall(done.stdout + done.stderr)})
    return [name for name in names if not _is_given(name)]


def _is_given(name: str) -> bool:
    if _OF_PYTHON.fullmatch(name) or _SANITIZER.fullmatch(name):
        return True
    if _OF_TH.fullmatch(name):
        return _is_of_th(name)
    return hasattr(ctypes.CDLL(None), name)


def _is_of_th(name: str) -> bool:
    """Whether TH or THC exports `name`; taken on trust as long as the library hasn't been built."""
    return True


def stand_ins(request: Request, names: Sequence[str]) -> Unit:
    """A unit that defines ``names``, each of which raises through THError which object it waits for.

    Raises:
        SourceError: no object is missing, so that nothing says where they were to come from.
    """
    missing = [path for path in request.objects if not os.path.exists(path)]
    if not missing:
        raise _undefined(request, names)
    lines = ["#include <TH/TH.h>"]
    for index, name in enumerate(names):
        text = json.dumps(_message(request, name, _likely(name, missing)), ensure_ascii=True)
        lines += [
            f"void opwright_missing_{index}(void) __asm__({json.dumps(name)});",
            f'void opwright_missing_{index}(void) {{ THError("%s", {text}); }}',
        ]
    return Unit(f"{request.name}.missing", "\n".join([*lines, ""]), language="c", cflags=("-fexceptions",))


def _undefined(request: Request, names: Sequence[str]) -> SourceError:
    shown = ", ".join(map(readable, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    users = [f"{path} mentions {readable(names[0])}" for path in _mentioning(names[0], request)]
    where = f"\n  {users[0]}" if users else ""
    return SourceError(
        f"create_extension({request.name!r}): nothing defines {shown}{where}\n"
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
        done = subprocess.run(["c++filt", name], capture_output=True, text=True, check=False)
    except OSError:
        return name
    return done.stdout.strip() or name


