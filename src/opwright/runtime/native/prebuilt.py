"""Native runtimes that wheels can contain, prebuilt for certain minor versions of PyTorch.

They serve machines without a compiler, and save other machines the first build. Opwright's own wheel has them in
``prebuilt/`` (tools/build_wheels.py), a package of operators beside its operators (opwright.packaging.runtimes). Each
folder there holds a library and the facts of the environment that it was built for; it is loaded only if all of them
match. Among them is a hash of the runtime's sources: another version of Opwright with the same runtime can load it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from opwright._version import format_minor
from opwright.errors import ToolchainError
from opwright.toolchain.binary.prebuilt import FACTS, LIBRARY, folder_name, platform_name
from opwright.toolchain.cache.folder import copy_atomically, write_atomically
from opwright.toolchain.compilers.flags import header_dir, sanitizers

CSRC = Path(__file__).parent / "csrc"
_FOLDERS = [Path(__file__).parent / "prebuilt"]
# The declaration that csrc/errors.h repeats, so that no Python header is needed.
_PYTORCH_ERROR = (
    "struct PyTorchError : public std::exception { PyTorchError() = default; "
    "PyTorchError(std::string msg_) : msg(std::move(msg_)) {} virtual PyObject* python_type() = 0; "
    "const char* what() const noexcept override { return msg.c_str(); } std::string msg; };"
)


def here() -> dict[str, Any]:
    """Return the facts that a prebuilt runtime must match: its sources, PyTorch's minor and ABI, the platform."""
    return {
        "sources": _sources(),
        "torch": format_minor(torch.__version__),
        "cxx11_abi": int(torch.compiled_with_cxx11_abi()),
        "python_errors": int(python_errors_fit()),
        "platform": platform_name(),
    }


def _sources() -> str:
    """Return a hash of all that the runtime is compiled from, apart from PyTorch."""
    paths = [*sorted(path for path in CSRC.rglob("*") if path.is_file()), header_dir() / "opwright" / "abi.h"]
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def offer(folder: Path) -> None:
    """Let `find` look into a folder, too; it makes no difference once the runtime has been chosen."""
    if folder not in _FOLDERS:
        _FOLDERS.append(folder)


def find(*folders: Path) -> Path | None:
    """Return an undamaged runtime that was built for this environment; None if there is none.

    Args:
        folders: where to look; by default in Opwright's own wheel, and in what was offered.
    """
    present = [folder for folder in folders or _FOLDERS if folder.is_dir()]
    if not present or sanitizers():  # a checkout, or a wheel without; with sanitizers, the runtime is built
        return None
    wanted = here()
    found = (_intact(folder / folder_name(wanted["torch"]), wanted) for folder in present)
    return next(filter(None, found), None)


def _intact(candidate: Path, wanted: dict[str, Any]) -> Path | None:
    """Return the runtime in the folder `candidate` if it is whole, and for what is `wanted`."""
    try:
        facts = json.loads((candidate / FACTS).read_bytes())
        library = candidate / LIBRARY
        whole = facts.pop("sha256") == sha256(library.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return library if whole and facts == wanted else None


def add(folder: Path, runtime: Path) -> Path:
    """Copy a `runtime` that was built for this process's PyTorch into `folder`; return the copy's path.

    Raises:
        ToolchainError: the files can't be written.
    """
    facts = here()
    target = folder / folder_name(facts["torch"])
    try:
        target.mkdir(parents=True, exist_ok=True)
        copy_atomically(runtime, target / LIBRARY)  # another process may have loaded an older one
        facts["sha256"] = sha256((target / LIBRARY).read_bytes()).hexdigest()
        write_atomically(target / FACTS, json.dumps(facts, indent=1) + "\n")
    except OSError as error:
        raise ToolchainError(f"{target}: can't be written: {error.strerror or error}") from error
    return target


def python_errors_fit() -> bool:
    """Return whether this PyTorch declares its exception base class as csrc/errors.h does."""
    header = Path(torch.__file__).parent / "include/torch/csrc/Exceptions.h"
    return _PYTORCH_ERROR in re.sub(r"\s+", " ", header.read_text())
