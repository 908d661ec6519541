"""Which names a signature may use."""

from __future__ import annotations

import keyword

from opwright.signature.tokens import Tokens

_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
)
_C_AND_CPP = frozenset(_WORDS.split())
_PYTHON = frozenset(keyword.kwlist)


def take_name(tokens: Tokens, what: str, fix: str | None = None) -> str:
    """Take a name that C, C++ and Python all accept; ``what`` says what it is for, as "a parameter"."""
    if tokens.kind != "name":
        tokens.fail(f"expected the name of {what}, found {tokens.found()}", fix)
    word = tokens.word
    language = "C++" if word in _C_AND_CPP else "Python" if word in _PYTHON else None
    if language:
        tokens.fail(f"{word!r} can't be the name of {what}: it is a keyword of {language}", f"{word}_")
    if word.startswith("__"):
        tokens.fail(
            f"{word!r} can't be the name of {what}: C++ keeps names with '__' in front for itself",
            word.strip("_") or None,
        )
    return tokens.take()


def check_parameter_name(tokens: Tokens, name: str, place: int, *, backward: bool) -> None:
    """Refuse the names that Opwright keeps for itself."""
    if name.startswith("axis_") or name == "output_mask":
        tokens.fail(
            f"{name!r} can't be the name of a parameter: Opwright's own schemas use it",
            f"{name}_in" if name == "output_mask" else name.removeprefix("axis_") + "_axis",
            place,
        )
    if name.startswith("grad_") and not backward:
        tokens.fail(
            f"{name!r}: the prefix 'grad_' is reserved for gradients, in operators named '..._backward'",
            f"rename it, as d_{name[5:]}" if name[5:] else "rename it",
            place,
        )
