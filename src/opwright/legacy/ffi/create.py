"""``create_extension``, as in PyTorch up to 0.4.1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from opwright.errors import ToolchainError
from opwright.legacy.ffi import NO_CFFI
from opwright.legacy.ffi.build import build_extension, complete_objects
from opwright.legacy.ffi.declarations import declare, preamble
from opwright.legacy.ffi.flags import extension_arguments
from opwright.legacy.ffi.package import make_package
from opwright.legacy.ffi.request import PathLike, Request, make_request
from opwright.toolchain import Compiler, find_compiler

if TYPE_CHECKING:
    import cffi


def create_extension(
    name: str,
    headers: PathLike | Iterable[PathLike],
    sources: PathLike | Iterable[PathLike],
    verbose: bool = True,
    with_cuda: bool = False,
    package: bool = False,
    relative_to: PathLike = ".",
    **kwargs: Any,
) -> cffi.FFI:
    """Declare a C extension whose functions take PyTorch's tensors, and generate its package.

    The folders ``a/b/c`` of the name ``a.b.c`` are created immediately. Each is a package; the last contains a module
    that wraps every function of the headers (``from a.b import c``). The code is compiled by the result's ``build()``,
    or by setuptools: ``setup(cffi_modules=["build.py:ffi"])``, ``setup(ext_modules=[ffi.distutils_extension()])``.

    Args:
        name: the dotted name of the package.
        headers: the headers with the functions' prototypes, one or a list. cffi reads them: no ``#include``, no
            ``#ifdef``; ``#define NAME 32`` and enums become constants.
        sources: the C or C++ files.
        verbose: report on stderr what is built.
        with_cuda: the headers use CUDA tensors, too.
        package: the module has the full dotted name, for setuptools; otherwise its name is ``_c``.
        relative_to: the base of relative paths: ``__file__``, a folder with a trailing slash, or the working folder
            (the default).
        kwargs: arguments of a setuptools ``Extension``: ``define_macros``, ``include_dirs``, ``libraries``,
            ``library_dirs``, ``extra_objects``, ``extra_compile_args``, ``extra_link_args``, ``language``, and
            ``source_extension``, the extension of cffi's generated file. The files in ``extra_objects`` need not exist:
            the functions that they would define then raise when they are called.

    Returns:
        A ``cffi.FFI`` with a method ``build()``, which compiles and returns the module's path.

    Raises:
        ArgumentError: the name isn't a valid (dotted) module name, or an argument has the wrong type.
        SourceError: a header or source doesn't exist.
        ImportError: cffi isn't installed.
        cffi.CDefError: cffi can't parse a header; the text names the file and the line.
        ToolchainError: the package can't be written.
    """
    try:
        import cffi
    except ImportError as error:
        raise ImportError(NO_CFFI) from error
    request = make_request(
        name,
        headers,
        sources,
        verbose=verbose,
        with_cuda=with_cuda,
        package=package,
        relative_to=relative_to,
        keywords=kwargs,
    )
    make_package(request)
    ffi = cffi.FFI()
    declare(request, ffi)
    ffi.set_source(
        request.module,
        preamble(request),
        source_extension=request.keywords.get("source_extension", ".c"),
        sources=list(request.sources),
        extra_objects=_Objects(request, ffi),
        **extension_arguments(request, _compiler()),
    )
    ffi.build = partial(build_extension, request, ffi)
    return ffi


def _compiler() -> Compiler | None:
    """Return the compiler that setuptools will probably use; None if there is none, which fails only in the build."""
    try:
        return find_compiler("c")
    except ToolchainError:
        return None


class _Objects(list[str]):
    """The objects that setuptools links besides its own; listed when it links, since they may be made late."""

    def __init__(self, request: Request, ffi: cffi.FFI) -> None:
        super().__init__(request.objects)
        self._request = request
        self._ffi = ffi

    def __iter__(self) -> Iterator[str]:
        return iter(complete_objects(self._request, self._ffi) if self._request.objects else [])
