"""The checks of an audit: a wheel's libraries, operators and GPU code against its tags and against a machine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from opwright._version import OLDEST_PYTORCH, is_too_old
from opwright.codegen.ahead_of_time import DESCRIPTION, FORMAT
from opwright.doctor.findings import Finding, State
from opwright.packaging.audit.wheel import Wheel
from opwright.packaging.manylinux import demand, manylinux, uncommon_libraries, without_pytorch
from opwright.signature.names import forward_of
from opwright.toolchain.binary.elf import LibraryRequirements
from opwright.toolchain.binary.prebuilt import FACTS as RUNTIME
from opwright.toolchain.compilers.cpu import DEFAULT

_TORCH = re.compile(r"lib(torch|c10|caffe2)\w*\.so.*")
_TORCH_SYMBOL = re.compile(r"_ZNK?(2at|3c10|5torch)\d|aoti_torch_")
_PYTHON = re.compile(r"libpython.*")
_PYTHON_SYMBOL = re.compile(r"_?Py[A-Z_]\w*")
_CUDA = re.compile(r"lib(cudart|cublas\w*|cudnn\w*|nvrtc\w*|cufft|curand|cusolver|cusparse)\.so.*")
_DRIVER = re.compile(r"libcuda\.so.*")
_MANYLINUX = re.compile(r"manylinux_2_(\d+)_(\w+)")
_OLD_NAMES = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}


def platform(wheel: Wheel) -> Iterator[Finding]:
    """Compare the platform in the wheel's tags with the requirements of its libraries."""
    every = wheel.libraries
    if not every:
        text = "none can be read" if wheel.broken else "there are none: nothing depends on the platform"
        yield Finding("libraries", "note", text)
        return
    for library, needs in every.items():
        yield from _machine_findings(wheel, library, needs)
    possible = manylinux(map(without_pytorch, every.values()))
    glibc, symbol, library = max((*demand(needs), library) for library, needs in every.items())
    what = f"glibc >= 2.{glibc} ({symbol} in {library})" if symbol else "no certain version of glibc"
    promised = [promise for tag in wheel.tags if (promise := _promised(tag.platform)) is not None]
    if promised and min(promised) < glibc:
        fix = f"auditwheel repair, or build in a manylinux container; it could be {possible or 'linux'}"
        yield Finding("glibc", "wrong", f"the tag promises 2.{min(promised)}, but it needs {what}", fix)
    else:
        yield Finding("glibc", "ok", f"needs {what}")
    if any(tag.platform.startswith("linux_") for tag in wheel.tags):
        fix = "auditwheel repair" + (f", which would make it {possible}" if possible else "")
        yield Finding("platform tag", "note", "linux_*: pip installs it on any Linux, PyPI doesn't take it", fix)


def _promised(platform: str) -> int | None:
    """Return the minor version of the oldest glibc that a platform tag promises to support, if any."""
    if match := _MANYLINUX.fullmatch(platform):
        return int(match[1])
    return next((minor for name, minor in _OLD_NAMES.items() if platform.startswith(f"{name}_")), None)


def _machine_findings(wheel: Wheel, library: str, needs: LibraryRequirements) -> Iterator[Finding]:
    platforms = [tag.platform for tag in wheel.tags]
    if not any(platform.endswith(needs.machine) for platform in platforms):
        text = f"it is for {needs.machine}, and the wheel for {', '.join(sorted(set(platforms)))}"
        yield Finding(library, "wrong", text, "build the wheel on that machine, or tag it as what it is")


def contents(wheel: Wheel) -> Iterator[Finding]:
    """Check whether each library's other requirements are available on the machines that the tags name."""
    for library, text in wheel.broken.items():
        yield Finding(library, "wrong", text, "build the wheel again")
    carried = {name.rpartition("/")[2] for name in (*wheel.libraries, *wheel.broken)}
    for library, needs in wheel.libraries.items():
        # A prebuilt runtime is for one PyTorch version, which is checked before it is loaded.
        is_runtime = f"{library.rpartition('/')[0]}/{RUNTIME}" in wheel.names
        problems = [*_problems(wheel, needs, carried, any_python=not is_runtime)]
        for state, text, fix in problems:
            yield Finding(library, state, text, fix)
        if not any(state == "wrong" for state, _, _ in problems):
            yield Finding(library, "ok", f"{needs.machine}; loads {', '.join(needs.libraries) or 'nothing else'}")


def _problems(
    wheel: Wheel, needs: LibraryRequirements, carried: set[str], *, any_python: bool
) -> Iterator[tuple[State, str, str]]:
    every_python = any_python and any(tag.interpreter.startswith("py3") and tag.abi == "none" for tag in wheel.tags)
    serious: State = "wrong" if every_python else "note"
    libraries = [name for name in uncommon_libraries(needs) if name not in carried]
    if torch := [name for name in libraries if _TORCH.fullmatch(name)] or _some(needs, _TORCH_SYMBOL):
        fix = "keep PyTorch out of kernels: opwright.h instead of torch/extension.h" if every_python else ""
        yield serious, f"it serves only the PyTorch that it was built with: {_listed(torch)}", fix
    if python := [name for name in libraries if _PYTHON.fullmatch(name)] or _some(needs, _PYTHON_SYMBOL):
        fix = "tag it for that Python, or keep Python out of it" if every_python else ""
        yield serious, f"it serves only the Python that its tags name: {_listed(python)}", fix
    for name in libraries:
        if _CUDA.fullmatch(name):
            yield "wrong", f"it needs {name}: a CUDA toolkit of that version", "link libcudart_static.a instead"
        elif _DRIVER.fullmatch(name):
            yield "wrong", f"it needs {name}: it can't be loaded where there is no GPU", "open it when it is needed"
        elif not (_TORCH.fullmatch(name) or _PYTHON.fullmatch(name)):
            yield "wrong", f"it needs {name}, which not every Linux has", "auditwheel repair puts it into the wheel"
    for path in needs.paths:
        if not path.startswith("$ORIGIN"):
            yield "wrong", f"it searches libraries in {path}, a folder of the building machine", "auditwheel repair"
    for flaw in needs.flaws:
        yield (
            "wrong",
            f"{flaw}, which hardened systems refuse",
            "compile with -fPIC, and without nested functions",
        )


def _some(needs: LibraryRequirements, pattern: re.Pattern[str]) -> list[str]:
    return sorted(name for name in needs.undefined if pattern.match(name))


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"it needs {', '.join(names[:most])}{more}"


def packages(wheel: Wheel) -> Iterator[Finding]:
    """Check each package of operators."""
    if not wheel.packages:
        yield Finding("packages", "note", f"there are none: no {DESCRIPTION} of Opwright's")
    for folder, facts in wheel.packages.items():
        if isinstance(facts, str):
            yield Finding(folder, "wrong", f"{DESCRIPTION} can't be read: {facts}", "build the wheel again")
        elif facts["format"] > FORMAT:  # unchecked isn't passed
            text = f"a newer Opwright built it (format {facts['format']}): this one can't judge it"
            yield Finding(folder, "wrong", text, "pip install --upgrade opwright")
        else:
            yield from _package(wheel, folder, facts)
    if any(isinstance(facts, Mapping) for facts in wheel.packages.values()):
        yield from _requires(wheel)


def _package(wheel: Wheel, folder: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    if "project" in facts:
        text = f"it compiles the sources in {facts['project']} when it is used: an editable installation's"
        yield Finding(folder, "wrong", text, "pip wheel . builds one that can be shipped")
        return
    libraries: Mapping[str, Mapping[str, str]] = facts.get("libraries", {})
    files = [name for files_by_variant in libraries.values() for name in files_by_variant.values()]
    for name in files:
        if f"{folder}/{name}" not in wheel.names:
            yield Finding(folder, "wrong", f"{name} isn't in the wheel", "build the wheel again")
    for part, files_by_variant in libraries.items():
        if DEFAULT not in files_by_variant:
            text = f"{part} has no build for every processor, only {', '.join(files_by_variant)}"
            yield Finding(folder, "wrong", text, "build the wheel again")
    kernels: Mapping[str, Mapping[str, str]] = facts.get("kernels", {})
    listed = ", ".join(
        f"{name} ({'+'.join(devices)})" for name, devices in kernels.items() if _is_public(name, kernels)
    )
    types = facts.get("dtypes")
    variants = sorted({variant for files_by_variant in libraries.values() for variant in files_by_variant})
    yield Finding(
        folder,
        "ok",
        f"{listed}; {'all element types' if types is None else ', '.join(types)}; for {', '.join(variants)} processors",
    )
    if "runtimes" in facts:
        yield _runtimes(wheel, posixpath.normpath(f"{folder}/{facts['runtimes']}"))


def _runtimes(wheel: Wheel, folder: str) -> Finding:
    """List the versions of PyTorch for which a wheel carries a runtime."""
    pattern = re.compile(rf"{re.escape(folder)}/torch(\d+\.\d+)-.*\.so")
    minors = [match[1] for name in sorted(wheel.names) if (match := pattern.fullmatch(name))]
    if not minors:
        return Finding("runtimes", "wrong", f"{folder} isn't in the wheel", "build the wheel again")
    return Finding("runtimes", "ok", f"carries those for PyTorch {', '.join(minors)}: no compiler is needed with these")


def _is_public(name: str, kernels: Container[str]) -> bool:
    return not name.startswith("_") and forward_of(name) not in kernels


def _requires(wheel: Wheel) -> Iterator[Finding]:
    """Check whether pip installs Opwright and PyTorch, which the packages import."""
    names = {requirement.name.lower().replace("_", "-"): requirement for requirement in wheel.requirements}
    if "opwright" not in names:
        fix = '[project] dependencies = ["opwright[torch]"]'
        yield Finding("requirements", "wrong", "it doesn't require opwright, which imports its operators", fix)
    elif "torch" not in names and "torch" not in names["opwright"].extras:
        fix = '"opwright[torch]", if pip is to install it'
        yield Finding("requirements", "note", "it requires opwright; PyTorch has to be there without it", fix)
    else:
        listed = ", ".join(str(requirement) for requirement in wheel.requirements)
        yield Finding("requirements", "ok", listed)


OLDEST_PYTHON = (3, 10)
"""Opwright's own requirement (pyproject.toml)."""


@dataclass(frozen=True)
class Target:
    """A machine to check against; attributes that are None aren't checked. All but `machine` are like ``(3, 12)``."""

    python: tuple[int, int] | None = None
    torch: tuple[int, int] | None = None
    glibc: tuple[int, int] | None = None
    gpu: tuple[int, int] | None = None
    machine: str | None = None


def gpus(wheel: Wheel) -> Iterator[Finding]:
    """List the GPU code, and the GPUs that it doesn't support."""
    if not wheel.gpus:
        yield Finding("code", "note", "there is none")
        return
    ptx = [name for name in wheel.gpus if name.startswith("compute")]
    if ptx:
        yield Finding("code", "ok", f"{', '.join(wheel.gpus)}: newer ones translate the PTX")
    else:
        text = f"{', '.join(wheel.gpus)}, and no PTX: newer generations can't run it"
        yield Finding("code", "note", text, 'cuda-architectures = [..., "12.0+PTX"]')


def target_findings(wheel: Wheel, target: Target) -> Iterator[Finding]:
    """Check whether the wheel can be loaded on the target."""
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
    required = wheel.metadata.get("Requires-Python", "")
    try:
        allowed = SpecifierSet(required).contains(f"{version[0]}.{version[1]}.99")
    except InvalidSpecifier:
        allowed = True
    if not allowed:
        return f"it requires Python {required}"
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
    if wheel.packages and is_too_old(_shown(version)):
        return f"Opwright needs PyTorch {OLDEST_PYTORCH} or newer"
    return ""


def _glibc(wheel: Wheel, version: tuple[int, int]) -> str:
    newest = max((demand(needs) for needs in wheel.libraries.values()), default=None)
    return f"it needs {newest.symbol}" if newest and (2, newest.glibc) > version else ""


def _gpu(wheel: Wheel, version: tuple[int, int]) -> str:
    """Return why no code runs on a GPU, or "".

    Machine code runs on GPUs of its generation with the same or a newer minor version, PTX on all newer GPUs, and
    code with the suffix ``a`` or ``f`` only on its own architecture.
    """
    if not wheel.gpus:
        return "there is no code for GPUs in it"
    for name in wheel.gpus:
        number = int(re.sub(r"\D", "", name))
        code = divmod(number, 10)
        exact = name[-1] in "af"
        if code == version or (not exact and code < version and (name.startswith("compute") or code[0] == version[0])):
            return ""
    return f"its code is for {', '.join(wheel.gpus)}"
