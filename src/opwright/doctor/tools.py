"""What else builds look for: ninja, Opwright's own runtime, Python packages, the machine itself."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from opwright.doctor.asking import ask
from opwright.doctor.model import Finding, note, ok, wrong
from opwright.doctor.pytorch_facts import TorchFacts
from opwright.errors import ToolchainError
from opwright.toolchain.process import jobs

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_OLDEST_PYTHON = (3, 10)
_MACHINES = ("x86_64", "aarch64", "arm64")


def system() -> Iterator[Finding]:
    """Python, the machine, and how many compilers it can bear."""
    version = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:  # pragma: no cover - it can't have been installed
        yield wrong("Python", f"{version} is too old, expected 3.10 or newer", "install a newer Python")
    else:
        yield ok("Python", f"{version} at {sys.executable}")
    machine, kind = platform.machine(), platform.system()
    if machine in _MACHINES and kind in {"Linux", "Darwin"}:
        yield ok("machine", f"{kind} on {machine}")
    else:
        yield note("machine", f"{kind} on {machine}: not tried by anybody", "Linux on x86-64 or aarch64 is supported")
    try:
        yield ok("builds at once", f"{jobs()}, by {'MAX_JOBS' if os.environ.get('MAX_JOBS') else 'cores and memory'}")
    except ToolchainError:  # said of the variable
        return


def ninja() -> Iterator[Finding]:
    """Opwright schedules its compilers itself."""
    path = shutil.which("ninja")
    if path is None:
        yield note(
            "ninja",
            "not there, and not needed: Opwright runs compilers itself (torch.utils.cpp_extension's own load wants it)",
            "pip install ninja, if you use that",
        )
        return
    answer = ask([path, "--version"])
    if answer.status == 0:
        yield ok("ninja", f"{answer.text.strip()} at {path} (not needed)")
    else:
        yield note(
            "ninja",
            f"{path} doesn't work: {answer.why}; Opwright doesn't need it",
            "pip install --force-reinstall ninja",
        )


def runtime(torch: TorchFacts) -> Iterator[Finding]:
    """Opwright's own runtime for this PyTorch: built, and loadable?"""
    asked = os.environ.get("OPWRIGHT_RUNTIME")
    if torch.missing or torch.problem:
        yield note("runtime", "not looked for: it belongs to PyTorch, which can't be had")
    elif asked == "python":
        yield ok("runtime", "the one in Python is asked for (OPWRIGHT_RUNTIME): slower at each call, nothing to build")
    elif torch.runtime_problem:
        text, _, fix = torch.runtime_problem.partition("\n  likely fix: ")
        otherwise = "; the one in Python is used" if asked != "native" else ""
        yield wrong("runtime", f"the native one can't be had{otherwise}: {text}", fix or "opwright cache clean")
    elif torch.runtime:
        yield ok("runtime", f"native, for PyTorch {torch.version}: {torch.runtime}")
    else:
        yield note(
            "runtime", f"the native one isn't built yet for PyTorch {torch.version}", "the first load builds it (once)"
        )


def packages() -> Iterator[Finding]:
    """What Opwright's metadata asks for, against what is installed."""
    try:
        asked = metadata.requires("opwright") or []
    except metadata.PackageNotFoundError:
        without = "it isn't installed, but found on sys.path: what it needs is not known"
        yield note("opwright", without, "pip install -e .")
        return
    from packaging.requirements import Requirement

    yield ok("opwright", f"{metadata.version('opwright')} in {os.path.dirname(os.path.dirname(__file__))}")
    extras = metadata.metadata("opwright").get_all("Provides-Extra") or []
    for requirement in map(Requirement, asked):
        of = [extra for extra in extras if _is_asked_for(requirement, extra)]
        if _is_asked_for(requirement, ""):
            yield _package(requirement, "")
        elif of and requirement.name != "opwright" and of != ["dev"]:
            yield _package(requirement, of[0])


def _is_asked_for(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _package(requirement: Requirement, extra: str) -> Finding:
    name, specifier = requirement.name, requirement.specifier
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        if extra:
            return note(name, f"not installed: it belongs to opwright[{extra}]", f"pip install opwright[{extra}]")
        return wrong(name, f"not installed, expected {name}{specifier}", f'pip install "{name}{specifier}"')
    if not specifier.contains(version, prereleases=True):
        return wrong(name, f"{version} is installed, expected {name}{specifier}", f'pip install "{name}{specifier}"')
    return ok(name, version + (f" (opwright[{extra}])" if extra else ""))
