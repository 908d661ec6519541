"""The native runtime: built once for each PyTorch with the toolchain, loaded with ctypes, linked to no Python.

Everything that depends on PyTorch's C++ interfaces is in ``csrc/``; what crosses is plain C (``csrc/api.cpp``).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from opwright import errors
from opwright.errors import OpwrightError, ToolchainError
from opwright.log import notice
from opwright.runtime.abi import LibraryTable
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.build import look_up

CSRC = Path(__file__).parent / "csrc"
_BUILD = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int32))
_EXPLAIN = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
# As csrc/errors.h declares it again, so that no Python header is needed.
_PYTORCH_ERROR = (
    "struct PyTorchError : public std::exception { PyTorchError() = default; "
    "PyTorchError(std::string msg_) : msg(std::move(msg_)) {} virtual PyObject* python_type() = 0; "
    "const char* what() const noexcept override { return msg.c_str(); } std::string msg; };"
)


class _Callbacks(ctypes.Structure):
    _fields_ = (("build", _BUILD), ("explain", _EXPLAIN))


# The exceptions that pass through C++ as they are: each takes one text, and no more.
_PASSED = (*(getattr(errors, name) for name in errors.__all__), KeyboardInterrupt, SystemExit, MemoryError)

_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "opw_initialize": (None, [_Callbacks, *[ctypes.py_object] * 4]),
    "opw_set_error": (None, [ctypes.py_object, ctypes.c_char_p]),
    "opw_last_error": (ctypes.c_char_p, []),
    "opw_namespace_in_use": (ctypes.c_int32, [ctypes.c_char_p]),
    "opw_kernel_new": (ctypes.c_void_p, [ctypes.c_int64, ctypes.c_char_p]),
    "opw_kernel_serve": (None, [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]),
    "opw_kernel_publish": (None, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
    "opw_library_open": (ctypes.POINTER(LibraryTable), [ctypes.c_char_p]),
    "opw_operator_new": (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32],
    ),
    "opw_set_accelerator": (None, [ctypes.c_int32]),
    "opw_operator_bind": (None, [ctypes.c_void_p]),
    "opw_operator_register": (
        ctypes.c_int32,
        [*[ctypes.c_void_p] * 5, ctypes.c_int64, ctypes.c_char_p, ctypes.c_char_p],
    ),
    "opw_gemm_by": (
        ctypes.c_int32,
        [
            *[ctypes.c_int32] * 4,
            *[ctypes.c_int64] * 3,
            ctypes.c_double,
            *[ctypes.c_void_p, ctypes.c_int64] * 2,
            ctypes.c_double,
            ctypes.c_void_p,
            ctypes.c_int64,
        ],
    ),
}


class Native:
    """The loaded runtime."""

    def __init__(self, path: Path) -> None:
        # PyDLL: these are short calls, and a change of hands of the GIL would cost more than they do.
        self._library = ctypes.PyDLL(str(path))
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments

    def __getattr__(self, name: str) -> Any:
        """The C function of that name, without its prefix."""
        return getattr(self._library, f"opw_{name}")

    def checked(self, result: Any) -> Any:
        """`result`, or the error that a function which returned null left."""
        if result:
            return result
        text = self.last_error()
        raise OpwrightError((text or b"the native runtime failed without saying why").decode("utf-8", "replace"))

    def start(self, build: Callable[[int, int], None], explain: Callable[[int, list[int]], None]) -> None:
        """Hand over what the native side asks Python for: building a kernel, and saying what is wrong with a call."""

        def on_build(kernel: int, types: int, done: Any) -> None:
            done[0] = self._guarded(lambda: build(kernel, types))

        def on_explain(kernel: int, count: int, words: Any) -> None:
            self._guarded(lambda: explain(kernel, words[:count]))

        self._kept = _Callbacks(_BUILD(on_build), _EXPLAIN(on_explain))  # ctypes doesn't keep callbacks alive
        self.initialize(
            self._kept, errors.ArgumentError, errors.KernelError, errors.UnsupportedError, errors.OpwrightError
        )

    def _guarded(self, body: Callable[[], None]) -> int:
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - C++ is the caller: it raises this again, KeyboardInterrupt too
            self.set_error(*_carried(error))
            return 0
        return 1


def _carried(error: BaseException) -> tuple[type[BaseException], bytes]:
    """The class that C++ raises for `error`, and its text."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - anybody's __str__
        text = "(its text can't be had)"
    for passed in type(error).__mro__:
        if passed in _PASSED:
            break
    else:
        passed, text = OpwrightError, f"{type(error).__name__}: {text}"
    return passed, text.replace("\0", "\ufffd").encode("utf-8", "replace")


@functools.cache
def native() -> Native:
    """The runtime for the PyTorch in this process: one that this Opwright brought for it, or built at its first use.

    Raises:
        ToolchainError: it can't be built or loaded.
    """
    from opwright.runtime.prebuilt import find

    if (known := find()) is not None:
        with contextlib.suppress(OSError, AttributeError):  # another build of that PyTorch: ours is built then
            return Native(known)
    for rebuild in (False, True):
        built = build_native(rebuild=rebuild)
        try:
            return Native(built.path)
        except (OSError, AttributeError) as error:  # it can't be loaded, or isn't what its name says
            from opwright.toolchain.diagnostics import loading_problem

            text = f"Opwright's runtime for PyTorch {torch.__version__} can't be loaded: "
            text += loading_problem(str(error)) or str(error)
            if rebuild or loading_problem(str(error)):
                raise ToolchainError(text) from error
    raise AssertionError  # the second time either returns or raises


def build_native(
    on_progress: Callable[[str], None] | None = None, *, rebuild: bool = False, for_bundles: bool = False
) -> Built:
    """Build the runtime, or find it in the cache.

    Args:
        on_progress: told what happens.
        rebuild: build it in any case.
        for_bundles: as an object file that knows nothing of Python.
    """
    return build(_unit(), _options(for_bundles=for_bundles), on_progress=on_progress or _say, rebuild=rebuild)


def known_native() -> Path | None:
    """The runtime for this PyTorch, if it has been built.

    Raises:
        ToolchainError: there is no usable compiler to have built it with, or no usable cache.
    """
    return look_up(_unit(), _options(for_bundles=False))


def _unit() -> Unit:
    """One translation unit: PyTorch's headers, which take most of the time, are read once, and calls can be inlined."""
    files = sorted(CSRC.glob("*.cpp"))
    return Unit(f"opwright-runtime-torch{_minor()}", "".join(f"{include_line(f)}\n" for f in files), files[0])


def _say(line: str) -> None:
    if line.startswith("compiling"):
        line = f"building the runtime for PyTorch {torch.__version__} (once) ..."
    notice(line)


def _minor() -> str:
    return ".".join(torch.__version__.split(".")[:2])


def _options(*, for_bundles: bool) -> Options:
    root = Path(torch.__file__).parent
    own = ("OPW_BUNDLE", "OPW_PYTORCH_ERROR=0") if for_bundles else (f"OPW_PYTORCH_ERROR={int(python_errors_fit())}",)
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)  # noqa: SLF001 - cpp_extension, the public way to it, takes 0.2 s to import
    return Options(
        native=False,
        std="c++20",
        define=(f"_GLIBCXX_USE_CXX11_ABI={abi}", *own),
        relocatable=for_bundles,
        include_dirs=(CSRC,),
        system_include_dirs=(root / "include",),
        extra_cflags=("-O2",),
        extra_ldflags=(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
        identity=f"torch {torch.__version__} {torch.version.git_version}",
    )


def python_errors_fit() -> bool:
    """Whether this PyTorch declares its exception base class as csrc/errors.h does."""
    header = Path(torch.__file__).parent / "include/torch/csrc/Exceptions.h"
    return _PYTORCH_ERROR in re.sub(r"\s+", " ", header.read_text())
