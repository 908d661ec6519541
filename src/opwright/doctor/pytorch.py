"""The PyTorch that operators are made for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from opwright.aten.installed import OLDEST
from opwright.doctor.model import Finding, note, ok, wrong
from opwright.doctor.pytorch_facts import TorchFacts

_INSTALL = "pip install opwright[torch], or choose a build on pytorch.org"
_AGAIN = "pip install --force-reinstall torch"


def examine(torch: TorchFacts) -> Iterator[Finding]:
    """Is it there, in the supported range, whole, and what was it built with?"""
    if torch.missing:
        yield wrong("version", "PyTorch is not installed for this Python: operators can be built, not loaded", _INSTALL)
        return
    if torch.problem:
        yield wrong(
            "import", f"PyTorch can't be imported: {torch.problem}", f"{_AGAIN}, then: python -c 'import torch'"
        )
        return
    yield _version(torch)
    yield _kind(torch)
    yield from _files(os.path.dirname(torch.file))
    yield _abi(torch)
    if torch.compiler:
        yield ok("built with", torch.compiler)


def _version(torch: TorchFacts) -> Finding:
    found = f"{torch.version} in {os.path.dirname(torch.file)}"
    numbers = tuple(int(part) for part in re.findall(r"\d+", torch.version)[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        return wrong(
            "version", f"PyTorch {found} is too old, expected {oldest} or newer", f'pip install "torch>={oldest}"'
        )
    return ok("version", found)


def _kind(torch: TorchFacts) -> Finding:
    if torch.hip:
        return note("build", f"for ROCm {torch.hip}: Opwright runs its operators on the CPU")
    if torch.cuda:
        return ok("build", f"for CUDA {torch.cuda} ({', '.join(torch.architectures) or 'no architectures'})")
    return ok("build", "for the CPU")


def _files(folder: str) -> Iterator[Finding]:
    missing = [
        name
        for name, path in (
            ("headers", os.path.join("include", "torch", "extension.h")),
            ("C10 headers", os.path.join("include", "c10", "macros", "Macros.h")),
            ("libraries", "lib"),
        )
        if not os.path.exists(os.path.join(folder, path))
    ]
    if missing:
        yield wrong(
            "files",
            f"PyTorch's {' and '.join(missing)} are missing below {folder}: nothing can be compiled against it",
            f"{_AGAIN} (some distributions' packages have them in another one, for developers)",
        )
    else:
        yield ok("files", f"{os.path.join(folder, 'include')} and {os.path.join(folder, 'lib')}")


def _abi(torch: TorchFacts) -> Finding:
    if torch.cxx11_abi:
        return ok("C++ ABI", "_GLIBCXX_USE_CXX11_ABI=1, as compilers have it by default")
    return note(
        "C++ ABI",
        "_GLIBCXX_USE_CXX11_ABI=0: extensions and all C++ libraries that they link must be compiled so, too",
        "add -D_GLIBCXX_USE_CXX11_ABI=0 to what you build by hand (Opwright does so by itself)",
    )
