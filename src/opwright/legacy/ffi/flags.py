"""Compiler and linker flags of a C FFI extension, the same for our builds and for setuptools'.

* ``-fexceptions``: TH's errors are C++ exceptions that pass through the user's C code.
* ``-fcommon`` (the default of C compilers until 2020): a variable defined in a header that two files include is one
  variable.
* Mistakes that became errors in GCC 14 and clang 16 (a call without a prototype, an ``int`` in place of a pointer, the
  wrong pointer type) stay warnings.
* ``-fgnu89-inline`` if a C file defines a function with a bare ``inline``: in C99 this emits no function, so linking
  fails unless the optimizer inlines every call.
* Default visibility, as it used to be, and ``-Bsymbolic``: if the user and TH define functions of the same name, the
  user's is called.
* No ``-march=native``: files in a project's folder get copied to other machines.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from opwright.languages import Language
from opwright.legacy import th_library
from opwright.legacy.ffi.request import Request, is_cpp
from opwright.toolchain import Compiler, Options, linked
from opwright.toolchain.compilers import nvcc

_BECAME_ERRORS = ("implicit-function-declaration", "incompatible-pointer-types", "int-conversion", "implicit-int")
_SINCE_GCC_14 = ("return-mismatch", "declaration-missing-parameter-type")
_SINCE_CLANG_16 = ("incompatible-function-pointer-types",)
_BARE_INLINE = re.compile(rb"^[ \t]*(?:__)?inline\b(?!.*\bstatic\b)", re.MULTILINE)
_WARNING = re.compile(r"-W(?![lpa],)")
_OF_C = re.compile(r"-std=(?:c|gnu|iso9899:)[0-9a-z]+")
_OF_CPP = re.compile(r"-std=(?:c|gnu)\+\+[0-9a-z]+")


def header_dirs(request: Request) -> list[str]:
    """Return the include folders: TH's, CUDA's if requested, then the user's."""
    return [*map(str, th_library.header_dirs()), *map(request.find, request.keywords.get("include_dirs", ()))]


def old_c_flags(compiler: Compiler | None) -> list[str]:
    """Return the flags for C as written in 2017 that ``compiler`` knows (None: that every compiler knows)."""
    kinds = [*_BECAME_ERRORS]
    if compiler and compiler.kind == "gcc" and compiler.version >= (14,):
        kinds += _SINCE_GCC_14
    if compiler and compiler.kind == "clang" and compiler.version >= (16,):
        kinds += _SINCE_CLANG_16
    return ["-fcommon", *(f"-Wno-error={kind}" for kind in kinds)]


def source_flags(request: Request, language: Language, source: str | None, compiler: Compiler | None) -> list[str]:
    """Return the compiler flags of one file, without macros and include folders.

    Args:
        request: the extension.
        language: the file's language.
        source: the user's file; None for cffi's generated code.
        compiler: the compiler, if known.
    """
    user_flags = [str(flag) for flag in request.keywords.get("extra_compile_args", ())]
    flags = ["-fexceptions", "-fvisibility=default"]
    if language == "c":
        user_flags = [flag for flag in user_flags if not _OF_CPP.fullmatch(flag)]
        flags += [*([] if any(map(_OF_C.fullmatch, user_flags)) else ["-std=gnu99"]), *old_c_flags(compiler)]
        flags += ["-fgnu89-inline"] if source and _has_bare_inline(source) else []
    else:
        user_flags = [flag for flag in user_flags if not _OF_C.fullmatch(flag)]
    return [*flags, *user_flags]


def _warnings(request: Request) -> list[str]:
    """Return the user's own warning flags; without any, warnings are turned off."""
    return [str(flag) for flag in request.keywords.get("extra_compile_args", ()) if _WARNING.match(str(flag))]


def _has_bare_inline(source: str) -> bool:
    return bool(_BARE_INLINE.search(Path(source).read_bytes()))


def link_flags(request: Request) -> list[str]:
    """Return the linker flags, without objects and libraries."""
    user_flags = [str(flag) for flag in request.keywords.get("extra_link_args", ())]
    compile_args = request.keywords.get("extra_compile_args", ())
    openmp = ["-fopenmp"] if "-fopenmp" in compile_args and "-fopenmp" not in user_flags else []
    symbolic = ["-Wl,-Bsymbolic"] if sys.platform.startswith("linux") else []
    return [*symbolic, *openmp, *user_flags]


def libraries(request: Request) -> tuple[list[str], list[str]]:
    """Return the names of the libraries to link, and their folders.

    CUDA objects call the CUDA runtime, which extensions used to get through PyTorch's libraries.
    """
    names = list(request.keywords.get("libraries", ()))
    folders = [request.find(folder) for folder in request.keywords.get("library_dirs", ())]
    home = nvcc.cuda_home() if request.with_cuda else None
    if home and os.path.isdir(nvcc.library_dir(home)):
        names, folders = [*names, "cudart"], [*folders, nvcc.library_dir(home)]
    return names, folders


def _cuda_headers(request: Request) -> list[str]:
    """Return the folders of CUDA's headers, if the extension wants them and there is a toolkit."""
    home = nvcc.cuda_home() if request.with_cuda else None
    return nvcc.include_dirs(home) if home else []


def build_options(request: Request, objects: tuple[str, ...]) -> Options:
    """Return the options for building ``request`` with ``objects`` by our own toolchain."""
    paths = sysconfig.get_paths()
    names, folders = libraries(request)
    base = Options(
        native=False,
        define=tuple(_macros(request)),
        include_dirs=tuple(header_dirs(request)),
        system_include_dirs=(*dict.fromkeys((paths["include"], paths["platinclude"])), *_cuda_headers(request)),
        extra_cflags=(*(f"-U{name}" for name in request.keywords.get("undef_macros", ())), *_warnings(request)),
        extra_ldflags=("-Wl,-z,undefs", *objects),  # TH's and Python's symbols are resolved at load time
        identity="|".join([sys.version, *map(_state, objects)]),
    )
    base = linked(base, names, folders)
    runtime = [f"-Wl,-rpath,{request.find(folder)}" for folder in request.keywords.get("runtime_library_dirs", ())]
    return dataclasses.replace(base, extra_ldflags=(*base.extra_ldflags, *runtime, *link_flags(request)))


def _macros(request: Request) -> list[str]:
    return [
        str(name) if value is None else f"{name}={value}"
        for macro in request.keywords.get("define_macros", ())
        for name, value in [macro if isinstance(macro, tuple | list) else (macro, None)]
    ]


def _state(path: str) -> str:
    stat = os.stat(path)
    return f"{path}:{stat.st_size}:{stat.st_mtime_ns}"


def extension_arguments(request: Request, compiler: Compiler | None) -> dict[str, Any]:
    """Return the arguments of a setuptools ``Extension`` that builds ``request`` the same way, without its objects.

    All files get the same flags: g++ compiles the C files, too, and clang++ accepts no C-only flags.
    """
    names, folders = libraries(request)
    languages: set[Language] = {"c++" if is_cpp(source) else "c" for source in request.sources}
    language: Language = "c++" if "c++" in languages or request.wrapper_is_cpp else "c"
    inline = next(filter(_has_bare_inline, request.sources), None)
    keywords = source_flags(request, language, inline, compiler)
    keywords += old_c_flags(compiler) if language == "c++" and compiler and compiler.kind == "gcc" else []
    searched = [*request.keywords.get("runtime_library_dirs", ()), *folders]
    others = {key: value for key, value in request.keywords.items() if key not in ("extra_objects", "source_extension")}
    return {
        **others,
        "include_dirs": [*header_dirs(request), *_cuda_headers(request)],
        "libraries": names,
        "library_dirs": folders,
        "runtime_library_dirs": searched,
        "extra_compile_args": [*keywords, *([] if _warnings(request) else ["-w"])],
        "extra_link_args": link_flags(request),
        **({"language": "c++"} if request.is_cpp else {}),
    }
