"""The host half of CUDA code, which the C++ compiler compiles.

As in nvcc, each kernel's body is replaced by the kernel's launch. A launch is then an ordinary call, with C++'s
overloads, deduction, default arguments and conversions. Device-only code is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.cuda.nvrtc.refusals import refuse_extended_lambdas
from opwright.errors import SourceError
from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.line_markers import line_markers, place_of
from opwright.sources.cpp.tokens import MalformedError, Tokens, identifiers
from opwright.sources.cuda_declarations import Declaration, declarations
from opwright.sources.launches import Piece, find_launches, split_arguments

HERE = "opwright_here"
"""A type in every kernel's host function; its mangled name identifies the kernel instance."""

_TYPE_WORDS = frozenset(
    {
        *("int", "float", "double", "char", "long", "short", "unsigned", "signed", "bool", "void", "auto", "wchar_t"),
        *("char8_t", "char16_t", "char32_t", "__int128", "const", "__const", "volatile", "restrict", "__restrict"),
        *("__restrict__", "struct", "class", "union", "enum", "typename"),
    }
)
_OF_INTEREST = re.compile(
    r"<<<|opwright_(?:global|constant|shared|managed)|(?<!opwright_host\)\) )__attribute__\(\(opwright_device|"
    r"\b(?:cub|thrust|cooperative_groups)\b|\bcuda\w+Symbol"
)
"""Code that has to be changed: launches, device-only declarations, and calls that take a variable on the device."""
_OF_SYMBOLS = re.compile(r"cuda(?:\w+(?:To|From)Symbol(?:Async)?|GetSymbol(?:Address|Size))")
_DEVICE_LIBRARIES = {"cub", "thrust", "cooperative_groups"}


def host_half(text: str) -> tuple[str, frozenset[str]]:
    """Return the host half of preprocessed `text`, and the names of its device-only variables.

    Raises:
        UnsupportedError: the code contains an extended lambda.
        SourceError: a launch can't be parsed.
    """
    own = _only_files_with(text, _OF_INTEREST)
    tokens = Tokens(own)
    declared = list(_flat(tokens))
    kernels = [edit for decl in declared for edit in _kernel_edits(tokens, decl)]
    left_out = [decl for decl in declared if _left_out(decl)]
    gone = [Edit(decl.start, decl.end) for decl in left_out]
    mentioned = identifiers(apply_edits(own, [*gone, *kernels]))
    gone = [_removed(decl, mentioned) for decl in left_out]
    spans = sorted((edit.start, edit.end) for edit in (*gone, *kernels) if edit.end > edit.start)
    refuse_extended_lambdas(own, tokens, spans)
    variables = frozenset(
        name for decl in left_out if decl.kind == "statement" for name in (decl.name, *decl.variables)
    )
    variables -= {""}
    edits = [*gone, *kernels, *_launches(own, tokens, spans), *_symbols(tokens, variables)]
    return apply_edits(text, edits, keep_lines=True), variables


def _flat(tokens: Tokens, first: int = 0, end: int | None = None) -> Iterator[Declaration]:
    """Yield every declaration, including those in classes."""
    for decl in declarations(tokens, first, end):
        yield decl
        if decl.kind == "class" and decl.body:
            yield from _flat(tokens, decl.body[0] + 1, decl.body[1])


def _left_out(decl: Declaration) -> bool:
    if decl.kind == "statement" and {"using", "typedef"} & set(decl.words):
        return bool(_DEVICE_LIBRARIES & set(decl.words)) and "namespace" not in decl.words
    return decl.kind in {"function", "statement"} and decl.only_on_device and "global" not in decl.spaces


def _removed(decl: Declaration, mentioned: set[str]) -> Edit:
    """Return the removal of a declaration, or only of a function's body if host code mentions the function.

    Host code may pass a device function as a template argument, for example.
    """
    if decl.kind == "function" and decl.name in mentioned and not _DEVICE_LIBRARIES & set(decl.words):
        return Edit(decl.head_end, decl.end, ";")
    if decl.kind == "statement" and decl.parameters and decl.name in mentioned:
        return Edit(decl.end, decl.end)
    return Edit(decl.start, decl.end)


def _kernel_edits(tokens: Tokens, decl: Declaration) -> Iterator[Edit]:
    """Yield the edits that replace a kernel's body with its launch and name its unnamed parameters."""
    if decl.kind != "function" or "global" not in decl.spaces or decl.parameters is None:
        return
    names: list[str] = []
    pieces = _pieces(tokens, *decl.parameters)
    for number, piece in enumerate(pieces):
        text = piece.of(tokens.text)
        if text.strip() in {"", "void"}:
            continue
        name, pack, at = _parameter(text)
        if not name:
            name = f"opwright_{number}"
            yield Edit(piece.start + at, piece.start + at, f" {name}")
        names.append(f", (void *)&{name}{'...' * pack}")
    yield Edit(
        decl.head_end,
        decl.end,
        f"{{ struct {HERE} {{}}; static ::opwright::nvrtc::Kernel opwright_kernel(typeid({HERE}).name()); "
        f"void *opwright_arguments[] = {{nullptr{''.join(names)}}}; opwright_kernel.launch(opwright_arguments + 1); }}",
    )


def _pieces(tokens: Tokens, opened: int, closed: int) -> Iterator[Piece]:
    """Yield the parameters between two parentheses; a ``<`` before the ``=`` opens template arguments."""
    first = index = opened + 1
    assigned = False
    while first < closed:
        behind = tokens.after_angle(index) if tokens.is_sign(index, "<") and not assigned else None
        if tokens.is_sign(index, "(", "[", "{"):
            index = tokens.partner.get(index, index) + 1
        elif behind is not None:
            index = behind
        elif index >= closed or tokens.is_sign(index, ","):
            yield Piece(tokens.all[first].start, tokens.all[max(first, index - 1)].end)
            first, index, assigned = index + 1, index + 1, False
        else:
            assigned = assigned or tokens.is_sign(index, "=")
            index += 1


def _parameter(text: str) -> tuple[str, bool, int]:
    """Return a parameter's name ("" if it has none), whether it is a pack, and the offset at which to insert a name."""
    tokens = Tokens(text)
    all_tokens = tokens.all
    end = next((i for i in range(len(all_tokens)) if tokens.is_sign(i, "=") and i), len(all_tokens))
    pack = any(tokens.is_sign(i, "...") for i in range(end))
    for index in range(end - 2):
        if tokens.is_sign(index, "(") and tokens.is_sign(index + 1, "*", "&") and tokens.is_word(index + 2):
            return all_tokens[index + 2].text, pack, 0  # a pointer to a function or to an array
    at = end - 1
    while at > 0 and tokens.is_sign(at, "]"):
        at = tokens.partner.get(at, at) - 1
    before = [token.text for token in all_tokens[:at] if token.text not in _TYPE_WORDS or token.text in _NUMBERS]
    named = tokens.is_word(at) and all_tokens[at].text not in _TYPE_WORDS and before and before[-1] != "::"
    return all_tokens[at].text if named else "", pack, all_tokens[at].end


_NUMBERS = _TYPE_WORDS - {"const", "volatile", "struct", "class", "union", "enum", "typename", "__const"}


def _launches(text: str, tokens: Tokens, spans: list[tuple[int, int]]) -> Iterator[Edit]:
    """Yield the edits that turn each launch into `(configure(grid, block), kernel(arguments))`."""
    try:
        for launch in find_launches(tokens):
            if any(start <= launch.piece.start < end for start, end in spans):
                continue
            inside = launch.inside.of(text).replace("\n", " ")  # `apply_edits` keeps its line breaks
            configured = f"(::opwright::nvrtc::configure({inside}), "
            yield Edit(launch.callee.start, launch.callee.start, configured)
            yield Edit(launch.callee.end, launch.between.start, "(")
            yield Edit(launch.between.end, launch.between.end, ")")
    except MalformedError as error:
        raise SourceError(f"{place_of(text, error.offset)}: {error}") from None


def _symbols(tokens: Tokens, variables: frozenset[str]) -> Iterator[Edit]:
    """Yield the edits that leave device-only variables out of the arguments of functions such as `cudaMemcpyToSymbol`.

    These are the runtime library's, so the calls raise an error. They have to compile: the file's other functions work.
    """
    for index, token in enumerate(tokens.all):
        if token.kind != "word" or not _OF_SYMBOLS.fullmatch(token.text) or tokens.is_sign(index - 1, ".", "->"):
            continue
        opened = tokens.after_angle(index + 1) if tokens.is_sign(index + 1, "<") else index + 1
        closed = tokens.partner.get(opened) if opened is not None and tokens.is_sign(opened, "(") else None
        if opened is None or closed is None:
            continue
        yield Edit(token.end, tokens.all[opened].start)
        for argument in split_arguments(tokens, opened + 1, closed):
            if variables & identifiers(argument.of(tokens.text)):
                yield Edit(*argument, "0")


def _only_files_with(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text with spaces in place of system headers and of files without a match of `pattern`.

    All offsets stay the same. Files are kept or blanked as a whole, so that their braces still match.
    """
    markers = list(line_markers(text))
    ends = [*(marker.start for marker in markers[1:]), len(text)]
    kept = {
        marker.place.file
        for marker, end in zip(markers, ends, strict=True)
        if not marker.is_system and pattern.search(text, marker.end, end)
    }
    pieces, at = [], 0
    for marker, end in zip(markers, ends, strict=True):
        if marker.place.file not in kept:
            pieces += [text[at : marker.end], " " * (end - marker.end)]
            at = end
    return "".join([*pieces, text[at:]])
