"""The compiler's and linker's words for an extension: one set of rules for our own builds and for setuptools'.

* ``-fexceptions``: an error of TH's is a C++ exception that passes through the user's C.
* ``-fcommon`` (what C compilers did until 2020): a variable defined in a header that two files include is one.
* Mistakes that became errors in GCC 14 and clang 16 (a call without a prototype, an ``int`` where a pointer is wanted,
  the wrong kind of pointer) stay warnings.
* ``-fgnu89-inline`` where a C file defines a function with a bare ``inline``: in C99 there is no function then, only a
  hint to the compiler, and whether it is missing depends on how well it optimises.
* Default visibility, as it was; ``-Bsymbolic``: a function of the user's that has a name of TH's is the user's.
* No ``-march=native``: what lies in a project's folder gets copied to other machines.
"""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from opwright.legacy import cuda, library
from opwright.legacy.request import Request, is_cpp
from opwright.toolchain import Compiler, Options, linked
from opwright.toolchain.compiler import Language

_BECAME_ERRORS = ("implicit-function-declaration", "incompatible-pointer-types", "int-conversion", "implicit-int")
_SINCE_GCC_14 = ("return-mismatch", "declaration-missing-parameter-type")
_SINCE_CLANG_16 = ("incompatible-function-pointer-types",)
_BARE_INLINE = re.compile(rb"^[ \t]*(?:__)?inline\b(?!.*\bstatic\b)", re.MULTILINE)
_WARNING = re.compile(r"-W(?![lpa],)")
_OF_C = re.compile(r"-std=(?:c|gnu|iso9899:)[0-9a-z]+")
_OF_CPP = re.compile(r"-std=(?:c|gnu)\+\+[0-9a-z]+")


def header_dirs(request: Request) -> list[str]:
    """Where headers are searched: TH's folders, CUDA's where that is wanted, then the caller's."""
    return [*map(str, library.header_dirs()), *map(request.find, request.words.get("include_dirs", ()))]


def tolerances(compiler: Compiler | None) -> list[str]:
    """The words for C as it was written in 2017, as far as ``compiler`` (or if None, any) knows them."""
    kinds = [*_BECAME_ERRORS]
    if compiler and compiler.kind == "gcc" and compiler.version >= (14,):
        kinds += _SINCE_GCC_14
    if compiler and compiler.kind == "clang" and compiler.version >= (16,):
        kinds += _SINCE_CLANG_16
    return ["-fcommon", *(f"-Wno-error={kind}" for kind in kinds)]


def compile_words(request: Request, language: Language, source: str | None, compiler: Compiler | None) -> list[str]:
    """What the compiler is told about one file, besides macros and folders.

    Args:
        request: the extension.
        language: what is compiled.
        source: the user's file; None: cffi's code.
        compiler: which it is, where that is known.
    """
    given = [str(word) for word in request.words.get("extra_compile_args", ())]
    words = ["-fexceptions", "-fvisibility=default"]
    if language == "c":
        given = [word for word in given if not _OF_CPP.fullmatch(word)]
        words += [*([] if any(map(_OF_C.fullmatch, given)) else ["-std=gnu99"]), *tolerances(compiler)]
        words += ["-fgnu89-inline"] if source and _has_bare_inline(source) else []
    else:
        given = [word for word in given if not _OF_C.fullmatch(word)]
    return [*words, *given]


def _warnings(request: Request) -> list[str]:
    """The user's own wishes about warnings; without any, there are none."""
    return [str(word) for word in request.words.get("extra_compile_args", ()) if _WARNING.match(str(word))]


def _has_bare_inline(source: str) -> bool:
    return bool(_BARE_INLINE.search(Path(source).read_bytes()))


def link_words(request: Request) -> list[str]:
    """What the linker is told besides objects and libraries."""
    given = [str(word) for word in request.words.get("extra_link_args", ())]
    compiling = request.words.get("extra_compile_args", ())
    openmp = ["-fopenmp"] if "-fopenmp" in compiling and "-fopenmp" not in given else []
    symbolic = ["-Wl,-Bsymbolic"] if sys.platform.startswith("linux") else []
    return [*symbolic, *openmp, *given]


def libraries(request: Request) -> tuple[list[str], list[str]]:
    """The names of the libraries to link, and the folders where they are searched.

    CUDA objects call the CUDA runtime, which PyTorch used to bring along for everybody.
    """
    names = list(request.words.get("libraries", ()))
    folders = [request.find(folder) for folder in request.words.get("library_dirs", ())]
    if request.with_cuda and (toolkit := cuda.library_dirs(cuda.cuda_home())):
        names, folders = [*names, "cudart"], [*folders, *toolkit]
    return names, folders


def options(request: Request, objects: tuple[str, ...]) -> Options:
    """How our own toolchain builds ``request`` with ``objects``."""
    paths = sysconfig.get_paths()
    names, folders = libraries(request)
    base = Options(
        native=False,
        define=tuple(_macros(request)),
        include_dirs=tuple(header_dirs(request)),
        system_include_dirs=(
            *dict.fromkeys((paths["include"], paths["platinclude"])),
            *(cuda.include_dirs(cuda.cuda_home()) if request.with_cuda else ()),
        ),
        extra_cflags=(*(f"-U{name}" for name in request.words.get("undef_macros", ())), *_warnings(request)),
        extra_ldflags=("-Wl,-z,undefs", *objects),  # TH's own, and Python's, are found when it is loaded
        identity="|".join([sys.version, *map(_state, objects)]),
    )
    made = linked(base, names, folders)
    runtime = [f"-Wl,-rpath,{request.find(folder)}" for folder in request.words.get("runtime_library_dirs", ())]
    return dataclasses.replace(made, extra_ldflags=(*made.extra_ldflags, *runtime, *link_words(request)))


def _macros(request: Request) -> list[str]:
    return [
        str(name) if value is None else f"{name}={value}"
        for each in request.words.get("define_macros", ())
        for name, value in [each if isinstance(each, tuple | list) else (each, None)]
    ]


def _state(path: str) -> str:
    found = os.stat(path)
    return f"{path}:{found.st_size}:{found.st_mtime_ns}"


def setuptools_words(request: Request, compiler: Compiler | None) -> dict[str, Any]:
    """The arguments of a setuptools ``Extension`` that builds ``request`` the same way, without its objects.

    It tells all files the same: g++, too, compiles C, and clang++ takes no words that are C's alone.
    """
    names, folders = libraries(request)
    languages: set[Language] = {"c++" if is_cpp(source) else "c" for source in request.sources}
    language: Language = "c++" if "c++" in languages or request.wrapper_is_cpp else "c"
    inline = next(filter(_has_bare_inline, request.sources), None)
    words = compile_words(request, language, inline, compiler)
    words += tolerances(compiler) if language == "c++" and compiler and compiler.kind == "gcc" else []
    searched = [*request.words.get("runtime_library_dirs", ()), *folders]
    given = {key: value for key, value in request.words.items() if key not in ("extra_objects", "source_extension")}
    return {
        **given,
        "include_dirs": [*header_dirs(request), *(cuda.include_dirs(cuda.cuda_home()) if request.with_cuda else ())],
        "libraries": names,
        "library_dirs": folders,
        "runtime_library_dirs": searched,
        "extra_compile_args": [*words, *([] if _warnings(request) else ["-w"])],
        "extra_link_args": link_words(request),
        **({"language": "c++"} if request.is_cpp else {}),
    }
