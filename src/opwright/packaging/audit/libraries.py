"""What a wheel's libraries ask for, held against what its tags promise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.codegen.parts import RUNTIME
from opwright.doctor.model import Finding, State
from opwright.packaging.audit.wheel import Wheel
from opwright.packaging.platforms import demand, foreign, manylinux
from opwright.toolchain.needs import Needs

_TORCH = re.compile(r"lib(torch|c10|caffe2)\w*\.so.*")
_TORCH_SYMBOL = re.compile(r"_ZNK?(2at|3c10|5torch)\d|aoti_torch_")
_PYTHON = re.compile(r"libpython.*")
_PYTHON_SYMBOL = re.compile(r"_?Py[A-Z_]\w*")
_CUDA = re.compile(r"lib(cudart|cublas\w*|cudnn\w*|nvrtc\w*|cufft|curand|cusolver|cusparse)\.so.*")
_DRIVER = re.compile(r"libcuda\.so.*")
_MANYLINUX = re.compile(r"manylinux_2_(\d+)_(\w+)")
_OLD_NAMES = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}


def platform(wheel: Wheel) -> Iterator[Finding]:
    """The platform of its tags, and the one that its libraries allow."""
    every = wheel.libraries
    if not every:
        text = "none can be read" if wheel.broken else "there are none: nothing depends on the platform"
        yield Finding("libraries", "note", text)
        return
    for library, needs in every.items():
        yield from _of_machine(wheel, library, needs)
    possible = manylinux(every.values())
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
    """The minor version of the glibc that a platform tag promises to do with."""
    if match := _MANYLINUX.fullmatch(platform):
        return int(match[1])
    return next((minor for name, minor in _OLD_NAMES.items() if platform.startswith(f"{name}_")), None)


def _of_machine(wheel: Wheel, library: str, needs: Needs) -> Iterator[Finding]:
    platforms = [tag.platform for tag in wheel.tags]
    if not any(each.endswith(needs.machine) for each in platforms):
        text = f"it is for {needs.machine}, and the wheel for {', '.join(sorted(set(platforms)))}"
        yield Finding(library, "wrong", text, "build the wheel on that machine, or tag it as what it is")


def contents(wheel: Wheel) -> Iterator[Finding]:
    """What each library needs beside the C library, and whether that is there where the wheel is installed."""
    for library, text in wheel.broken.items():
        yield Finding(library, "wrong", text, "build the wheel again")
    carried = {name.rpartition("/")[2] for name in (*wheel.libraries, *wheel.broken)}
    for library, needs in wheel.libraries.items():
        # A runtime of Opwright's own wheel is for one PyTorch, and asked before it is loaded.
        is_runtime = f"{library.rpartition('/')[0]}/{RUNTIME}" in wheel.names
        problems = [*_problems(wheel, needs, carried, any_python=not is_runtime)]
        for state, text, fix in problems:
            yield Finding(library, state, text, fix)
        if not any(state == "wrong" for state, _, _ in problems):
            yield Finding(library, "ok", f"{needs.machine}; loads {', '.join(needs.libraries) or 'nothing else'}")


def _problems(wheel: Wheel, needs: Needs, carried: set[str], *, any_python: bool) -> Iterator[tuple[State, str, str]]:
    every_python = any_python and any(tag.interpreter.startswith("py3") and tag.abi == "none" for tag in wheel.tags)
    serious: State = "wrong" if every_python else "note"
    libraries = [name for name in foreign(needs) if name not in carried]
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


def _some(needs: Needs, pattern: re.Pattern[str]) -> list[str]:
    return sorted(name for name in needs.undefined if pattern.match(name))


def _listed(names: list[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"it needs {', '.join(names[:most])}{more}"
