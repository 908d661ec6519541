"""``ffi.build()``: compiles a request to a module in its package; the same content is compiled only once."""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.errors import CompileError
from opwright.languages import Language
from opwright.legacy.ffi.flags import build_options, source_flags
from opwright.legacy.ffi.left_out import LeftOut, incomplete, missing
from opwright.legacy.ffi.package import unwritable
from opwright.legacy.ffi.request import Request, is_cpp
from opwright.legacy.ffi.stand_ins import describe_left_out, stand_ins, undefined_symbols
from opwright.log import notice
from opwright.toolchain import Built, Options, Unit, build, find_compiler, include_line
from opwright.toolchain.cache.folder import update_file

if TYPE_CHECKING:
    import cffi


def build_extension(request: Request, ffi: cffi.FFI) -> str:
    """Build ``request``, copy the module into its package, and return the copy's path.

    Raises:
        CompileError: the compiler refused the code.
        SourceError: a function is called that nothing defines, and it isn't of an object that is left out.
        ToolchainError: there is no usable compiler or cache, or the package's folder can't be written.
    """
    built = compiled(request, ffi)
    placed = _place(request, built.path)
    if request.verbose:
        work = "nothing to compile" if built.cached else f"compiled in {built.seconds:.1f} s"
        notice(f"{request.name}: {work}; {placed}")
    return placed


def compiled(request: Request, ffi: cffi.FFI) -> Built:
    """Build the library of ``request``, with stand-ins for the functions of missing objects; raises the same errors."""
    link = _linked(request, ffi)
    if request.verbose and link.left_out:
        notice(f"{request.name}: {describe_left_out(request, link.undefined, link.left_out)}")
    if not link.undefined:
        return link.built
    functions = stand_ins(request, link.undefined, link.left_out)
    return _build(request, dataclasses.replace(link.unit, extra=(*link.unit.extra, functions)), link.options)


def complete_objects(request: Request, ffi: cffi.FFI) -> list[str]:
    """Return the objects that setuptools links: those that can be, and one with stand-ins for the others' functions."""
    link = _linked(request, ffi)
    objects = _existing(request, link.left_out)
    if link.undefined:
        options = dataclasses.replace(link.options, relocatable=True, extra_ldflags=())
        functions = stand_ins(request, link.undefined, link.left_out)
        objects.append(str(_build(request, functions, options).path))
    return objects


class _Linked(NamedTuple):
    """A library without the objects that can't be linked, and the names that it lacks."""

    built: Built
    unit: Unit
    options: Options
    left_out: tuple[LeftOut, ...]
    undefined: list[str]


def _linked(request: Request, ffi: cffi.FFI) -> _Linked:
    left_out = missing(request)
    link = _link(request, ffi, left_out)
    if more := incomplete(request, link.undefined):
        link = _link(request, ffi, (*left_out, *more))
    return link


def _link(request: Request, ffi: cffi.FFI, left_out: tuple[LeftOut, ...]) -> _Linked:
    unit = make_unit(request, ffi)
    options = build_options(request, tuple(_existing(request, left_out)))
    built = _build(request, unit, options)
    return _Linked(built, unit, options, left_out, undefined_symbols(built.path, left_out))


def _existing(request: Request, left_out: Sequence[LeftOut]) -> list[str]:
    gone = {one.path for one in left_out}
    return [path for path in request.objects if path not in gone]


def make_unit(request: Request, ffi: cffi.FFI) -> Unit:
    """Return the code of ``request``, cffi's and the user's."""
    wrapper: Language = "c++" if request.wrapper_is_cpp else "c"
    parts = tuple(
        Unit(
            name=os.path.basename(source),
            text=include_line(Path(source)) + "\n",
            source=Path(source),
            language=language,
            cflags=tuple(source_flags(request, language, source, find_compiler(language))),
        )
        for source in request.sources
        for language in [_language(source)]
    )
    flags = tuple(source_flags(request, wrapper, None, find_compiler(wrapper)))
    unit = Unit(request.name, _wrapper_text(ffi), language=wrapper, extra=parts, cflags=flags)
    if request.is_cpp and wrapper == "c" and all(part.language == "c" for part in parts):
        unit = dataclasses.replace(unit, extra=(*parts, _CPP_LINKS))
    return unit


_NO_PYTHON_H = re.compile(r"\b(?:Python|pyconfig)\.h\b.*(?:No such file|not found)")
_CPP_LINKS = Unit("links", "// language='c++': an object may need the C++ library\n", language="c++")


def _language(source: str) -> Language:
    return "c++" if is_cpp(source) else "c"


def _wrapper_text(ffi: cffi.FFI) -> str:
    """Return the C code that cffi generates from the declarations."""
    from cffi import recompiler

    module, preamble, extension, _ = ffi._assigned_source  # noqa: SLF001 - the public method prints messages
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"wrapper{extension}")
        recompiler.make_c_source(ffi, module, preamble, path)
        return Path(path).read_text()


def _build(request: Request, unit: Unit, build_options: Options) -> Built:
    try:
        return build(unit, build_options, on_progress=notice if request.verbose else None)
    except CompileError as error:
        raise CompileError(f"{error}{_hint(str(error))}") from None


def _hint(text: str) -> str:
    if _NO_PYTHON_H.search(text):
        return "\n  likely fix: apt install python3-dev (Debian, Ubuntu), dnf install python3-devel (Fedora, RHEL)"
    return ""


def _place(request: Request, library: Path) -> str:
    """Copy the library into the package by an atomic rename: a process that has the old file loaded keeps it."""
    try:
        update_file(Path(request.library), library.read_bytes())
    except OSError as error:
        raise unwritable(request, request.library, error) from error
    return request.library
