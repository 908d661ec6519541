"""The native runtime as Opwright's own wheels may carry it: built ahead for certain minor versions of PyTorch.

It is for machines without a compiler, and saves others the first build. Each folder of ``prebuilt/`` holds a library
and what it was built for; it is loaded only where all of that is so. ``python -m opwright.runtime.prebuilt FOLDER``
adds the one for the PyTorch of that Python (tools/build_wheels.py).
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from opwright._version import __version__
from opwright.codegen.parts import RUNTIME
from opwright.errors import ToolchainError
from opwright.toolchain.flags import sanitizers

FOLDER = Path(__file__).parent / "prebuilt"
_LIBRARY = "runtime.so"


def here() -> dict[str, Any]:
    """What decides whether a runtime fits: this Opwright, PyTorch's minor version and ABI, the platform."""
    from opwright.runtime.native import python_errors_fit

    return {
        "opwright": __version__,
        "torch": ".".join(torch.__version__.split(".")[:2]),
        "cxx11_abi": int(torch._C._GLIBCXX_USE_CXX11_ABI),  # noqa: SLF001 - as in native.py
        "python_errors": int(python_errors_fit()),
        "platform": f"{sys.platform}-{platform.machine()}",
    }


def find(folder: Path = FOLDER) -> Path | None:
    """The runtime in `folder` that was built for what is here, and is whole; None where there is none."""
    if not folder.is_dir() or sanitizers():  # a checkout's, or a wheel's that carries none; sanitized, ours is built
        return None
    wanted = here()
    candidate = folder / _name(wanted)
    try:
        facts = json.loads((candidate / RUNTIME).read_bytes())
        library = candidate / _LIBRARY
        whole = facts.pop("sha256") == sha256(library.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return library if whole and facts == wanted else None


def add(folder: Path) -> Path:
    """Build the runtime for the PyTorch of this process, and put it into `folder`; the folder that it is in then.

    Raises:
        ToolchainError: it can't be built, or written.
    """
    from opwright.runtime.native import build_native

    facts = here()
    built = build_native().path
    target = folder / _name(facts)
    try:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, target / _LIBRARY)
        facts["sha256"] = sha256((target / _LIBRARY).read_bytes()).hexdigest()
        (target / RUNTIME).write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ToolchainError(f"{target}: can't be written: {error.strerror or error}") from error
    return target


def _name(facts: dict[str, Any]) -> str:
    return f"torch{facts['torch']}-{facts['platform']}"


if __name__ == "__main__":
    sys.stdout.write(f"{add(Path(sys.argv[1]))}\n")
