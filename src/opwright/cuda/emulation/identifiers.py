"""Replacing identifiers: threadIdx etc., CUDA's keywords, malloc and new."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator

from opwright.cuda.emulation.ptx import assembly_edits
from opwright.cuda.emulation.regions import Region
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.cuda_declarations import declarations

_NO_DECLARATION = {
    *("return", "case", "else", "throw", "sizeof", "and", "or", "not", "do", "goto", "co_return", "co_yield"),
}
INDICES = {
    "threadIdx": "(::opwright::emulation::thread_index())",
    "blockIdx": "(::opwright::emulation::block_index())",
    "blockDim": "(::opwright::emulation::block_size())",
    "gridDim": "(::opwright::emulation::grid_size())",
}
INDEX = re.compile(rf"\b(?:{'|'.join(INDICES)})\b")


def index_edits(region: Region) -> Iterator[Edit]:
    """Yield the replacements of threadIdx, blockIdx, blockDim and gridDim, except the author's variables so named."""
    for name, value in INDICES.items():
        if name in region.text:
            yield from use_edits(region.tokens, name, -1, value, declares_object)


def replaced_indices(text: str) -> str:
    """Replace threadIdx etc. in the code of an installed package, which has no variables with these names."""
    return INDEX.sub(lambda match: INDICES[match[0]], text)


def use_edits(
    tokens: Tokens, name: str, first: int, value: str, declares: Callable[[Tokens, int], bool]
) -> Iterator[Edit]:
    """Yield the replacements of the variable `name` after the token `first`; skip scopes that redeclare the name."""
    hidden = -1
    for index in range(first + 1, len(tokens.all)):
        if index <= hidden or not tokens.is_word(index, name) or tokens.is_sign(index - 1, ".", "->", "::"):
            continue
        if declares(tokens, index):
            hidden = scope_end(tokens, index)
        else:
            yield Edit(tokens.all[index].start, tokens.all[index].end, value)


def declares_array(tokens: Tokens, index: int) -> bool:
    """Return whether the word at `index`, an array's name, is declared there: it follows a type.

    ``T *name`` is a declaration, since an array can't be multiplied.
    """
    before = index - 1
    while tokens.is_sign(before, "*", "&"):
        before -= 1
    return tokens.is_sign(before, ">") or _is_type(tokens, before)


def declares_object(tokens: Tokens, index: int) -> bool:
    """Return whether the word at `index` is declared there, as in ``T name`` and ``T *name``.

    An object may have numeric members: ``a * name.x`` is a product, not a declaration.
    """
    if tokens.is_sign(index - 1, "*", "&"):
        return _is_type(tokens, index - 2) and not tokens.is_sign(index + 1, ".")
    return _is_type(tokens, index - 1)


def _is_type(tokens: Tokens, index: int) -> bool:
    return tokens.is_word(index) and not tokens.is_word(index, *_NO_DECLARATION)


def scope_end(tokens: Tokens, index: int) -> int:
    """Return the index of the ``}`` that ends the scope of the name at `index`; for a parameter, the function's."""
    at = index
    while at < len(tokens.all):
        if tokens.is_sign(at, ")"):  # it was a parameter
            return _body_end(tokens, at)
        if tokens.is_sign(at, "}"):
            return at
        at = tokens.partner.get(at, at) + 1 if tokens.is_sign(at, "(", "[", "{") else at + 1
    return at


def _body_end(tokens: Tokens, at: int) -> int:
    while at < len(tokens.all) and not tokens.is_sign(at, ";"):
        if tokens.is_sign(at, "{"):
            return tokens.partner.get(at, at)
        at += 1
    return at


ASSEMBLY = ("asm", "__asm__", "__asm")
_BY_POINTER = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}


def keyword_edits(region: Region, host_asm: Collection[int] = ()) -> Iterator[Edit]:
    """Yield the replacements of CUDA's keywords.

    Args:
        region: the code.
        host_asm: the offsets of words that stay, since they are the host's: ``asm`` of its processor.

    Raises:
        CompileError: the code contains inline PTX that isn't supported.
    """
    tokens = region.tokens
    for index, token in enumerate(tokens.all):
        if token.kind != "word":
            continue
        if token.text == "__global__":
            yield Edit(token.start, token.end, "")
        elif token.text == "__noinline__" and not tokens.is_sign(index - 1, "(", ","):
            yield Edit(token.start, token.end, "__attribute__((noinline))")
        elif token.text in _BY_POINTER:
            yield from _without_cast(tokens, index + 1)
        elif token.text in ASSEMBLY and region.kind == "user" and token.start not in host_asm:
            yield from assembly_edits(region, index)


def _without_cast(tokens: Tokens, opened: int) -> Iterator[Edit]:
    """Yield the removal of the cast in a first argument ``(void *)kernel``: emulation needs the kernel's type."""
    first = opened + 1
    if not tokens.is_sign(opened, "("):
        return
    if tokens.is_sign(first, "("):
        end = tokens.partner.get(first, first)
        target = [tokens.all[at].text for at in range(first + 1, end)]
    elif tokens.is_word(first, "reinterpret_cast", "static_cast") and tokens.is_sign(first + 1, "<"):
        end = (tokens.after_angle(first + 1) or first + 2) - 1
        target = [tokens.all[at].text for at in range(first + 2, end)]
    else:
        return
    if sorted(word for word in target if word != "const") == ["*", "void"]:
        yield Edit(tokens.all[first].start, tokens.all[end].end, "")


_C = ("malloc", "calloc", "free", "clock", "nanosleep", "sched_yield")
_ALIGNED, _NOTHROW = "St11align_val_t", "RKSt9nothrow_t"
_NEW = [f"_Zn{one}m{aligned}{nothrow}" for one in "wa" for aligned in ("", _ALIGNED) for nothrow in ("", _NOTHROW)]
_DELETE = [
    f"_Zd{one}Pv{rest}"
    for one in "la"
    for rest in ("", "m", _ALIGNED, f"m{_ALIGNED}", _NOTHROW, f"{_ALIGNED}{_NOTHROW}")
]
LIBRARY_CALLS = (*_C, *_NEW, *_DELETE)
"""The functions that kernels have their own of: malloc, calloc and free, all forms of new and delete (System V ABI, 64
bits), clock, and those by which libcu++'s host code waits."""
_OPERATOR = re.compile(r"\boperator\s+(?:new|delete)\b")
_NAMED = re.compile(rf"\b(?:{'|'.join(_C)}|operator\s+(?:new|delete))\b")


def library_calls(parts: Iterable[Region]) -> str:
    """Return the declaration by which `LIBRARY_CALLS` are the emulator's functions, for a source's end.

    A kernel's calls come to the device's heap there (csrc/device_heap.cpp) and to csrc/library_calls.cpp, the host's to
    the C++ library as before.
    The assembler renames them, so that calls which only the compiler sees are among them: of a deleting destructor, of
    the ``calloc`` that it makes of ``malloc`` and ``memset``. Only ELF's has that: elsewhere the result is "".

    A function that the source itself defines stays that one: the assembler takes one definition.
    """
    if sys.platform != "linux":
        return ""
    own = {name for part in parts if part.kind == "user" for name in _defined(part)}
    names = [name for name in LIBRARY_CALLS if name not in own and not ("operator" in own and name not in _C)]
    return "\n__asm__(" + " ".join(f'"{name} = {ours(name)}\\n"' for name in names) + ");\n"


def ours(name: str) -> str:
    """Return the name of the emulator's function that stands for one of `LIBRARY_CALLS`."""
    return f"opwright_emulation_{name.lstrip('_')}"


def _defined(part: Region) -> Iterator[str]:
    """Yield which of the functions a region's own files define for the program: "operator" for any new or delete."""
    if not _NAMED.search(part.text):
        return
    spaces: list[bool] = []
    for decl in declarations(part.tokens):
        text = part.text[decl.start : decl.head_end or decl.end]
        if decl.kind == "open":
            spaces.append("namespace" in text)
        elif decl.kind == "close" and spaces:
            spaces.pop()
        elif decl.kind == "function" and _OPERATOR.search(text):
            yield "operator"
        elif decl.kind == "function" and decl.name in _C and ("extern" in decl.words or not any(spaces)):
            yield decl.name
