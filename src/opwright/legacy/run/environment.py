"""The folder of programs that ``opwright run`` puts first on its children's PATH.

It has the layout of a CUDA toolkit, since many scripts derive the toolkit's path from ``nvcc``'s. All files except
``nvcc`` are links to the real toolkit. For bash scripts that call nvcc by its path, a shell function replaces it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from opwright.aten.pytorch import EMULATION_HEADERS, EMULATION_VARIABLE, emulation
from opwright.cuda.programs import nvidia_smi
from opwright.legacy.run import nvcc_wrapper
from opwright.legacy.th_library import header_dirs
from opwright.toolchain.cache.folder import cache_root, private_folder, unwritable
from opwright.toolchain.compilers.nvcc import cuda_home

_SITE = Path(__file__).parent / "site"
_USUAL = "/usr/local/cuda/bin/nvcc"


def environment(emulated: Literal["", "run", "check"] = "") -> dict[str, str]:
    """Return the environment variables that `opwright run` sets.

    They enable legacy support in every Python subprocess, put our nvcc wrapper first on the PATH, and make ``python``
    this interpreter. Compilers that build scripts call themselves find TH's and THC's headers; not under emulation.

    Args:
        emulated: how CUDA is emulated; "" for not at all.
    """
    begun = nvcc_wrapper.REAL in os.environ or ("OPWRIGHT_LEGACY" in os.environ and emulation())
    if begun and not emulated:  # started by `opwright run` already: all is set, emulation too
        return {}
    added = {"OPWRIGHT_LEGACY": "1", "PYTHONPATH": _before("PYTHONPATH", str(_SITE))}
    if emulated:
        folder = _folder(None, None, emulated=True)
        added |= {EMULATION_VARIABLE: emulated, "CUDA_HOME": str(folder), "PATH": _before("PATH", str(folder / "bin"))}
        return added | _for_builds()
    home = cuda_home()
    home = home if home and os.path.isdir(home) else None
    real_nvcc = shutil.which("nvcc") or (shutil.which("nvcc", path=os.path.join(home, "bin")) if home else None)
    folder = _folder(home, real_nvcc)
    added["PATH"] = _before("PATH", str(folder / "bin"))
    added |= _for_builds()
    added |= {name: _behind(name, *map(str, header_dirs())) for name in ("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")}
    if real_nvcc:
        added |= {nvcc_wrapper.REAL: real_nvcc, "BASH_ENV": str(folder / "bash_env")}
        added |= {name: str(folder) for name in ("CUDA_HOME", "CUDA_PATH") if home and name in os.environ}
        added |= {"OPWRIGHT_BASH_ENV": os.environ["BASH_ENV"]} if "BASH_ENV" in os.environ else {}
    return added


def _for_builds() -> dict[str, str]:
    """Return what turns build isolation off: the build scripts of these projects import torch."""
    return {"PIP_NO_BUILD_ISOLATION": "0"} if "PIP_NO_BUILD_ISOLATION" not in os.environ else {}  # 0: it is off


def _before(variable: str, first: str) -> str:
    others = os.environ.get(variable, "").split(os.pathsep)
    return os.pathsep.join([first, *(path for path in others if path and path != first)])


def _behind(variable: str, *last: str) -> str:
    return os.pathsep.join([*([os.environ[variable]] if variable in os.environ else []), *last])


def _folder(home: str | None, real: str | None, *, emulated: bool = False) -> Path:
    """Return the folder for this Python and this toolkit, or for emulation; created at first use.

    Raises:
        ToolchainError: the folder can't be created.
    """
    files = _files(home, real, emulated=emulated)
    links = _merged(EMULATION_HEADERS[:2], "include") if emulated else _links(home) if home else {}
    key = sha256(repr((sorted(files.items()), sorted(links.items()))).encode("utf-8", "surrogateescape")).hexdigest()
    root = private_folder(cache_root() / "run")
    folder = root / key[:24]
    if folder.is_dir():
        with contextlib.suppress(OSError):
            os.utime(folder)  # marks it as used: cache cleanup looks at the date
        return folder
    try:
        work = root / f".{key[:24]}.{os.getpid()}"
        for directory in (work, work / "bin"):
            directory.mkdir(mode=0o700)
        for name, text in files.items():
            (work / name).write_text(text)
            (work / name).chmod(0o700)
        for name, target in links.items():
            (work / name).parent.mkdir(mode=0o700, exist_ok=True, parents=True)
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
        if not folder.is_dir():  # else another process was first
            raise


def _files(home: str | None, real: str | None, *, emulated: bool) -> Mapping[str, str]:
    python = shlex.quote(sys.executable)
    files: dict[str, str] = {}
    python_on_path = shutil.which("python")
    if not python_on_path or os.path.dirname(python_on_path) != os.path.dirname(sys.executable):
        files |= {f"bin/{name}": f'#!/bin/sh\nexec {python} "$@"\n' for name in ("python", "python3")}
    if emulated:
        files["bin/nvcc"] = f'#!/bin/sh\nexec {python} -m opwright nvcc "$@"\n'
        files["bin/nvidia-smi"] = f'#!/bin/sh\nexec {python} -m {nvidia_smi.__name__} "$@"\n'
    if real:
        program = f'{python} -I {shlex.quote(nvcc_wrapper.__file__)} "$@"'
        places = dict.fromkeys([_USUAL, real, *([os.path.join(home, "bin", "nvcc")] if home else [])])
        functions = "".join(f"function {place} {{ {program}; }}\n" for place in places if shlex.quote(place) == place)
        files["bin/nvcc"] = f"#!/bin/sh\nexec {program}\n"
        files["bash_env"] = f'{functions}[ -z "$OPWRIGHT_BASH_ENV" ] || . "$OPWRIGHT_BASH_ENV"\n'
    return files


def _merged(folders: Sequence[str], name: str) -> dict[str, str]:
    """Return links to the files of all `folders`, by path below `name`; where they have the same one, the first's."""
    links: dict[str, str] = {}
    for entry in sorted({entry for folder in folders for entry in os.listdir(folder)}):
        found = [path for folder in folders if os.path.exists(path := os.path.join(folder, entry))]
        several = len(found) > 1 and os.path.isdir(found[0])
        links |= _merged(found, f"{name}/{entry}") if several else {f"{name}/{entry}": found[0]}
    return links


def _links(home: str) -> Mapping[str, str]:
    """Return links to all files of the toolkit except nvcc and Python, by path in the folder."""
    top = {name: os.path.join(home, name) for name in os.listdir(home) if name != "bin"}
    tools = os.path.join(home, "bin")
    return top | {
        f"bin/{name}": os.path.join(tools, name)
        for name in (os.listdir(tools) if os.path.isdir(tools) else [])
        if name not in ("nvcc", "python", "python3")
    }
