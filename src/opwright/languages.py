"""The languages of source files, and the suffixes by which they are told apart."""

from __future__ import annotations

from typing import Literal

Language = Literal["c", "c++", "cuda"]

SUFFIXES: dict[Language, tuple[str, ...]] = {
    "c": (".c",),
    "c++": (".cpp", ".cc", ".cxx", ".C", ".c++"),
    "cuda": (".cu", ".cuh"),
}
"""The suffixes of each language's files; the first is the usual one."""

LANGUAGES: dict[str, Language] = {suffix: language for language, suffixes in SUFFIXES.items() for suffix in suffixes}
"""The language of each suffix."""
