"""``ffi.build()``: from C to a module in its package, compiled once for the same content, whoever asks."""

from __future__ import annotations

import dataclasses
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import CompileError
from opwright.legacy.flags import compile_words, options
from opwright.legacy.missing import missing_objects, stand_ins, unresolved, waiting
from opwright.legacy.package import unwritable
from opwright.legacy.request import Request, is_cpp
from opwright.log import notice
from opwright.toolchain import Built, Options, Unit, build, find_compiler, include_line
from opwright.toolchain.cache import write_atomically
from opwright.toolchain.compiler import Language

if TYPE_CHECKING:
    import cffi


def build_extension(request: Request, ffi: cffi.FFI) -> str:
    """Build ``request`` and put the module where its package finds it; its path.

    Raises:
        CompileError: the compiler refused the code.
        SourceError: something is called that nothing defines, and no object is missing that may.
        ToolchainError: there is no usable compiler or cache, or the folder can't be written.
    """
    built = compiled(request, ffi)
    placed = _place(request, built.path)
    if request.verbose:
        how = "nothing to compile" if built.cached else f"compiled in {built.seconds:.1f} s"
        notice(f"{request.name}: {how}; {placed}")
    return placed


def compiled(request: Request, ffi: cffi.FFI) -> Built:
    """The library of ``request``, with stand-ins for the functions of objects that aren't there; errors as above."""
    unit, how = make_unit(request, ffi)
    built = _build(request, unit, how)
    names = unresolved(request, built.path)
    if request.verbose and missing_objects(request):
        notice(f"{request.name}: {waiting(request, names)}")
    if not names:
        return built
    made = stand_ins(request, names)
    return _build(request, dataclasses.replace(unit, extra=(*unit.extra, made)), how)


def stand_in_object(request: Request, ffi: cffi.FFI) -> str | None:
    """An object with stand-ins for what ``request`` lacks, for setuptools to link; None where it lacks nothing."""
    unit, how = make_unit(request, ffi)
    names = unresolved(request, _build(request, unit, how).path)
    if not names:
        return None
    alone = dataclasses.replace(how, relocatable=True, extra_ldflags=())
    return str(_build(request, stand_ins(request, names), alone).path)


def make_unit(request: Request, ffi: cffi.FFI) -> tuple[Unit, Options]:
    """The code of ``request``, cffi's and the user's, and how it is compiled."""
    wrapper: Language = "c++" if request.wrapper_is_cpp else "c"
    parts = tuple(
        Unit(
            name=os.path.basename(source),
            text=include_line(Path(source)) + "\n",
            source=Path(source),
            language=language,
            cflags=tuple(compile_words(request, language, source, find_compiler(language))),
        )
        for source in request.sources
        for language in [_language(source)]
    )
    words = tuple(compile_words(request, wrapper, None, find_compiler(wrapper)))
    unit = Unit(request.name, _wrapper_text(ffi), language=wrapper, extra=parts, cflags=words)
    if request.is_cpp and wrapper == "c" and all(part.language == "c" for part in parts):
        unit = dataclasses.replace(unit, extra=(*parts, _CPP_LINKS))
    return unit, options(request, tuple(filter(os.path.exists, request.objects)))


_NO_PYTHON_H = re.compile(r"\b(?:Python|pyconfig)\.h\b.*(?:No such file|not found)")
_CPP_LINKS = Unit("links", "// language='c++': an object may need the C++ library\n", language="c++")


def _language(source: str) -> Language:
    return "c++" if is_cpp(source) else "c"


def _wrapper_text(ffi: cffi.FFI) -> str:
    """The C that cffi makes of the declarations."""
    from cffi import recompiler

    module, preamble, extension, _ = ffi._assigned_source  # noqa: SLF001 - its public twin prints what it does
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"wrapper{extension}")
        recompiler.make_c_source(ffi, module, preamble, path)
        return Path(path).read_text()


def _build(request: Request, unit: Unit, how: Options) -> Built:
    try:
        return build(unit, how, on_progress=notice if request.verbose else None)
    except CompileError as error:
        raise CompileError(f"{error}{_hint(str(error))}") from None


def _hint(text: str) -> str:
    if _NO_PYTHON_H.search(text):
        return "\n  likely fix: apt install python3-dev (Debian, Ubuntu), dnf install python3-devel (Fedora, RHEL)"
    return ""


def _place(request: Request, library: Path) -> str:
    """Put a copy where Python finds it, by one rename: whoever has the old one loaded keeps it."""
    target = request.library
    try:
        data = library.read_bytes()
        if os.path.isfile(target) and Path(target).read_bytes() == data:
            return target
        write_atomically(Path(target), data)
    except OSError as error:
        raise unwritable(request, target, error) from error
    return target
