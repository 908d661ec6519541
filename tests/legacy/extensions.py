"""Extensions for tests: what cffi makes of prototypes, compiled by the toolchain (and so only once)."""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sysconfig
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import cffi
import torch

from opwright.legacy.calls import wrap_function
from opwright.legacy.th_library import header_dirs, load_library
from opwright.toolchain import Options, Unit, build, find_compiler

FatalError: type[Exception] = vars(torch)["FatalError"]
TYPES = ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
CUDA_TYPES = ("CudaDouble", "Cuda", "CudaHalf", "CudaLong", "CudaInt", "CudaShort", "CudaChar", "CudaByte")
_NAMES = [f"TH{name}" for name in TYPES] + [f"THCuda{name}".replace("THCudaFloat", "THCuda") for name in TYPES]
STRUCTS = "".join(f"typedef struct {name}{kind} {name}{kind};\n" for name in _NAMES for kind in ("Tensor", "Storage"))
_PROTOTYPE = re.compile(
    r"(?:^|(?<=; ))extern\s+((?:struct\s+)?\w[\w ]*?[\s*]+)(TH\w+)\s*\((.*?)\)\s*;", re.MULTILINE | re.DOTALL
)


class Extension:
    """The functions of an extension, wrapped as `_wrap_function` does it, by name."""

    def __init__(self, module: ModuleType) -> None:
        self.lib, self.ffi = module.lib, module.ffi
        self._wrapped: dict[str, Callable[..., Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self._wrapped:
            self._wrapped[name] = wrap_function(getattr(self.lib, name), self.ffi)
        return self._wrapped[name]


def extension(
    prototypes: str, source: str = "", *, structs: str = "", optimize: str = "-O1", include_dirs: tuple[Path, ...] = ()
) -> Extension:
    """The C in ``source``, which may use TH, and cffi's wrapper for its ``prototypes``."""
    load_library()
    name = f"_th_{sha256((prototypes + source + structs).encode()).hexdigest()[:12]}"
    ffi = cffi.FFI()
    ffi.cdef(STRUCTS + structs + prototypes)
    ffi.set_source(name, f"#include <TH/TH.h>\n{source}")
    return Extension(_import(name, _compiled(name, _generated(ffi, name), optimize, include_dirs)))


def _generated(ffi: cffi.FFI, name: str) -> str:
    import io

    recompiler = importlib.import_module("cffi.recompiler")
    made = recompiler.Recompiler(ffi, name)
    made.collect_type_table()
    made.collect_step_tables()
    text = io.StringIO()
    made.write_source_to_f(text, ffi._assigned_source[1])
    return text.getvalue()


def _compiled(name: str, text: str, optimize: str, include_dirs: tuple[Path, ...]) -> Path:
    return build(
        Unit(name, text, language="c"),
        Options(
            native=False,
            system_include_dirs=(sysconfig.get_paths()["include"],),
            include_dirs=(*header_dirs(), *include_dirs),
            extra_cflags=(optimize,),
            extra_ldflags=("-Wl,-z,undefs",),
        ),
    ).path


def _import(name: str, path: Path) -> ModuleType:
    from importlib.machinery import ExtensionFileLoader

    spec = importlib.util.spec_from_file_location(name, path, loader=ExtensionFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def preprocessed() -> str:
    """What a C compiler makes of TH.h."""
    flags = [f"-I{folder}" for folder in header_dirs()]
    command = [find_compiler("c").path, "-E", "-P", "-std=c99", *flags, "-x", "c", "-"]
    return subprocess.run(command, input="#include <TH/TH.h>\n", capture_output=True, text=True, check=True).stdout


def prototypes() -> dict[str, str]:
    """The functions that TH.h declares, by name, as cffi reads them."""
    found = {}
    for match in _PROTOTYPE.finditer(preprocessed()):
        result, name, parameters = (" ".join(part.split()) for part in match.groups())
        found[name] = f"{result} {name}({parameters});".replace("_Bool", "bool")
    return found


def everything() -> Extension:
    """Every function of tensors' structure and of storages as one of an extension; what Python can't call is left out.

    Mathematics is tested in another way (th.py): to compile cffi's code for all of it takes minutes.
    """
    folder = header_dirs()[0] / "TH"
    texts = [(folder / name).read_text() for name in ("shared/Tensor.h", "shared/Storage.h", "generic/THStorageCopy.h")]
    names = set(re.findall(r"THX?(?:Tensor|Storage)_\((\w+)\)", "".join(texts))) | {"sizeDesc", "newInferSize"}
    names |= {f"copy{kind}" for kind in TYPES}
    callable_ones = [
        text
        for name, text in prototypes().items()
        if name.partition("_")[2] in names and not re.search(r"\.\.\.|Handler", text)
    ]
    known = set(re.findall(r"typedef struct (\w+) (?:\{|\w)", STRUCTS))
    others = dict.fromkeys(re.findall(r"\bTH(?!D?esc)[A-Z]\w*\b", " ".join(callable_ones)))
    opaque = [
        n for n in others if re.search(rf"}}\s*{n}\s*;|typedef struct {n} {n};", preprocessed()) and n not in known
    ]
    structs = "typedef struct { char str[64]; } THDescBuff;\n"
    structs += "".join(f"typedef struct {name} {name};\n" for name in opaque if name != "THDescBuff")
    return extension("\n".join(callable_ones), structs=structs, optimize="-O0")
