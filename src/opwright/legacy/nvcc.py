"""What ``nvcc`` is for the children of ``opwright run``: the real one, told of architectures that it still knows.

Build scripts of 2017 ask for sm_30 to sm_61, which today's nvcc refuses. Those become the oldest that it knows, with
PTX for every newer one. It also finds TH's and THC's headers. Run as a program, by its path: it imports nothing of
Opwright, so that it starts fast.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

REAL = "OPWRIGHT_REAL_NVCC"
"""In the environment of `opwright run`'s children: the real nvcc."""

_INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
_GENCODE = ("-gencode", "--generate-code")
_SINGLE = ("-arch", "--gpu-architecture", "-code", "--gpu-code")
_ASKED = re.compile(r"\s*arch=(?P<arch>[^,]*),\s*code=[\"'\[\\]*(?P<codes>[^\"'\]\\]*)[\"'\]\\]*\s*")
_ARCHITECTURE = re.compile(r"\b(?P<kind>sm|compute|lto)_(?P<number>\d+)[af]?\b")
_ASKS_ONLY = ("--version", "-V", "--help", "-h", "--list-gpu-arch", "--list-gpu-code", "-arch-ls", "-code-ls")


def mapped(words: Sequence[str], known: Iterable[int]) -> tuple[list[str], list[str]]:
    """The words for nvcc with the architectures that are older than all of ``known`` replaced by the oldest of those.

    Returns:
        The words, and the architectures that were replaced (``sm_30``), in their order.
    """
    oldest = min(known, default=0)
    replaced: dict[str, None] = {}

    def newer(match: re.Match[str]) -> str:
        if int(match["number"]) >= oldest:
            return match[0]
        replaced[match[0]] = None
        return f"{match['kind']}_{oldest}"

    result: list[str] = []
    pairs: dict[tuple[str, str], None] = {}
    for option, value in _options(words):
        asked = _ASKED.fullmatch(value or "") if option in _GENCODE else None
        if asked:
            fresh = [pair for pair in dict.fromkeys(_pairs(asked, newer, oldest)) if pair not in pairs]
            pairs.update(dict.fromkeys(fresh))
            result += [word for arch, code in fresh for word in ("-gencode", f"arch={arch},code={code}")]
        else:
            result.append(option if value is None else f"{option}={_ARCHITECTURE.sub(newer, value)}")
    return result, list(replaced)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Each word; those about architectures with their value, which may be the next word."""
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option not in (*_GENCODE, *_SINGLE):
            yield word, None
        elif equals:
            yield option, value
        else:
            yield option, next(rest, "")


def _pairs(asked: re.Match[str], newer: Callable[[re.Match[str]], str], oldest: int) -> Iterator[tuple[str, str]]:
    """What ``arch=compute_30,code=[sm_30,sm_35]`` asks for, one by one."""
    for code in map(str.strip, asked["codes"].split(",")):
        target = _ARCHITECTURE.sub(newer, code)
        yield _ARCHITECTURE.sub(newer, asked["arch"].strip()), target
        if target != code:  # nothing newer would run it without
            yield f"compute_{oldest}", f"compute_{oldest}"


def known_architectures(nvcc: str) -> list[int]:
    """The numbers of the architectures that ``nvcc`` compiles for; nothing where it can't say (before CUDA 11)."""
    done = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=False)
    return [int(number) for number in re.findall(r"^compute_(\d+)$", done.stdout, re.MULTILINE)]


def main() -> None:
    """Become the real nvcc."""
    nvcc = os.environ.get(REAL, "")
    if not os.access(nvcc, os.X_OK):
        sys.stderr.write(
            f"opwright: there is no nvcc at {nvcc!r} any more\n  likely fix: begin again with opwright run\n"
        )
        sys.exit(127)
    words = sys.argv[1:]
    if words and not any(word in _ASKS_ONLY for word in words):
        known = known_architectures(nvcc)
        words, replaced = mapped(words, known)
        if replaced:
            sys.stderr.write(
                f"opwright: warning: this nvcc knows no {', '.join(replaced)}: compiling for sm_{min(known)} "
                f"and, by way of PTX, everything newer\n"
            )
        words += [word for folder in ("", "TH", "THC") for word in ("-I", os.path.join(_INCLUDE, folder))]
    os.execv(nvcc, [nvcc, *words])  # noqa: S606 - no shell stands in between


if __name__ == "__main__":
    main()
