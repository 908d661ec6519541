"""A folder of programs for the children of ``opwright run``, before all others on their PATH.

It has the shape of a CUDA toolkit, since many scripts find that from where ``nvcc`` is; all but ``nvcc`` are links to
the real one. Scripts for bash that call nvcc by its path reach it, too, by a function of that name.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from opwright.legacy import nvcc
from opwright.legacy.cuda import cuda_home
from opwright.toolchain.cache import cache_root, private_folder, unwritable

_SITE = Path(__file__).parent / "site"
_USUAL = "/usr/local/cuda/bin/nvcc"


def environment() -> dict[str, str]:
    """What `opwright run` adds to the environment: legacy support in every Python, our nvcc, and this Python."""
    if nvcc.REAL in os.environ:  # a child of such a process: all is there
        return {}
    added = {"OPWRIGHT_LEGACY": "1", "PYTHONPATH": _before("PYTHONPATH", str(_SITE))}
    home, real = cuda_home(), _real_nvcc()
    folder = _folder(home, real)
    added["PATH"] = _before("PATH", str(folder / "bin"))
    # What a script of that time builds imports torch while it is built.
    added |= {"PIP_NO_BUILD_ISOLATION": "0"} if "PIP_NO_BUILD_ISOLATION" not in os.environ else {}  # 0: it is off
    if real:
        added |= {nvcc.REAL: real, "BASH_ENV": str(folder / "bash_env")}
        added |= {name: str(folder) for name in ("CUDA_HOME", "CUDA_PATH") if home and name in os.environ}
        added |= {"OPWRIGHT_BASH_ENV": os.environ["BASH_ENV"]} if "BASH_ENV" in os.environ else {}
    return added


def _before(variable: str, first: str) -> str:
    others = os.environ.get(variable, "").split(os.pathsep)
    return os.pathsep.join([first, *(each for each in others if each and each != first)])


def _real_nvcc() -> str | None:
    home = cuda_home()
    return shutil.which("nvcc") or (shutil.which("nvcc", path=os.path.join(home, "bin")) if home else None)


def _folder(home: str | None, real: str | None) -> Path:
    """The folder for this Python and this toolkit; made once.

    Raises:
        ToolchainError: it can't be made.
    """
    files = _files(home, real)
    links = _links(home) if home else {}
    key = sha256(repr((sorted(files.items()), sorted(links.items()))).encode("utf-8", "surrogateescape")).hexdigest()
    root = private_folder(cache_root() / "run")
    folder = root / key[:24]
    if folder.is_dir():
        with contextlib.suppress(OSError):
            os.utime(folder)  # in use: what clears the cache up looks at dates
        return folder
    try:
        work = root / f".{key[:24]}.{os.getpid()}"
        for each in (work, work / "bin"):
            each.mkdir(mode=0o700)
        for name, text in files.items():
            (work / name).write_text(text)
            (work / name).chmod(0o700)
        for name, target in links.items():
            (work / name).symlink_to(target)
        with contextlib.suppress(FileExistsError):
            _rename(work, folder)
    except OSError as error:
        raise unwritable(root, error) from error
    return folder


def _rename(work: Path, folder: Path) -> None:
    try:
        os.rename(work, folder)
    except OSError:
        shutil.rmtree(work, ignore_errors=True)
        if not folder.is_dir():  # else somebody else was first
            raise


def _files(home: str | None, real: str | None) -> Mapping[str, str]:
    python = shlex.quote(sys.executable)
    files: dict[str, str] = {}
    found = shutil.which("python")
    if not found or os.path.dirname(found) != os.path.dirname(sys.executable):
        files |= {f"bin/{name}": f'#!/bin/sh\nexec {python} "$@"\n' for name in ("python", "python3")}
    if real:
        program = f'{python} -I {shlex.quote(nvcc.__file__)} "$@"'
        places = dict.fromkeys([_USUAL, real, *([os.path.join(home, "bin", "nvcc")] if home else [])])
        functions = "".join(f"function {place} {{ {program}; }}\n" for place in places if shlex.quote(place) == place)
        files["bin/nvcc"] = f"#!/bin/sh\nexec {program}\n"
        files["bash_env"] = f'{functions}[ -z "$OPWRIGHT_BASH_ENV" ] || . "$OPWRIGHT_BASH_ENV"\n'
    return files


def _links(home: str) -> Mapping[str, str]:
    """Everything in the toolkit but nvcc, each where it is there."""
    top = {name: os.path.join(home, name) for name in os.listdir(home) if name != "bin"}
    tools = os.path.join(home, "bin")
    return top | {
        f"bin/{name}": os.path.join(tools, name)
        for name in (os.listdir(tools) if os.path.isdir(tools) else [])
        if name not in ("nvcc", "python", "python3")
    }
