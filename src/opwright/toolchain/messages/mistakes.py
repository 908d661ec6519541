"""The table of mistakes that only the compiler sees: what it says, what is wrong, what to write.

Each rule is for one mistake, in the words of gcc, clang, and nvcc or NVRTC. A rule that can't confirm the mistake in
the author's line says nothing: a wrong hint costs more than none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.sources.cpp.tokens import without_comments
from opwright.toolchain.messages import enums, standard_headers, views
from opwright.toolchain.messages.mistake import Mistake, Rule, one_of, plain_type

if TYPE_CHECKING:
    from opwright.toolchain.messages.author import Spot
    from opwright.toolchain.messages.diagnostics import Diagnostic

__all__ = ["explanation"]

_DUAL = re.compile(r"\bDual<")
_NAME = re.compile(r"no matching function for call to '(?:std::)?(\w+)")
_CONVERSION = re.compile(r"cannot convert|no viable conversion|no known conversion|from incompatible type")
_ADDED = re.compile(
    r"no match for 'operator([-+*/])=' \(operand types are '(?:float|double|long double|int|long)'"
    r"|(?:assigning to|invalid operands|no viable overloaded '([-+*/])=')[^\n]*'(?:float|double|long double)'"
)
_WRITTEN = re.compile(
    r"no match for 'operator<<' \(operand types are 'std::|invalid operands to binary expression \('std::[^\n]*Dual<"
)
_ARGUMENT = re.compile(r"initializing argument \d+ of '(?P<declared>[^']+)")
_SHORT = re.compile(r"\b(?:half|float16|bfloat16|float8_\w+)\b")
_CONFLICT = re.compile(
    r"deduced conflicting types for parameter '[^']*' \('([^']*)' (?:and|vs\.) '([^']*)'\)"
    r"|argument types are: \(([^,]*), ([^)]*)\)"
)
_TWO_HALVES = "opwright.h and cuda_fp16.h both have a half"
_WHY_DUAL = "where gradients are derived, a function is also compiled for numbers that carry derivatives"


def explanation(error: Diagnostic, spot: Spot | None) -> Mistake | None:
    """Return what is wrong at the author's line, or None if no rule knows.

    Args:
        error: the compiler's error.
        spot: the author's code at its line; None if the compiled code has no kernels.
    """
    for rule in RULES if spot else ():
        found = rule.pattern.search(error.text)
        if found and spot and (mistake := rule.explain(found, error, spot)):
            return mistake
    return _of_duals(error)


def _of_duals(error: Diagnostic) -> Mistake | None:
    """Explain code that can't compute with dual numbers, or whose half is two types."""
    if re.search(r"""["'](half)["'] is ambiguous""", error.text):
        return Mistake("", f"{_TWO_HALVES}: include cuda_fp16.h in the source itself, and half is CUDA's")
    whole = "\n".join(error.lines)
    if not _DUAL.search(whole):
        return None
    if name := _NAME.search(error.text):
        return _function_of_dual(name[1])
    if _ADDED.search(error.text):
        return Mistake(
            f"adding to a plain number would lose the derivative: {_WHY_DUAL}",
            "declare the sum as acc<T>, which is float for halves and double for double",
        )
    if _WRITTEN.search(error.text):
        return Mistake(f"a stream doesn't take T: {_WHY_DUAL}", "write its value, value_of(x)")
    if not _CONVERSION.search(error.text):
        return None
    if argument := _ARGUMENT.search(whole):
        declared = argument["declared"]
        name = re.search(r"(\w+)\(", declared)
        called = name[1] if name else "f"
        return Mistake(
            f"`{declared}` doesn't take T: {_WHY_DUAL}", f"make it a template: template <class T> T {called}(T x)"
        )
    return Mistake(
        f"a plain number would lose the derivative: {_WHY_DUAL}",
        "declare it as T or auto; value_of(x) is the value alone",
    )


def _function_of_dual(name: str) -> Mistake:
    from opwright.sources.device_marks import MATHEMATICS

    if name in MATHEMATICS:
        return Mistake(
            f"std::{name} doesn't take T: {_WHY_DUAL}", f"write {name}(...) without std::, which opwright.h has"
        )
    return Mistake(
        f"{name} doesn't take T: {_WHY_DUAL}", f"write a template that takes any type: template <class T> T {name}(T x)"
    )


def _two_types(match: re.Match[str], error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain ``std::max(x[i], 0.0)``."""
    name = next(filter(None, match.groups()))
    conflict = _CONFLICT.search("\n".join(error.lines))
    if conflict is None or not re.search(rf"\bstd\s*::\s*{name}\s*\(", spot.text):
        return None
    one, other = (plain_type(each) for each in conflict.groups() if each)
    if one == other:
        return None
    wanted = spot.variable or next((each for each in (one, other) if _SHORT.search(each)), one)
    called = re.sub(rf"\bstd\s*::\s*{name}\s*\(", f"std::{name}<{wanted}>(", spot.text).strip().rstrip(";")
    return Mistake(f"std::{name} takes two values of one type, and these are {one} and {other}", f"write {called}")


def _two_sides(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain ``x > 0 ? x : 0`` of half, bfloat16 and 8-bit floats, which convert to other numbers and back."""
    one, other = (plain_type(each) for each in match.groups() if each)
    if not (_SHORT.search(one) or _SHORT.search(other)):
        return None
    wanted = spot.variable or (one if _SHORT.search(one) else other)
    fix = f"write {wanted}(...) around the other one, or float(...) around both"
    sides = re.search(r"\?\s*([^?:;]+?)\s*:\s*([^?:;,]+?)\s*;", without_comments(spot.text))
    if sides:
        of_type = f"{sides[1]} : {wanted}({sides[2]})" if _SHORT.search(one) else f"{wanted}({sides[1]}) : {sides[2]}"
        fix = f"write ... ? {of_type}"
    return Mistake(f"the two sides of ?: are {one} and {other}: each converts to the other, so C++ can't choose", fix)


def _semicolon(match: re.Match[str], error: Diagnostic, spot: Spot) -> Mistake | None:
    """Explain a missing semicolon: compilers complain about what comes after it, often lines below."""
    column, text = error.place.column, without_comments(spot.text)
    before = text[: column - 1] if column else ""
    clang = match[0].endswith(("expression", "declaration", "statement", "declarator"))
    follows = not before.strip() and not clang
    if not column:  # nvcc names the line of what follows, which may hold other code before it
        caret = next((len(line) - len(line.lstrip()) for line in error.lines if line.strip() == "^"), None)
        shown = [line for line in error.lines if line.strip() and line.strip() == spot.text.strip()]
        if caret is None or not shown:
            return None
        follows = caret <= len(shown[0]) - len(shown[0].lstrip())
    number = spot.number
    if follows:
        number = next((n for n in range(spot.number - 1, 0, -1) if _code(spot.lines[n - 1])), spot.number)
    elif not clang and "before '}'" not in error.text and not _ends(text, column):
        return None
    line = _code(spot.lines[number - 1]) if number <= len(spot.lines) else ""
    if not line or line[-1] in ";{},":
        return None
    return Mistake("a semicolon is missing at the end of this line", f"write {line};", number)


def _ends(text: str, column: int) -> bool:
    return not text[column:].strip()


def _code(line: str) -> str:
    return without_comments(line, directives=True).strip()


def _in_cpp(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    word = next(filter(None, match.groups()))
    if spot.language == "cuda":
        return None
    return Mistake(
        f"{word} is CUDA, and this file is C++",
        'give the file the suffix .cu; backend="emulate" runs its kernels on a machine without a GPU',
    )


def _not_launched(_match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    called = re.search(r"(\w+)\s*(?:<[^<>]*>)?\s*\(", spot.text)
    name = called[1] if called else "it"
    return Mistake(f"the kernel {name} is called like a function", f"launch it: {name}<<<grid, block>>>(...)")


def _parallel(_match: re.Match[str], _error: Diagnostic, _spot: Spot) -> Mistake | None:
    return Mistake(
        "parallel_for takes the number of items and a body for a range of them",
        "write parallel_for(n, [&](int64_t begin, int64_t end) { for (int64_t i = begin; i < end; ++i) ... });",
    )


RULES: tuple[Rule, ...] = (
    Rule(
        one_of(
            r"expected (?:',' or )?';' before",
            r"expected ';' (?:after expression|at end of declaration|after \w+ statement|after top level declarator)",
            r'expected a ";"',
        ),
        _semicolon,
    ),
    *standard_headers.RULES,
    Rule(
        one_of(
            r"no matching function for call to '(max|min)\b",
            r'no instance of (?:overloaded function|function template) "std::(max|min)" matches',
        ),
        _two_types,
    ),
    Rule(
        one_of(
            r"operands to '\?:' have different types '([^']*)' and '([^']*)'",
            r"conditional expression is ambiguous; '([^']*)' can be converted to '([^']*)'",
            r'ambiguous "\?" operation: second operand of type "([^"]*)" can be converted to third operand type '
            r'"([^"]*)"',
        ),
        _two_sides,
    ),
    Rule(
        one_of(
            r"'(__global__|__device__|__shared__|__host__)' (?:does not name a type|was not declared)",
            r"unknown type name '(__global__|__device__|__shared__|__host__)'",
        ),
        _in_cpp,
    ),
    Rule(one_of(r"a __global__ function call must be configured"), _not_launched),
    Rule(one_of(r"no matching function for call to 'parallel_for\b"), _parallel),
    *views.RULES,
    *enums.RULES,
)
"""The rules; the first that explains an error is used."""
