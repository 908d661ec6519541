"""Whether PyTorch and the CUDA toolkit have the headers that a source needs, before anything is compiled.

PyTorch for the CPU comes with PyTorch's headers for CUDA, except one; toolkits come without cuBLAS and others. A
compiler reports either from deep inside PyTorch's headers, once for every source.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from opwright.aten.compat import Compat
from opwright.aten.compat.scan import read
from opwright.aten.pytorch import Torch
from opwright.errors import ToolchainError
from opwright.sources.cpp.directives import conditionals, includes
from opwright.toolchain.compilers.compiler import SEARCHED_BY_COMPILERS

_CONFIGURED = "c10/cuda/impl/cuda_cmake_macros.h"
_OF_TOOLKIT = re.compile(r"(?:cu|nv)\w+\.h")
_OF_CUDA = re.compile(r"(?:c10|ATen|torch/csrc)/.*cuda|THC?/", re.IGNORECASE)
_NOT_CONFIGURED = re.compile("C10_USING_CUSTOM_GENERATED_MACROS|C10_CUDA_NO_CMAKE_CONFIGURE_FILE")
"""Macros without which PyTorch's headers include that one."""
_ALWAYS = re.compile(rf"TORCH_STABLE_ONLY|{_NOT_CONFIGURED.pattern}")
_WITH_NVCC = re.compile(rf"{_ALWAYS.pattern}|\bOPWRIGHT_COMPAT_CUDA\b|\b__CUDACC__\b")
"""Conditions that hold in every extension; under nvcc."""


def check_headers(
    source: Path, flags: Sequence[str], compat: Compat, torch: Torch, folders: Sequence[str], *, is_cuda: bool
) -> None:
    """Check that the headers of CUDA that a source includes without a condition are there.

    Args:
        source: a C++ or CUDA source.
        flags: its compiler flags, with the include folders.
        compat: its compatibility headers.
        torch: the installed PyTorch.
        folders: the include folders of PyTorch and the toolkit.
        is_cuda: whether nvcc compiles the source.

    Raises:
        ToolchainError: PyTorch was built without CUDA, or the toolkit lacks a library's headers.
    """
    conditions = _WITH_NVCC if is_cuda else _ALWAYS
    own = [*(str(path) for path in compat.include_dirs), *folders, *_others(flags)]
    names = {name: (name,) for file in read(source, flags) for name in _unconditioned(file.stream.source, conditions)}
    for header in compat.headers:
        names.update({name: (name,) for name in _of_file(str(header), conditions)})
    waiting: list[tuple[str, ...]] = [*names.values()]
    seen = set(names)
    while waiting:
        chain = waiting.pop()
        if chain[-1] == _CONFIGURED and not any(map(_NOT_CONFIGURED.search, flags)):
            if _find(_CONFIGURED, own) is None:
                raise _without_cuda(source, chain, torch)
        elif _OF_TOOLKIT.fullmatch(chain[-1]) and _find(chain[-1], own) is None and len(chain) > 1:
            if torch.cuda is None and _find(_CONFIGURED, own) is None:  # the toolkit's rest wouldn't help
                raise _without_cuda(source, chain, torch)
            raise _partial_toolkit(source, chain, folders)
        elif _OF_CUDA.match(chain[-1]) and (path := _find(chain[-1], own)):
            inner = [name for name in _of_file(path, conditions) if name not in seen]
            seen.update(inner)
            waiting += [(*chain, name) for name in inner]


def _others(flags: Sequence[str]) -> Iterator[str]:
    """Yield the other folders in which a compiler may find headers: the user's, and the system's."""
    words = iter(flags)
    yield from (word[2:] or next(words, "") for word in words if word.startswith("-I"))
    for variable in SEARCHED_BY_COMPILERS:
        yield from filter(None, os.environ.get(variable, "").split(os.pathsep))
    yield from ("/usr/local/include", "/usr/include")


def _find(name: str, folders: Sequence[str]) -> str | None:
    return next((path for folder in folders if os.path.isfile(path := os.path.join(folder, name))), None)


@functools.cache
def _of_file(path: str, conditions: re.Pattern[str]) -> tuple[str, ...]:
    """Return the headers that one of PyTorch's or Opwright's includes without a condition; a quoted one isn't known."""
    try:
        text = Path(path).read_text("utf-8", "replace")
    except OSError:
        return ()
    return tuple(_unconditioned(text, conditions))


def _unconditioned(text: str, conditions: re.Pattern[str]) -> Iterator[str]:
    unknown = [part for part in conditionals(text) if not (part.is_guard or conditions.search(part.condition))]
    for include in includes(text):
        if not any(part.start < include.start < part.end for part in unknown):
            yield include.name


def _without_cuda(source: Path, chain: Sequence[str], torch: Torch) -> ToolchainError:
    return ToolchainError(
        f"{source} includes <{chain[0]}>, which needs a PyTorch with CUDA; the one in {torch.root} is {torch.version}\n"
        "  likely fix: pip install a PyTorch with CUDA (pytorch.org says how)"
    )


def _partial_toolkit(source: Path, chain: Sequence[str], folders: Sequence[str]) -> ToolchainError:
    library = re.sub(r"(?:_v2|Lt|Dn|Sp)?\.h$", "", chain[-1])
    toolkit = os.path.realpath(folders[-1])
    return ToolchainError(
        f"{source} includes <{chain[0]}>, which needs {chain[-1]}; the CUDA toolkit is without it: {toolkit}\n"
        f"  likely fix: install the development files of {library}, in the toolkit's version "
        "(apt: cuda-libraries-dev-...; conda: cuda-libraries-dev)"
    )
