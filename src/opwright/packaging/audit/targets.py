"""Would a wheel load there? A machine is described by what decides it: Python, PyTorch, glibc, a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from opwright.doctor.model import Finding, State
from opwright.packaging.audit.wheel import Wheel
from opwright.packaging.platforms import demand

OLDEST_PYTHON, OLDEST_TORCH = (3, 10), (2, 10)
"""What Opwright itself asks for (pyproject.toml)."""


@dataclass(frozen=True)
class Target:
    """A machine; what is None isn't asked about. All but `machine` are versions, as ``(3, 12)``."""

    python: tuple[int, int] | None = None
    torch: tuple[int, int] | None = None
    glibc: tuple[int, int] | None = None
    gpu: tuple[int, int] | None = None
    machine: str | None = None


def gpus(wheel: Wheel) -> Iterator[Finding]:
    """The code for GPUs, and which GPUs that leaves out."""
    if not wheel.gpus:
        yield Finding("code", "note", "there is none")
        return
    ptx = [name for name in wheel.gpus if name.startswith("compute")]
    if ptx:
        yield Finding("code", "ok", f"{', '.join(wheel.gpus)}: newer ones translate the PTX")
    else:
        text = f"{', '.join(wheel.gpus)}, and no PTX: newer generations can't run it"
        yield Finding("code", "note", text, 'cuda-architectures = [..., "12.0+PTX"]')


def there(wheel: Wheel, target: Target) -> Iterator[Finding]:
    """Whether it loads on the target."""
    if target.python:
        yield _finding("Python", target.python, _python(wheel, target.python))
    if target.torch:
        yield _finding("PyTorch", target.torch, _torch(wheel, target.torch))
    if target.glibc:
        yield _finding("glibc", target.glibc, _glibc(wheel, target.glibc))
    if target.gpu:
        yield _finding("GPU", target.gpu, _gpu(wheel, target.gpu))
    if target.machine:
        fits = any(tag.platform.endswith(target.machine) or tag.platform == "any" for tag in wheel.tags)
        problem = "" if fits else f"its tags are {wheel.shown_tags}"
        yield Finding("machine", *_verdict(target.machine, problem))


def _finding(topic: str, version: tuple[int, int], problem: str) -> Finding:
    return Finding(topic, *_verdict(_shown(version), problem))


def _shown(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _verdict(name: str, problem: str) -> tuple[State, str]:
    return ("wrong", f"not with {name}: {problem}") if problem else ("ok", f"loads with {name}")


def _python(wheel: Wheel, version: tuple[int, int]) -> str:
    asked = wheel.metadata.get("Requires-Python", "")
    try:
        allowed = SpecifierSet(asked).contains(f"{version[0]}.{version[1]}.99")
    except InvalidSpecifier:
        allowed = True
    if not allowed:
        return f"it requires Python {asked}"
    if wheel.packages and version < OLDEST_PYTHON:
        return f"Opwright needs Python {_shown(OLDEST_PYTHON)} or newer"
    short = f"{version[0]}{version[1]}"
    if any(tag.interpreter in {"py3", f"py{short}", f"cp{short}"} or tag.abi == "abi3" for tag in wheel.tags):
        return ""
    return f"its tags are {wheel.shown_tags}"


def _torch(wheel: Wheel, version: tuple[int, int]) -> str:
    for requirement in wheel.requirements:
        if requirement.name == "torch" and not requirement.specifier.contains(f"{version[0]}.{version[1]}.99"):
            return f"it requires {requirement}"
    if wheel.packages and version < OLDEST_TORCH:
        return f"Opwright needs PyTorch {_shown(OLDEST_TORCH)} or newer"
    return ""


def _glibc(wheel: Wheel, version: tuple[int, int]) -> str:
    found = max((demand(needs) for needs in wheel.libraries.values()), default=None)
    return f"it needs {found.symbol}" if found and (2, found.glibc) > version else ""


def _gpu(wheel: Wheel, version: tuple[int, int]) -> str:
    """Machine code runs on its own generation, from its minor version on; PTX on all that are as new, or newer."""
    if not wheel.gpus:
        return "there is no code for GPUs in it"
    for name in wheel.gpus:
        number = int(re.sub(r"\D", "", name))
        code = divmod(number, 10)
        exact = name[-1] in "af"
        if code == version or (not exact and code < version and (name.startswith("compute") or code[0] == version[0])):
            return ""
    return f"its code is for {', '.join(wheel.gpus)}"
