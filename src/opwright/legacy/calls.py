"""Calls from Python to an extension: converts between tensors and TH structs.

Implemented in C++ (``csrc_python/``), which is built once per Python. There is no fallback in Python: without a
compiler there is no extension to call, either.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import BuiltinFunctionType, FrameType, ModuleType
from typing import Any, NamedTuple

from opwright.errors import ToolchainError
from opwright.legacy.th_library import CSRC, load_library
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.build.builder import load_built

CSRC_PYTHON = Path(__file__).parent / "csrc_python"
_MODULE = "_opwright_calls"
_NAMES = ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
_CUDA_NAMES = ("Double", "", "Half", "Long", "Int", "Short", "Char", "Byte")


class Element(NamedTuple):
    """An element type on a device: the middle of its C name, its name in torch, its device."""

    name: str
    dtype: str
    device: str


def _elements() -> tuple[Element, ...]:
    """List the element types in the order of ``csrc/bridge.h``."""
    dtypes = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8")
    cuda = ("float64", "float32", "float16", *dtypes[2:])
    return (
        *(Element(f"TH{name}", dtype, "cpu") for name, dtype in zip(_NAMES, dtypes, strict=True)),
        *(Element(f"THCuda{name}", dtype, "cuda") for name, dtype in zip(_CUDA_NAMES, cuda, strict=True)),
    )


ELEMENTS = _elements()
"""The element types that C code can use."""

_OTHER, _TENSOR, _STORAGE = range(3)


def wrap_function(function: Callable[..., Any], ffi: Any) -> Callable[..., Any]:
    """Wrap an extension's ``function`` for Python: the wrapper takes and returns tensors and storages.

    An array, a struct or a pointer that the header declares is returned as it is: all of cffi's objects count as
    callable, so old packages pass them here, too.

    Tensors share their memory with C; if C resizes, sets or transposes a tensor, Python sees the change. Python owns a
    tensor that C returns. The GIL is released during the call.

    Args:
        function: cffi's function, ``lib.name``.
        ffi: the ``ffi`` object that belongs to ``lib``.

    Raises:
        TypeError: `function` isn't a function of an extension in cffi's API mode.
        ToolchainError: the native module can't be built or loaded.

    The wrapper raises TypeError if an argument doesn't match its C type, and torch.FatalError if C raises an error.
    """
    if not isinstance(function, BuiltinFunctionType | ffi.CData):
        raise TypeError(
            f"{function!r} is no function of an extension\n"
            f"  expected:   a function of cffi's `lib`, as `from ._ext import lib, ffi` gives it"
        )
    ctype = ffi.typeof(function)
    ctype = ctype.item if ctype.kind == "pointer" else ctype
    if ctype.kind != "function":
        return function
    kind, number = _describe_result(ctype.result)
    wrapped = _native().function(function, _types(ffi), kind, number)
    functools.update_wrapper(wrapped, function)
    wrapped.__module__ = _caller()
    return wrapped  # type: ignore[no-any-return]


def _caller() -> str:
    """Return the name of the calling module, which becomes the wrapper's `__module__`, for pickle."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(("opwright.legacy", "torch.utils.ffi")):
            return name
        frame = frame.f_back
    return __name__


def _describe_result(result: Any) -> tuple[int, int]:
    """Return the kind of a function's result (tensor, storage, other) by its C type, and its element type's index."""
    if result.kind != "pointer" or result.item.kind != "struct":
        return _OTHER, 0
    name = result.item.cname.removeprefix("struct ")
    for number, element in enumerate(ELEMENTS):
        if name == f"{element.name}Tensor":
            return _TENSOR, number
        if name == f"{element.name}Storage":
            return _STORAGE, number
    return _OTHER, 0


_types_of: dict[int, tuple[Any, Any]] = {}


def _types(ffi: Any) -> Any:
    """Return the struct types of an extension; an ffi lives as long as its module, which is never unloaded."""
    if id(ffi) not in _types_of:
        native = _native()
        tensors, storages = (_ctypes(ffi, kind) for kind in ("Tensor", "Storage"))
        types = native.types(ffi.cast, functools.partial(_address, ffi), _fresh, _as_storage, tensors, storages)
        _types_of[id(ffi)] = (ffi, types)  # keeps the ffi alive, so that its id isn't reused
    return _types_of[id(ffi)][1]


def _ctypes(ffi: Any, kind: str) -> tuple[Any, ...]:
    return tuple(_ctype(ffi, f"struct {element.name}{kind} *") for element in ELEMENTS)


def _ctype(ffi: Any, name: str) -> Any:
    try:
        return ffi.typeof(name)
    except ffi.error:
        return None


def _address(ffi: Any, pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _fresh(number: int) -> Any:
    import torch

    element = ELEMENTS[number]
    return torch.empty(0, dtype=getattr(torch, element.dtype), device=element.device)


def _as_storage(tensor: Any) -> Any:
    """Return the typed storage of a tensor, as old code expects it."""
    from opwright.runtime.torch_internals import typed_storage

    return typed_storage(tensor.untyped_storage(), tensor.dtype)


def _storage_facts(storage: Any) -> tuple[int, int]:
    """Return the address of a storage's StorageImpl, and c10's number of its element type (bytes if it is untyped)."""
    import torch

    from opwright.runtime.binding import DTYPES
    from opwright.runtime.torch_internals import storage_address

    typed = isinstance(storage, torch.storage.TypedStorage)
    dtype = DTYPES.get(storage.dtype if typed else torch.uint8)
    return storage_address(storage), -1 if dtype is None else dtype.code


@functools.cache
def _native() -> Any:
    """Build, import and start the module in ``csrc_python/``."""
    load_library()  # the module needs the library's functions
    module = load_built("what calls extensions", lambda rebuild: build_native(rebuild=rebuild).path, _import)
    _start(module)
    return module


def _import(path: Path) -> ModuleType:
    loader = ExtensionFileLoader(_MODULE, str(path))
    spec = spec_from_file_location(_MODULE, path, loader=loader)
    assert spec is not None  # noqa: S101 - a loader was passed
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def _start(module: Any) -> None:
    import torch

    from opwright.runtime.torch_internals import tensor_address

    module.start(
        torch.Tensor,
        torch.UntypedStorage,
        torch.storage.TypedStorage,
        vars(torch)["FatalError"],  # missing only in its annotations
        _storage_facts,
        tensor_address(),
    )


def build_native(*, rebuild: bool = False) -> Built:
    """Build the module that makes the calls for this Python, or find it in the cache.

    Raises:
        ToolchainError: Python's headers are missing, or the build fails.
    """
    headers = Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").is_file():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ToolchainError(
            f"Python's headers are missing: there is no Python.h in {headers}\n"
            f"  expected:   the headers of this Python {version}; cffi's extensions are compiled with them as well\n"
            f"  likely fix: apt install python{version}-dev (Debian, Ubuntu), dnf install python3-devel (Fedora)"
        )
    source = CSRC_PYTHON / "callable.cpp"
    unit = Unit(f"opwright-calls-{sys.implementation.cache_tag}", f"{include_line(source)}\n", source)
    return build(unit, _options(headers), rebuild=rebuild)


def _options(headers: Path) -> Options:
    # Python's symbols and the TH library's are resolved from the process.
    undefined = "-Wl,-undefined,dynamic_lookup" if sys.platform == "darwin" else "-Wl,-z,undefs"
    return Options(
        native=False,
        std="c++17",
        include_dirs=(CSRC_PYTHON, CSRC),
        system_include_dirs=(headers,),
        extra_cflags=("-O2",),
        extra_ldflags=(undefined,),
        identity=f"{sys.version} {sysconfig.get_config_var('SOABI')}",
    )
