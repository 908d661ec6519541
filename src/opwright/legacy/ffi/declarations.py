"""The C declarations passed to cffi: the structs of TH and THC, and the user's headers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.legacy.calls import ELEMENTS
from opwright.legacy.ffi.request import Request

if TYPE_CHECKING:
    import cffi


def typedefs() -> str:
    """Return the typedefs of TH's and THC's structs, which precede the user's headers in cffi's declarations."""
    names = (f"{element.name}{kind}" for kind in ("Tensor", "Storage") for element in ELEMENTS)
    return "".join(f"typedef struct {name} {name};\n" for name in names)


def header_text(request: Request) -> str:
    """Join the user's headers.

    In known headers, only comments contain other encodings than UTF-8, so undecodable bytes are dropped.
    """
    return "\n".join(_read(path) for path in request.headers)


def _read(path: str) -> str:
    with open(path, encoding="utf-8-sig", errors="replace", newline=None) as file:
        return file.read()


def declare(request: Request, ffi: cffi.FFI) -> None:
    """Declare TH's structs and the headers' contents to ``ffi``.

    Raises:
        cffi.CDefError: cffi can't parse a header; the text names the header.
    """
    import cffi

    try:
        ffi.cdef(typedefs() + header_text(request))
    except cffi.CDefError:
        _find_the_header(request, cffi.FFI())
        raise


_OF_THC = re.compile(r"\bTHC(?:uda\w*|State)\b")
_ADVICE = (
    "  expected:   prototypes, `#define NAME number`, enums, typedefs and structs: no preprocessor reads it\n"
    "  likely fix: move #include, #ifdef and function bodies to a source, and declare other types as void *"
)


def _find_the_header(request: Request, ffi: cffi.FFI) -> None:
    """Parse the headers one by one, so that cffi's line number refers to the header that it can't parse."""
    import cffi

    ffi.cdef(typedefs())
    for path in request.headers:
        try:
            ffi.cdef(_read(path))
        except cffi.CDefError as error:  # noqa: PERF203 - only one raises
            message = str(error).replace("<cdef source string>", path)
            located = message if path in message else f"{path}: {message}"
            raise cffi.CDefError(f"create_extension({request.name!r}): {located}\n{_ADVICE}") from error


def preamble(request: Request) -> str:
    """Return the code that precedes cffi's own: TH's headers and the user's prototypes.

    A build file that asks for CUDA only where there is a GPU often has one header, with GPU tensors, for both.
    """
    prototypes = header_text(request)
    cuda = "#include <THC/THC.h>\n" if request.with_cuda or _OF_THC.search(prototypes) else ""
    return f"#include <TH/TH.h>\n{cuda}\n{prototypes}\n"
