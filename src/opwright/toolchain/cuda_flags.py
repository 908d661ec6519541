"""nvcc's command line for a kernel library, and what such a library is linked with.

What is always said, and why:

* ``--extended-lambda --expt-relaxed-constexpr``: what PyTorch's builder says too; sources count on it.
* The host's half gets the words of every other kernel library (flags.py), but none for this machine's processor: it
  only launches kernels. The device's arithmetic is nvcc's own by default, as PyTorch's kernels have it.
* ``-lineinfo``: profilers and compute-sanitizer name the source's lines; the code stays the same.
* ``-objtemp``: what nvcc leaves behind when it is killed goes away with the build's folder.
* The CUDA runtime is linked in (``libcudart_static.a``), so that a library asks for no file of a toolkit and can be
  loaded where there is no GPU, even no driver: a launch says so then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_FOR_BOTH = re.compile(r"-(?:[DUIO]|isystem|-?std=).*|-g", re.DOTALL)
_WITH_A_WORD = ("-D", "-U", "-I", "-isystem", "-include")
_OPTIMISED = ("-O3", "-lineinfo")
_DEBUGGED = ("-g", "-G", "-O0")


def device_flags(*, std: str, debug: bool) -> list[str]:
    """What is said of the language and of code for the device, but for which device it is."""
    return [f"-std={std}", *(_DEBUGGED if debug else _OPTIMISED), "--extended-lambda", "--expt-relaxed-constexpr"]


def for_host(words: Sequence[str]) -> list[str]:
    """``words`` for gcc or clang as nvcc passes them on; those that it knows itself stay as they are."""
    return list(_passed(iter(words)))


def _passed(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if word in _WITH_A_WORD:
            yield from (word, next(words, ""))
        elif _FOR_BOTH.fullmatch(word):
            yield word
        else:
            yield f"-Xcompiler={_quoted(word)}"


def _quoted(word: str) -> str:
    r"""As a word whose commas nvcc leaves alone: elsewhere one ends a word."""
    return '"' + word.replace('"', r"\"") + '"' if "," in word else word


def link_words(home: str | None, target: str) -> list[str]:
    """What a library with CUDA in it is linked with."""
    architecture = target.split("-", 1)[0]
    places = (
        (os.path.join(home, place) for place in ("lib64", "lib", f"targets/{architecture}-linux/lib")) if home else ()
    )
    found = next((place for place in places if os.path.isfile(os.path.join(place, "libcudart_static.a"))), "")
    hidden = ["-Wl,--exclude-libs,libcudart_static.a"] if "linux" in target else []
    return [*([f"-L{found}"] if found else []), "-lcudart_static", *hidden, "-ldl", "-lrt", "-lpthread"]
