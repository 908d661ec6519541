"""``create_extension``, as PyTorch had it until 0.4.1."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from opwright.errors import ToolchainError
from opwright.legacy.building import build_extension, stand_in_object
from opwright.legacy.declarations import declare, preamble
from opwright.legacy.ffi_module import NO_CFFI
from opwright.legacy.flags import setuptools_words
from opwright.legacy.package import make_package
from opwright.legacy.request import PathLike, Request, make_request
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
    """Declare a C extension whose functions take PyTorch's tensors, and generate the package that will hold it.

    The folders ``a/b/c`` of the name ``a.b.c`` are made at once, each a package, the last with a module that wraps
    every function of the headers (``from a.b import c``). The code is compiled by the result's ``build()``, or by
    setuptools: ``setup(cffi_modules=["build.py:ffi"])``, ``setup(ext_modules=[ffi.distutils_extension()])``.

    Args:
        name: the dotted name of the package.
        headers: the headers with the functions' prototypes, one or a list. cffi reads them: no ``#include``, no
            ``#ifdef``; ``#define NAME 32`` and enums become constants.
        sources: the C or C++ files.
        verbose: say what is built.
        with_cuda: the headers have CUDA's tensors, too.
        package: the module has the whole dotted name, for setuptools; else it is called ``_c``.
        relative_to: relative paths start from its folder. ``__file__``, a folder with a slash at its end, or the
            working folder.
        kwargs: what a setuptools ``Extension`` takes: ``define_macros``, ``include_dirs``, ``libraries``,
            ``library_dirs``, ``extra_objects``, ``extra_compile_args``, ``extra_link_args``, ``language``, and
            ``source_extension``, that of cffi's own file. What ``extra_objects`` names need not exist: the functions
            that it would have defined say so when they are called.

    Returns:
        A ``cffi.FFI`` with a method ``build()``, which compiles and returns the module's path.

    Raises:
        ArgumentError: the name is no dotted name, or an argument isn't of its kind.
        SourceError: a header or source isn't there.
        ImportError: there is no cffi.
        cffi.CDefError: cffi can't parse a header; it says which, and where.
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
        words=kwargs,
    )
    make_package(request)
    ffi = cffi.FFI()
    declare(request, ffi)
    ffi.set_source(
        request.module,
        preamble(request),
        source_extension=request.words.get("source_extension", ".c"),
        sources=list(request.sources),
        extra_objects=_Objects(request, ffi),
        **setuptools_words(request, _compiler()),
    )
    ffi.build = partial(build_extension, request, ffi)
    return ffi


def _compiler() -> Compiler | None:
    """The one that setuptools is likely to use; its absence is an error of the build, not of this."""
    try:
        return find_compiler("c")
    except ToolchainError:
        return None


class _Objects(list[str]):
    """What setuptools links besides what it compiles: looked up when it links, since the objects may come late."""

    def __init__(self, request: Request, ffi: cffi.FFI) -> None:
        super().__init__(request.objects)
        self._request = request
        self._ffi = ffi

    def __iter__(self) -> Iterator[str]:
        existing = [path for path in self._request.objects if os.path.exists(path)]
        if len(existing) < len(self._request.objects) and (made := stand_in_object(self._request, self._ffi)):
            existing.append(made)
        return iter(existing)
