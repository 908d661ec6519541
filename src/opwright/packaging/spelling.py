"""How a library is written down: in a pyproject.toml as TOML has it, in a setup.py as Python has it."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLE = "my_package.ops"
FILES = '["csrc/*.cpp"]'


def in_python(place: str) -> bool:
    """Whether a description stands in a setup.py."""
    return place.startswith("setup(")


def assigned(key: str, value: str, place: str) -> str:
    """A key with its value, which is the same in both languages."""
    return f'"{key}": {value}' if in_python(place) else f"{key} = {value}"


def described(name: str, place: str) -> str:
    """A library of C++ sources."""
    files = assigned("sources", FILES, place)
    return f'{{"{name}": {{{files}}}}}' if in_python(place) else f'"{name}" = {{ {files} }}'


def unquoted(name: str, table: Mapping[object, object]) -> str:
    """The dotted name that was meant, where quotes are missing around it and tables in tables came of it; else nothing.

    Args:
        name: what has become of it.
        table: what stands there in place of a description.
    """
    if "sources" in table:
        return ""
    for key, inner in table.items():
        # Signatures by function are the only table that a description has.
        if isinstance(inner, Mapping) and ("sources" in inner or not all(isinstance(x, str) for x in inner.values())):
            return unquoted(f"{name}.{key}", inner) or f"{name}.{key}"
    return ""
