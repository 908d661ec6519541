"""The CUDA toolkit. Nothing on the CPU needs it: wrong is only what is set wrongly, or what PyTorch's build wants."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from opwright.doctor.cuda_facts import Toolkit, wheels
from opwright.doctor.model import Finding, State, note, ok, wrong
from opwright.doctor.pytorch_facts import TorchFacts
from opwright.errors import ToolchainError
from opwright.toolchain.compiler import find_compiler

_VARIABLES = ("CUDA_HOME", "CUDA_PATH")


def examine(toolkit: Toolkit | None, torch: TorchFacts) -> Iterator[Finding]:
    """Where is it, is it whole, and does it fit PyTorch and the compiler?"""
    if toolkit is None:
        yield note("toolkit", "none: CUDA sources can't be compiled here; nothing on the CPU needs it", _install(torch))
    else:
        yield from _examine(toolkit, torch)
    for path in wheels():
        yield note(
            "pip wheel", f"nvcc at {path}", f"export CUDA_HOME={os.path.dirname(os.path.dirname(path))} to use it"
        )


def _install(torch: TorchFacts) -> str:
    version = torch.cuda or "13"
    return f"for CUDA, install the toolkit {version} (developer.nvidia.com/cuda-downloads) and set CUDA_HOME"


def _examine(toolkit: Toolkit, torch: TorchFacts) -> Iterator[Finding]:
    is_asked = any(os.environ.get(name) for name in _VARIABLES)
    state: State = "wrong" if torch.cuda or is_asked else "note"
    yield from _variables()
    if toolkit.problem:
        yield Finding("toolkit", state, f"{toolkit.origin}: {toolkit.problem}", _mend(toolkit, is_asked=is_asked))
        return
    yield ok("toolkit", f"CUDA {toolkit.version} in {toolkit.home} ({toolkit.origin})")
    yield _against_torch(toolkit, torch)
    yield from _host_compiler(toolkit, "wrong" if torch.cuda else "note")


def _mend(toolkit: Toolkit, *, is_asked: bool) -> str:
    if toolkit.real_home:
        return f"export CUDA_HOME={toolkit.real_home}"
    if is_asked:
        return f"unset {toolkit.origin.partition('=')[0]}, or set it to the folder that has bin/nvcc and include"
    return "export CUDA_HOME=... to the folder that has bin/nvcc and include"


def _variables() -> Iterator[Finding]:
    homes = {os.path.realpath(os.environ[name]) for name in _VARIABLES if os.environ.get(name)}
    if len(homes) > 1:
        yield wrong(
            "variables",
            f"CUDA_HOME={os.environ['CUDA_HOME']} and CUDA_PATH={os.environ['CUDA_PATH']} are two toolkits; the first "
            "is taken",
            "unset CUDA_PATH, or set both to the same folder",
        )


def _against_torch(toolkit: Toolkit, torch: TorchFacts) -> Finding:
    if not torch.cuda:
        return note("against PyTorch", "this PyTorch has no CUDA: the toolkit compiles, but nothing runs on a GPU")
    ours, theirs = (text.split(".") for text in (toolkit.version, torch.cuda))
    if ours[0] != theirs[0]:
        return wrong(
            "against PyTorch",
            f"the toolkit is CUDA {toolkit.version}, but PyTorch was built with {torch.cuda}: extensions that mix them "
            "are refused",
            f"install the toolkit {torch.cuda} and set CUDA_HOME to it, or a PyTorch for CUDA {toolkit.version}",
        )
    if ours != theirs:
        return note(
            "against PyTorch", f"CUDA {toolkit.version}, PyTorch has {torch.cuda}: minor versions fit each other"
        )
    return ok("against PyTorch", f"both are CUDA {toolkit.version}")


def _host_compiler(toolkit: Toolkit, state: State) -> Iterator[Finding]:
    """Whether nvcc's headers let the C++ compiler through."""
    try:
        compiler = find_compiler("c++")
    except ToolchainError:  # said elsewhere
        return
    newest = toolkit.newest_gcc if compiler.kind == "gcc" else toolkit.newest_clang
    if newest and compiler.version[0] > newest:
        other = re.sub(r"[\d.-]*$", "", os.path.basename(compiler.path))
        yield Finding(
            "host compiler",
            state,
            f"{compiler} at {compiler.path} is too new for CUDA {toolkit.version}, which takes {compiler.kind} up to "
            f"{newest}",
            f"install {compiler.kind} {newest} and set CXX={other}-{newest} (nvcc: -ccbin {other}-{newest})",
        )
    elif newest:
        yield ok("host compiler", f"{compiler} (CUDA {toolkit.version} takes {compiler.kind} up to {newest})")
