"""Likely fixes for common failures when building or loading an extension."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from opwright.aten.pytorch import Torch, emulation
from opwright.errors import CompileError


class _Cause(NamedTuple):
    """A pattern of an error message, and its fix, which may refer to the pattern's groups."""

    pattern: re.Pattern[str]
    fix: str


def _compiled_causes(*pairs: tuple[str, str]) -> Sequence[_Cause]:
    return [_Cause(re.compile(pattern), fix) for pattern, fix in pairs]


_NOT_FOUND = r"(?:{0}: No such file or directory|'{0}' file not found|cannot open source file \"{0}\")"
_CUDA_HEADER = r"((?<![\w/])cu(?:da|blas|sparse|solver|rand|fft|dnn)\w*\.h|device_launch_parameters\.h)"
_TYPE = r"(?:class |struct )?at::DeprecatedTypeProperties"
_NO_MEMBER = (
    rf"(?:'{_TYPE}' has no member named '{{0}}'|no member named '{{0}}' in '{_TYPE}'|"
    rf'class "{_TYPE}" has no member "{{0}}")'
)
"""Matches the messages of gcc, clang and nvcc about ``x.type()``."""

_COMPILING = _compiled_causes(
    (
        _NOT_FOUND.format(r"Python\.h"),
        "Python's headers are missing: apt install python3-dev (Debian, Ubuntu), dnf install python3-devel (Fedora)",
    ),
    (
        _NOT_FOUND.format(r"(c10/cuda/impl/cuda_cmake_macros\.h)"),
        "the installed PyTorch is built without CUDA: pip install one with CUDA (pytorch.org says how)",
    ),
    (
        _NOT_FOUND.format(_CUDA_HEADER),
        "{0} is CUDA's: pass with_cuda=True (in setup.py a CUDAExtension), and set CUDA_HOME if that is unusual",
    ),
    (
        _NOT_FOUND.format(r"((?:THC?|THCUNN|THNN)/[\w./]+)"),
        "{0} is gone from PyTorch, and nothing stands in for it: `opwright migrate` says what to write instead",
    ),
    (
        _NOT_FOUND.format(r"([\w+./-]+)"),
        'no folder with {0} is searched: extra_include_paths=["..."] (include_dirs in setup.py), or install it',
    ),
    (
        _NO_MEMBER.format(r"(zeros|ones|rand|randn|empty)"),
        "x.type() makes no tensors any more: torch::{0}(sizes, x.options())",
    ),
    (
        _NO_MEMBER.format("tensor"),
        "x.type() makes no tensors any more: torch::empty(sizes, x.options()); sizes are {{0}} for x.type().tensor()",
    ),
    (
        _NO_MEMBER.format("copy"),
        "x.type() copies no tensors any more: y.to(x.options()) for x.type().copy(y)",
    ),
    (
        _NO_MEMBER.format(r"(\w+)"),
        "x.type() has no {0} any more: look among those of x, x.options() and x.scalar_type()",
    ),
    (
        r"unsupported GNU version|unsupported clang version",
        "the C++ compiler is newer than this CUDA toolkit takes: set CXX to an older one (CXX=g++-12), or update CUDA",
    ),
    (
        r"Unsupported gpu architecture '(\w+)'",
        'this CUDA toolkit doesn\'t compile for {0}: set TORCH_CUDA_ARCH_LIST, as in TORCH_CUDA_ARCH_LIST="8.0"',
    ),
    (
        r"C\+\+\d\d or later compatible compiler is required|unrecognized command[- ]line option '-std=c\+\+",
        "PyTorch's headers need C++20: take -std=... out of the flags, and gcc 11 or clang 15 or newer as CXX",
    ),
    (
        r"undefined reference to|multiple definition of",
        "if the function is in another file, name that file in sources=[...] too; each of them once",
    ),
    (
        r"finds no library (c10_cuda|torch_cuda)",
        "the installed PyTorch is built without CUDA: pip install one with CUDA (pytorch.org says how)",
    ),
    (
        r"finds no library cudart",
        "CUDA's libraries aren't in CUDA_HOME/lib64: install the whole toolkit, or set CUDA_HOME",
    ),
    (
        r"finds no library ([\w.+-]+)",
        'install it (its development package), or name its folder: extra_ldflags=["-L..."] (library_dirs in setup.py)',
    ),
)


# The linker's general advice mentions arguments that `load` doesn't have.
_LINKERS_FIX = re.compile(r"(error: (?:undefined reference to|the linker finds no library) .*)\n  likely fix: .*")


def compile_error(error: CompileError, torch: Torch, macros: Sequence[str] = (), toolkit: str = "") -> CompileError:
    """Return `error` with the likely fix added, if the cause is a known one and the text contains no fix yet.

    Args:
        error: the error of the compiler or the linker.
        torch: the PyTorch that the extension is built for.
        macros: the macros that the compiler flags define.
        toolkit: the CUDA toolkit's folder, if its headers were searched.
    """
    text = _LINKERS_FIX.sub(r"\1", str(error))
    if "likely fix:" in text:
        return error
    fix = _partial_toolkit(text, toolkit) or _fix(_COMPILING, text) or _spoiling(text, macros)
    if fix is None:
        return error
    message, separator, rest = text.partition("\nfull log:")
    return CompileError(
        f"{message}\n  likely fix: {fix}\n  PyTorch:    {torch.version} in {torch.root}{separator}{rest}"
    )


def _partial_toolkit(text: str, toolkit: str) -> str | None:
    """Return the fix if a header of CUDA isn't in the toolkit, which was searched."""
    match = re.search(_NOT_FOUND.format(_CUDA_HEADER), text)
    name = next(filter(None, match.groups()), "") if toolkit and match else ""
    return f"the CUDA toolkit in {toolkit} has no {name}: install that library's development files" if name else None


_PLACE = re.compile(r"(?P<file>/[^:\n]+):\d+(?::\d+)?: (?:fatal )?error: ")
_SYSTEM = re.compile(r"/(?:include|site-packages|dist-packages)/")


def _spoiling(text: str, macros: Sequence[str]) -> str | None:
    """Return the fix if one of the user's macros replaces a name in the header that the compiler rejects."""
    place = _PLACE.match(text)
    if not (place and macros and _SYSTEM.search(place["file"])):
        return None
    try:
        identifiers = set(re.findall(r"\b[A-Za-z_]\w*", Path(place["file"]).read_text("utf-8", "replace")))
    except OSError:
        return None
    spoiling = [macro for macro in macros if macro in identifiers]
    if not spoiling:
        return None
    return (
        f"-D{spoiling[0]} replaces {spoiling[0]} in headers that aren't yours, too: give it a name that is yours "
        f"alone, as in -DMY_{spoiling[0].upper()}"
    )


def _fix(causes: Sequence[_Cause], text: str) -> str | None:
    for cause in causes:
        if match := cause.pattern.search(text):
            return cause.fix.format(*filter(None, match.groups()))
    return None


_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


def import_problem(name: str, message: str, defined: Callable[[], str], torch: Torch) -> str | None:
    """Explain an error message from loading or importing the extension `name`, with the fix.

    Args:
        name: the module's name.
        message: the error message.
        defined: returns the names that the library defines; called only if needed.
        torch: the PyTorch that the extension was built for.

    Returns:
        The explanation, or None if the cause isn't a known one.
    """
    if f"PyInit_{name}" in message or "does not define module export function" in message:
        return _no_module(name, message, defined())
    if match := _UNDEFINED.search(message):
        return _undefined(name, match[1], message, torch)
    if "libopwright_cuda_device.so" in message:
        return (
            f"{name} was built by opwright run --emulate, and this process has no emulated device\n"
            f"  likely fix: run it by opwright run --emulate, and import torch first; or build it again\n"
            f"  loader:     {message}"
        )
    if match := re.search(r"(lib(?:c10|torch)\w*\.so): cannot open shared object file", message):
        return (
            f"{name} needs {match[1]}, which isn't loaded and isn't found\n"
            "  likely fix: import torch first; if that doesn't help, build it again with the installed PyTorch, "
            f"{torch.version}\n  loader:     {message}"
        )
    if "libcudart" in message or "libcuda" in message:
        return (
            f"{name} can't be loaded: a library of CUDA isn't found\n"
            "  likely fix: LD_LIBRARY_PATH=$CUDA_HOME/lib64, with the CUDA that it was built with\n"
            f"  loader:     {message}"
        )
    return None


def _no_module(name: str, message: str, defined: str) -> str:
    """Explain that a library lacks the function that Python calls to import `name`."""
    others = sorted(set(re.findall(r"\bPyInit_(\w+)", defined)))
    if others:
        return (
            f"the library defines the module {', '.join(others)}, expected {name}\n"
            "  likely fix: write PYBIND11_MODULE(TORCH_EXTENSION_NAME, m), or give the extension the module's name: "
            f"name={others[0]!r}\n"
            f"  importer:   {message}"
        )
    return (
        f"the library defines no Python module {name}\n"
        "  likely fix: add PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { ... } to a source; or, if it registers operators "
        f"with TORCH_LIBRARY alone, pass is_python_module=False\n  importer:   {message}"
    )


def _undefined(name: str, symbol: str, message: str, torch: Torch) -> str:
    """Explain an undefined symbol, by the library that would define it."""
    readable = demangled(symbol)
    if re.search(r"c10::cuda|at::cuda|c10_cuda|torch_cuda", readable) and torch.cuda is None:
        fix = "the installed PyTorch is built without CUDA: pip install one with CUDA (pytorch.org says how)"
        if emulation():
            fix = "Opwright's emulation of CUDA doesn't have it: leave that part out, or run it on a GPU"
    elif re.search(r"\bstd::(?:string|basic_string)\b", readable) and re.search(r"\b(?:c10|at|torch)::", readable):
        fix = (
            "it and PyTorch were built with different C++ library interfaces (_GLIBCXX_USE_CXX11_ABI): build it again "
            "without that macro in its flags"
        )
    elif re.search(r"\b(?:c10|at|torch|caffe2)::", readable):
        fix = (
            "it was built for another PyTorch, or its own declaration differs from PyTorch's: build it again with "
            f"{torch.version}; if it was just built, correct the declaration"
        )
    elif readable == symbol:
        fix = (
            'it is C\'s: if it is in a library, name that one (extra_ldflags=["-l..."]); if a C++ file of yours '
            'defines it, write extern "C" before its definition'
        )
    else:
        fix = (
            "define it with exactly these types, name the file that does in sources=[...], or the library in "
            'extra_ldflags; if a C file defines it, declare it in extern "C" { ... }'
        )
    return f"{name} uses {readable}, which nothing defines\n  likely fix: {fix}\n  loader:     {message}"


def demangled(symbol: str) -> str:
    """Return a C++ symbol's readable name, if ``c++filt`` is installed."""
    import shutil
    import subprocess

    program = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if program is None:
        return symbol
    try:
        done = subprocess.run([program, symbol], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return symbol
    return done.stdout.strip() or symbol
