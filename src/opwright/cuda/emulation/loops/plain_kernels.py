"""Which kernels can run as plain loops over their threads: those in which, provably, no thread waits for another.

A name counts as *waiting* if something that is declared with it mentions threadIdx, shared memory, barriers, shuffles,
cooperative groups or CUB, calls a function that isn't known, mentions a waiting name, or uses what an atomic function
returns, for which a loop may wait. A kernel is plain if it has no waiting name but threadIdx, calls only known
functions, and uses an atomic function's result only where it has no loop. What can't be decided from the text isn't
plain: calls of parameters, of table entries and of results, lambdas, local classes.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opwright.cuda.emulation.kernel_calls import after_template
from opwright.cuda.emulation.regions import Functions
from opwright.sources.cpp.keywords import OPERATORS, STATEMENTS
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.cuda_declarations import Declaration
from opwright.toolchain import header_dir

_WAITING = {
    *("__shared__", "__nanosleep", "__activemask", "cooperative_groups", "cub", "cuda", "thrust", "nvcuda", "opwright"),
    *("asm", "__asm__", "__asm", "goto", "co_await", "setjmp", "longjmp", "alloca", "printf", "vprintf", "typeid"),
    *("__syncthreads", "__syncthreads_and", "__syncthreads_or", "__syncthreads_count", "__syncwarp", "threadIdx"),
}
"""Words of what waits, of what has to know its thread, and of what can't be followed."""
_HEADERS = ("math.h", "libm.h", "bits.h", "simd.h", "vectors.h", "memory_hints.h", "textures/fetch.h")
"""Headers of the emulator whose functions don't ask which thread runs."""
_DEFINED = re.compile(r"(?:INLINE|inline)\s+[\w\s:*&]*?\b(\w+)\(|^OPWRIGHT_EMULATION_[A-Z]+\((\w+)", re.MULTILINE)
_FAMILIES = re.compile(
    r"__[fd](?:add|sub|mul|div|sqrt|rcp|maf?)_r[nzud]|__fmaf_r[nzud]|__fma_r[nzud]|__\w+2\w+|(?:make_)?(?:u?(?:char|short|int|"
    r"long|longlong)|float|double)[1-4]|u?int(?:8|16|32|64)_t|"
    r"__threadfence(?:_block|_system)?|surf[123]D(?:Layered)?(?:read|write)|__builtin_(?:(?:inf|nan|huge_val)[fl]?|expect|assume|is\w+|[fs]?abs\w*|sqrtf?|popcount\w*|clz\w*|ctz\w*|mem\w+)"
)
_ATOMIC = re.compile(r"atomic(?:Add|Sub|Min|Max|And|Or|Xor|Inc|Dec)(?:_block|_system)?")
_LOOPS = ("for", "while", "do")
_LIBRARY = {
    f"{name}{suffix}"
    for suffix in ("", "f")
    for name in (
        *(
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "cbrt",
            "ceil",
            "copysign",
            "cos",
            "cosh",
            "erf",
            "erfc",
        ),
        *(
            "exp",
            "exp2",
            "exp10",
            "expm1",
            "fabs",
            "fdim",
            "floor",
            "fma",
            "fmax",
            "fmin",
            "fmod",
            "frexp",
            "hypot",
            "ilogb",
        ),
        *("ldexp", "lgamma", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "llrint", "llround", "modf"),
        *(
            "nearbyint",
            "nextafter",
            "pow",
            "powi",
            "remainder",
            "remquo",
            "rint",
            "round",
            "scalbn",
            "sin",
            "sincos",
            "sinh",
        ),
        *("sqrt", "tan", "tanh", "tgamma", "trunc", "j0", "j1", "jn", "y0", "y1", "yn", "nan"),
    )
} | {"abs", "labs", "llabs", "isnan", "isinf", "isfinite", "signbit", "min", "max", "memcpy", "memset"}
_IMPLICIT = {"operator", "begin", "end", "get"}
"""Functions that C++ calls without their names: operators, those of loops over ranges and of structured bindings."""
_BY_ADDRESS = {"frexp", "frexpf", "modf", "modff", "remquo", "remquof", "sincos", "sincosf"}
_KEYWORDS = {
    *OPERATORS,
    *STATEMENTS,
    *("sizeof", "alignof", "decltype", "static_cast", "reinterpret_cast", "const_cast", "new", "delete"),
    *("static_assert", "constexpr", "alignas", "__attribute__", "noexcept"),
    *("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "void", "size_t", "ptrdiff_t"),
    *("ssize_t", "uintptr_t", "intptr_t", "uint", "ushort", "uchar", "ulong", "clock_t", "auto"),
}
_TYPE_WORDS = {
    *("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "void", "const", "volatile"),
    *("size_t", "struct", "std", "uint", "ushort", "uchar", "ulong", "typename"),
}


@functools.lru_cache
def _known_functions() -> frozenset[str]:
    """Return the names of CUDA's device functions that concern one thread alone, and of the C library's."""
    folder = header_dir() / "opwright" / "emulation"
    texts = [(folder / name).read_text("utf-8") for name in _HEADERS]
    found = {name for text in texts for pair in _DEFINED.findall(text) for name in pair if name}
    return frozenset(found | _LIBRARY)


@dataclass(frozen=True)
class _Part:
    """A declaration in its region: the token indices of its text, and its template's parameters."""

    tokens: Tokens
    decl: Declaration
    first: int
    last: int
    member: bool


class PlainKernels:
    """The kernels of a source that can be plain loops."""

    def __init__(self, known: Sequence[Functions]) -> None:
        """Decide from the functions of all of the author's regions."""
        self._parts = [part for functions in known for part in _parts(functions)]
        self._declared: dict[str, list[_Part]] = {}
        for part in self._parts:
            for name in {part.decl.name, *part.decl.variables} - {""}:
                self._declared.setdefault(name, []).append(part)
        self._waiting = set(_WAITING)
        self._nothing = False
        self._spread()

    def is_plain(self, tokens: Tokens, decl: Declaration, *allowed: str) -> bool:
        """Return whether no thread of the kernel `decl` waits, except by the words `allowed` in its own body."""
        if self._nothing or decl.body is None:
            return False
        first, last = tokens_of(tokens, decl)
        part = _Part(tokens, decl, first, last, False)
        words = {token.text for token in tokens.all[decl.body[0] : last + 1] if token.kind == "word"}
        if words & {"struct", "class", "union", "static", "try", "throw", "new", "delete"}:
            return False
        return not words & (self._waiting - {"threadIdx", *allowed}) and self._calls_known(part, allowed)

    def types(self, tokens: Tokens, decl: Declaration) -> set[str]:
        """Return the types among the parameters of a kernel's template."""
        return _template_parameters(_Part(tokens, decl, *tokens_of(tokens, decl), False))

    @functools.cached_property
    def constants(self) -> set[str]:
        """The names of constants outside of functions."""
        return {name for name, parts in self._declared.items() if all(map(_is_constant, parts))}

    def takes_values(self, name: str) -> bool:
        """Return whether a call of that name doesn't modify its arguments: a cast, a function of mathematics."""
        if name in self._declared:
            return False
        return name in _KEYWORDS or (name in _LIBRARY - _BY_ADDRESS) or bool(_is_type(name))

    def _spread(self) -> None:
        """Find the waiting names, until there are no more."""
        waits = {id(part): not self._calls_known(part) for part in self._parts if _runs(part)}
        words = {id(part): _words(part) for part in self._parts}
        every = self._waiting
        changed = True
        while changed and not self._nothing:
            changed = False
            for part in self._parts:
                if "global" in part.decl.spaces or part.decl.kind in {"open", "close"}:
                    continue
                if not (_runs(part) or part.decl.kind != "function"):
                    continue
                if not waits.get(id(part)) and not words[id(part)] & every:
                    continue
                names = {part.decl.name, *part.decl.variables} - {""}
                if not names or {"using", "namespace"} <= set(part.decl.words) or self._is_implicit(part):
                    self._nothing = self._nothing or part.decl.kind != "class"
                changed = changed or not names <= every
                every |= names

    def _is_implicit(self, part: _Part) -> bool:
        """Return whether C++ calls the function without its name: operators but ``()``, constructors, destructors."""
        name = part.decl.name
        if name == "operator" and part.decl.parameters and part.tokens.is_sign(part.decl.parameters[0] - 1, ")"):
            return False
        classes = (each for each in self._declared.get(name, ()) if each.decl.kind == "class")
        return part.decl.kind == "function" and (name in _IMPLICIT or any(classes))

    def _calls_known(self, part: _Part, allowed: Sequence[str] = ()) -> bool:
        tokens = part.tokens
        own = _template_parameters(part)
        start = part.decl.parameters[0] if part.decl.parameters else part.first
        calls = allowed or ("",)
        if any(not _is_operand(tokens, at - 1) for at in tokens.positions_in("[", start, part.last + 1)):
            return False  # a lambda, or an attribute
        return all(
            at == start or tokens.is_word(at - 1, *calls) or self._is_known(part, at, own) or _initialises(part, at)
            for at in tokens.positions_in("(", start, part.last + 1)
        )

    def _is_known(self, part: _Part, opened: int, own: set[str]) -> bool:
        """Return whether what stands before a ``(`` is no call, or one of a known function."""
        tokens, before = part.tokens, opened - 1
        if tokens.is_sign(before, ">"):
            angle = tokens.angle_before(before)
            if angle is None:
                return True  # a comparison
            before = angle - 1
        if tokens.is_sign(before, ")"):
            return self._is_cast(tokens, before, own)
        if not tokens.is_word(before):
            return not tokens.is_sign(before, "]", "}", ">")
        name = tokens.all[before].text
        if name in _KEYWORDS or name in own:
            return True
        if _is_local(part, name, before):
            return False
        if name in self._declared:
            return self._is_defined(name)
        if _ATOMIC.fullmatch(name):
            return not _may_wait(part, before)
        if name in _known_functions() or _FAMILIES.fullmatch(name):
            return True
        return tokens.is_word(before - 1) and tokens.all[before - 1].text not in _KEYWORDS - _TYPE_WORDS

    def _is_cast(self, tokens: Tokens, closed: int, own: set[str]) -> bool:
        """Return whether the ``)`` at `closed` ends a cast or a condition, rather than an expression that is called."""
        opened = tokens.partner.get(closed, closed)
        if tokens.is_word(opened - 1, "if", "for", "while", "switch"):
            return True
        inside = tokens.all[opened + 1 : closed]
        return bool(inside) and all(
            token.text in _TYPE_WORDS or token.text in own or token.text in {"*", "&", "::"} or _is_type(token.text)
            for token in inside
        )

    def _is_defined(self, name: str) -> bool:
        """Return whether all functions of that name that a kernel can call have their bodies here; or it is a class."""
        parts = [part for part in self._declared[name] if part.decl.kind != "function" or _runs(part)]
        bodies = sum(part.decl.kind == "function" for part in parts)
        heads = sum(part.decl.kind == "statement" and bool(part.decl.parameters) for part in parts)
        others = [part for part in parts if part.decl.kind == "statement" and not part.decl.parameters]
        classes = any(part.decl.kind == "class" for part in parts)
        aliases = all({"using", "typedef"} & set(part.decl.words) for part in others)
        return aliases and heads <= bodies and bool(bodies or classes or others)


def tokens_of(tokens: Tokens, decl: Declaration) -> tuple[int, int]:
    """Return the indices of a declaration's first and last tokens."""
    first = bisect_left(tokens.all, decl.start, key=lambda token: token.start)
    return first, bisect_left(tokens.all, decl.end, key=lambda token: token.start) - 1


def _parts(functions: Functions) -> Iterator[_Part]:
    tokens = functions.region.tokens
    for decl, member in functions.declarations:
        yield _Part(tokens, decl, *tokens_of(tokens, decl), member)


def _is_constant(part: _Part) -> bool:
    if part.decl.kind != "statement" or part.decl.parameters or not {"const", "constexpr"} & set(part.decl.words):
        return False
    words = {token.text for token in part.tokens.all[part.first : part.last]}
    return words.isdisjoint({"*", "&", "volatile", "__device__", "__shared__"})


def _runs(part: _Part) -> bool:
    """Return whether it is a function that a kernel may call."""
    return part.decl.kind == "function" and (part.decl.on_device or "constexpr" in part.decl.words)


def _words(part: _Part) -> set[str]:
    return {token.text for token in part.tokens.all[part.first : part.last + 1] if token.kind == "word"}


def _template_parameters(part: _Part) -> set[str]:
    """Return the types among the parameters of ``template <...>`` before a function."""
    tokens, found = part.tokens, set()
    at = part.first
    while tokens.is_word(at, "template") and tokens.is_sign(at + 1, "<"):
        end = after_template(tokens, at + 1)
        for index in range(at + 1, end):
            named = index - 1 - tokens.is_sign(index - 1, "...")
            if tokens.is_word(index) and tokens.is_word(named, "class", "typename"):
                found.add(tokens.all[index].text)
        at = max(end, at + 1)
    return found


def _is_local(part: _Part, name: str, called: int) -> bool:
    """Return whether a variable or parameter of that name hides the function that seems to be called at `called`."""
    tokens, parameters = part.tokens, part.decl.parameters or (part.first, part.first)
    for at in tokens.positions_in(name, parameters[0], called):
        if at < parameters[1]:
            if tokens.is_sign(at + 1, ",", ")", "=", "["):
                return True
            continue
        if tokens.is_word(at - 1) and tokens.all[at - 1].text not in _KEYWORDS - _TYPE_WORDS - {"auto"}:
            return True
        if tokens.is_sign(at - 1, "*", "&") and tokens.is_sign(at + 1, "=", "{"):
            return True
    return False


def _may_wait(part: _Part, called: int) -> bool:
    """Return whether a loop may wait for what the atomic function at `called` returns: ``while (!atomicAdd(&x, 0))``.

    In another function than a kernel it always may, as the loop may be the caller's.
    """
    tokens, before = part.tokens, called - 1
    if tokens.is_sign(before, ")"):
        before = tokens.partner.get(before, before) - 1
        is_used = not tokens.is_word(before, "if", "for", "while")
    else:
        is_used = not (tokens.is_sign(before, ";", "{", "}") or tokens.is_word(before, "else", "do"))
    in_kernel = "global" in part.decl.spaces
    return is_used and not (in_kernel and not any(tokens.positions_in(word, part.first, part.last) for word in _LOOPS))


def _initialises(part: _Part, opened: int) -> bool:
    """Return whether the ``(`` at `opened` follows a member's name in a constructor's ``: a(x), b(y)``."""
    body = part.decl.body
    return body is not None and opened < body[0] and part.tokens.is_sign(opened - 2, ":", ",")


def _is_operand(tokens: Tokens, at: int) -> bool:
    """Return whether the token at `at` ends an expression or a declarator, so that ``[`` after it is an index."""
    if tokens.is_word(at):
        return tokens.all[at].text not in {"return", "case", "else", "do", "and", "or", "not"}
    return tokens.is_sign(at, ")", "]", ">")


def _is_type(word: str) -> bool:
    return bool(
        re.fullmatch(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|u?int(?:8|16|32|64|ptr)_t", word)
    )
