"""Names of operators, of their overloads (``scale.number``), backwards (``scale_backward.number``) and forward modes.

A signature's name is the operator's, then, after a dot, the overload's, if the author gave one. What is named after an
operator has its ending before the dot, as PyTorch's overloads have.
"""

from __future__ import annotations

BACKWARD = "_backward"
JVP = "_jvp"

RECORDED = "recorded"
DEFAULT = "default"
"""The attribute of a packet with the overload that has no name, as in PyTorch."""


def operator_of(name: str) -> str:
    """Return the operator's name, which all its overloads share: ``scale`` of ``scale.number``."""
    return name.partition(".")[0]


def overload_of(name: str) -> str:
    """Return the name that the author gave to an overload: ``number`` of ``scale.number``; empty if there is none."""
    return name.partition(".")[2]


def attribute_of(name: str) -> str:
    """Return the attribute of the operator's packet with the overload: ``number``, or ``default``."""
    return overload_of(name) or DEFAULT


def recorded_attribute_of(name: str) -> str:
    """Return the attribute of the operator's packet with the overload's recorded form: ``number_recorded``."""
    return f"{overload_of(name)}_{RECORDED}".removeprefix("_")


def identifier_of(name: str) -> str:
    """Return the name as one word, as a function in C or Python has: ``scale_number``."""
    return name.replace(".", "_")


def with_ending(name: str, ending: str) -> str:
    """Return the name with an ending of the operator's name: ``scale_backward.number``."""
    operator, dot, overload = name.partition(".")
    return operator + ending + dot + overload


def without_tag(name: str, tag: str) -> str:
    """Return an alternative's name as it was written: of ``blur.rank1_out`` with the tag ``rank1``, ``blur.out``."""
    operator, _, overload = name.partition(".")
    rest = overload.removeprefix(tag).removeprefix("_") if tag else overload
    return f"{operator}.{rest}" if rest else operator


def is_backward(name: str) -> bool:
    """Return whether the name is that of a backward."""
    return operator_of(name).endswith(BACKWARD)


def backward_of(name: str, order: int = 1) -> str:
    """Return the name of an operator's backward; `order`: of its backward's backward, and so on."""
    return with_ending(name, BACKWARD * order)


def forward_of(name: str) -> str:
    """Return the name of the operator that a backward belongs to; empty if the name is no backward's."""
    operator, dot, overload = name.partition(".")
    return operator.removesuffix(BACKWARD) + dot + overload if is_backward(name) else ""


def jvp_of(name: str) -> str:
    """Return the name of an operator's forward mode; an author's operators can't have such a name."""
    return f"_{with_ending(name.removeprefix('_'), JVP)}"


def public(names: list[str]) -> list[str]:
    """Return the names without internal ones and backwards of other names."""
    return [name for name in names if not name.startswith("_") and forward_of(name) not in names]


_WORDS = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
)
C_AND_CPP_KEYWORDS = frozenset(_WORDS.split())
"""The words that are no names in C or C++."""


def axis_argument(axis: str) -> str:
    """Return the name of the argument for a forward's axis in its backward's schema; of ``pad[0]``, ``axis_pad_0``."""
    return "axis_" + axis.replace("[", "_").replace("]", "")
