"""The headers of the standard library that declare a name, and names that were used without their header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opwright.closest_name import closest_name
from opwright.toolchain.messages.mistake import Mistake, Rule, one_of

if TYPE_CHECKING:
    from opwright.toolchain.messages.author import Spot
    from opwright.toolchain.messages.diagnostics import Diagnostic

__all__ = ["RULES", "header_of"]

_STD = {
    "algorithm": "all_of any_of clamp copy copy_n count count_if equal fill fill_n find find_if for_each generate "
    "lower_bound make_heap max max_element min min_element minmax nth_element partial_sort partition pop_heap "
    "push_heap remove remove_if replace reverse rotate shuffle sort sort_heap stable_sort transform unique upper_bound",
    "array": "array",
    "atomic": "atomic memory_order_relaxed",
    "bitset": "bitset",
    "chrono": "chrono",
    "cmath": "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs "
    "floor fma fmax fmin fmod hypot isfinite isinf isnan isnormal ldexp lgamma log log10 log1p log2 lrint lround modf "
    "nan nearbyint nextafter pow remainder rint round signbit sin sinh sqrt tan tanh tgamma trunc",
    "complex": "complex conj polar",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    "cstdio": "fprintf printf puts snprintf",
    "cstdlib": "calloc exit free getenv malloc qsort realloc",
    "cstring": "memcmp memcpy memmove memset strcmp strlen",
    "deque": "deque",
    "functional": "function greater less plus",
    "iostream": "cerr clog cout endl",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "mutex": "lock_guard mutex once_flag call_once unique_lock",
    "numeric": "accumulate adjacent_difference gcd iota inner_product lcm partial_sum reduce",
    "optional": "optional nullopt",
    "queue": "priority_queue queue",
    "random": "bernoulli_distribution mt19937 mt19937_64 normal_distribution random_device uniform_int_distribution "
    "uniform_real_distribution",
    "set": "multiset set",
    "sstream": "istringstream ostringstream stringstream",
    "stack": "stack",
    "stdexcept": "domain_error invalid_argument logic_error out_of_range overflow_error range_error runtime_error",
    "string": "stod stoi string to_string",
    "string_view": "string_view",
    "thread": "thread",
    "tuple": "get make_tuple tie tuple",
    "type_traits": "conditional_t decay_t enable_if_t is_floating_point is_integral is_same is_same_v make_unsigned_t",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange forward make_pair move pair swap",
    "vector": "vector",
}
_OF_PYTORCH = re.compile(r"(?:torch|ATen|c10|pybind11)/")
_HEADERS = {name: header for header, names in _STD.items() for name in names.split()}
_GLOBAL = {name: f"{header[1:]}.h" for header in ("cstdio", "cstdlib", "cstring") for name in _STD[header].split()}
"""Names that C has, too, and that are often written without ``std::``."""


def header_of(name: str) -> str:
    """Return the header that declares ``std::`` `name`, or "" if none is known."""
    return _HEADERS.get(name, "")


def _member_of_std(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    written = next(filter(None, match.groups()), "")
    names = [written] if written else re.findall(r"\bstd\s*::\s*(\w+)", spot.text)  # clang names std alone
    found = [name for name in names if header_of(name)]
    if not found or len(set(map(header_of, found))) > 1:
        return None
    from opwright.sources.device_marks import MATHEMATICS

    name, header = found[0], header_of(found[0])
    if _includes(spot, header):
        return None
    ours = f"{name}(...) without std::, which opwright.h has" if name in MATHEMATICS else ""
    if ours and spot.is_device:
        return Mistake(f"std::{name} doesn't exist on the device", f"write {ours}")
    include = f"write #include <{header}> at the top of the file"
    return Mistake(f"std::{name} is used without its header, <{header}>", f"{include}; or {ours}" if ours else include)


def _plain_name(match: re.Match[str], _error: Diagnostic, spot: Spot) -> Mistake | None:
    name = next(filter(None, match.groups()))
    header = _GLOBAL.get(name)
    if header is None or _includes(spot, header):
        return None
    return Mistake(
        f"{name} is used without its header, <{header}>", f"write #include <{header}> at the top of the file"
    )


def _missing_file(match: re.Match[str], error: Diagnostic, _spot: Spot) -> Mistake | None:
    name = next(filter(None, match.groups()))
    if "fatal" not in error.kind and "could not open" not in error.text and "cannot open" not in error.text:
        return None
    if meant := closest_name(name, [*_STD, "opwright.h"]):
        return Mistake(f"there is no header {name}", f"did you mean <{meant}>?")
    if _OF_PYTORCH.match(name):
        return Mistake(
            f"{name} is of PyTorch's own interface, which kernels with a signature are compiled without",
            "leave it out: opwright.h has the views, and results are allocated from the signature; or, without "
            "OPWRIGHT(...), keep it: opwright.load builds such a file as an extension",
        )
    return Mistake(
        f"the header {name} isn't in any of the folders that are searched",
        'name its folder, load(..., include_dirs=["..."]), or install what it belongs to (the development package)',
    )


def _includes(spot: Spot, header: str) -> bool:
    return any(re.match(rf"\s*#\s*include\s*<{re.escape(header)}>", line) for line in spot.lines)


UNDECLARED = (
    r"'(\w+)' was not declared in this scope",
    r"'(\w+)' undeclared",
    r"use of undeclared identifier '(\w+)'",
    r'identifier "(\w+)" is undefined',
    r"there are no arguments to '(\w+)' that depend on a template parameter",
)
"""A name that nothing declares, as gcc says it of C++ and of C, clang, nvcc, and gcc of a call in a template."""

RULES = (
    Rule(
        one_of(
            r"'(\w+)' is not a member of 'std'",
            r"'std::(\w+)' has not been declared",  # a parameter's type
            r"'(\w+)' in namespace 'std' does not name a (?:template )?type",
            r"no (?:member|template) named '(\w+)' in namespace 'std'",
            r'namespace "std" has no member(?: class template)? "(\w+)"',
            r"use of undeclared identifier 'std'",
        ),
        _member_of_std,
    ),
    Rule(one_of(*UNDECLARED), _plain_name),
    Rule(
        one_of(
            r"^([\w./+-]+): No such file or directory",
            r"^'([^']+)' file not found",
            r'(?:could not|cannot) open source file "([^"]+)"',
        ),
        _missing_file,
    ),
)
