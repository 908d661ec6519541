"""Tested PyTorch versions: a warning for newer ones, and a cache of failed builds of the native runtime.

The native runtime is compiled with PyTorch's headers. If the compiler reports errors, another attempt takes half a
minute and fails in the same way, so the failure is cached, keyed by compiler, PyTorch and Opwright's sources. Failures
for other reasons (a full disk, no memory, a killed compiler, a missing file) aren't cached.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
from hashlib import sha256
from pathlib import Path

import torch

from opwright._version import TESTED_PYTORCH, minor
from opwright.errors import CompileError
from opwright.log import notice
from opwright.toolchain import Options, Unit
from opwright.toolchain.build.plan import make_plan
from opwright.toolchain.cache.folder import cache_root, write_atomically
from opwright.toolchain.cache.manifest import Reader

_KEPT = 8
"""The number of failures to keep for one minor version of PyTorch."""
_DIAGNOSTIC = re.compile(r".+?:\d+(?::\d+)?: error: ")
_TRANSIENT = re.compile(
    r"no space left|quota|\bkilled\b|signal|out of memory|memory exhausted|allocate memory|input/output error|"
    r"read-only file system|too many open files|no such file",
    re.IGNORECASE,
)


def warn_if_untested() -> None:
    """Warn if this PyTorch is newer than every version that Opwright was tested with."""
    if minor(torch.__version__) > minor(TESTED_PYTORCH[-1]):
        notice(
            f"PyTorch {torch.__version__} is newer than those that this Opwright was tested with ({_tested()})",
            logging.WARNING,
        )


def refusal(reason: str) -> CompileError:
    """Return the error for a native runtime that doesn't compile with this PyTorch.

    Args:
        reason: the compiler's message.
    """
    known = any(minor(version) == minor(torch.__version__) for version in TESTED_PYTORCH)
    what = "this compiler" if known else f"PyTorch {torch.__version__}"
    fix = "another compiler (CXX=...)" if known else f'pip install "torch=={TESTED_PYTORCH[-1]}.*"'
    message, _, rest = reason.partition("\n")
    return CompileError(
        f"this Opwright doesn't know {what}: its native runtime doesn't compile with it ({message}); it was tested "
        f"with PyTorch {_tested()}\n"
        f"  likely fix: {fix}, or a newer Opwright; OPWRIGHT_RUNTIME=python goes on without the native runtime\n"
        "  tried again: with another compiler, PyTorch or Opwright, or after `opwright cache clean`\n"
        f"{rest}"
    )


def is_refusal(error: CompileError) -> bool:
    """Return whether the compiler reported errors in the code, so that another attempt would fail in the same way."""
    text = str(error)
    return _DIAGNOSTIC.match(text) is not None and not _TRANSIENT.search(text.partition("\nfull log: ")[0])


def remembered(unit: Unit, options: Options, sources: Path) -> str | None:
    """Return the compiler's message if the same build failed before."""
    file = _file(unit)
    if not file.exists():
        return None
    return _read(file).get(_key(unit, options, sources))


def remember(unit: Unit, options: Options, sources: Path, error: CompileError) -> None:
    """Store the compiler's message in the cache, if the cache is writable."""
    file = _file(unit)
    known = {**_read(file), _key(unit, options, sources): str(error)}
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(file, json.dumps(dict(list(known.items())[-_KEPT:])))


def _key(unit: Unit, options: Options, sources: Path) -> str:
    """Return a hash of the compiler and its flags, PyTorch's build, and Opwright's sources."""
    plan = make_plan(unit, options, Reader())
    installed = os.stat(Path(torch.__file__).with_name("version.py")).st_mtime_ns
    texts = [path.read_bytes() for path in sorted(sources.iterdir()) if path.is_file()]
    return sha256(repr((plan.key, installed, texts)).encode()).hexdigest()


def _file(unit: Unit) -> Path:
    return cache_root() / "refused" / f"{unit.name}.json"


def _read(file: Path) -> dict[str, str]:
    try:
        known: object = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _tested() -> str:
    return " to ".join(dict.fromkeys((TESTED_PYTORCH[0], TESTED_PYTORCH[-1])))
