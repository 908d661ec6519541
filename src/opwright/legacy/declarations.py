"""The C that cffi is given: what it must know of TH and THC, and what it makes of the user's headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from opwright.legacy.request import Request

if TYPE_CHECKING:
    import cffi

ELEMENTS = ("Double", "Float", "Long", "Int", "Short", "Char", "Byte")
_PREFIXES = ("TH", "THCuda")
_KINDS = ("Tensor", "Storage")


def struct_names() -> Iterator[str]:
    """Every struct's name, THC's too; CUDA's float ones have no element type in theirs."""
    for kind in _KINDS:
        for prefix in _PREFIXES:
            for element in ELEMENTS:
                yield f"{prefix}{'' if (prefix, element) == ('THCuda', 'Float') else element}{kind}"


def typedefs() -> str:
    """What stands before the user's headers in cffi's declarations."""
    return "".join(f"typedef struct {name} {name};\n" for name in struct_names())


def header_text(request: Request) -> str:
    """The user's headers, one after the other.

    Only comments hold other encodings than UTF-8, as far as anybody has seen: what can't be read doesn't matter.
    """
    return "\n".join(_read(path) for path in request.headers)


def _read(path: str) -> str:
    with open(path, encoding="utf-8-sig", errors="replace", newline=None) as file:
        return file.read()


def declare(request: Request, ffi: cffi.FFI) -> None:
    """Tell ``ffi`` of TH's structs and of what the headers have.

    Raises:
        cffi.CDefError: it can't parse a header, which the text names.
    """
    import cffi

    try:
        ffi.cdef(typedefs() + header_text(request))
    except cffi.CDefError:
        _find_the_header(request, cffi.FFI())
        raise


_ADVICE = (
    "  expected:   prototypes, `#define NAME number`, enums, typedefs and structs: no preprocessor reads it\n"
    "  likely fix: move #include, #ifdef and function bodies to a source, and declare other types as void *"
)


def _find_the_header(request: Request, ffi: cffi.FFI) -> None:
    """Give ``ffi`` the headers one by one: then cffi counts the lines of the one that it can't parse."""
    import cffi

    ffi.cdef(typedefs())
    for path in request.headers:
        try:
            ffi.cdef(_read(path))
        except cffi.CDefError as error:  # noqa: PERF203 - only one raises
            told = str(error).replace("<cdef source string>", path)
            named = told if path in told else f"{path}: {told}"
            raise cffi.CDefError(f"create_extension({request.name!r}): {named}\n{_ADVICE}") from error


def preamble(request: Request) -> str:
    """What stands before cffi's own code: TH, and the user's prototypes."""
    cuda = "#include <THC/THC.h>\n" if request.with_cuda else ""
    return f"#include <TH/TH.h>\n{cuda}\n{header_text(request)}\n"
