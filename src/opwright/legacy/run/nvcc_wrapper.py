"""The ``nvcc`` of ``opwright run``'s children: the real one, with architectures that it supports.

Build scripts of 2017 request sm_30 to sm_61, which today's nvcc rejects. They are replaced by the oldest supported
architecture, with PTX for all newer ones. TH's and THC's headers are added to the search path. A project's copy of
THC's atomics, which defines functions that CUDA has today, is replaced by ours: ours comes first, and has its include
guard. This file runs as a program, by its path; it imports nothing from Opwright, so that it starts fast.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

REAL = "OPWRIGHT_REAL_NVCC"
"""Environment variable of `opwright run`'s children: the path of the real nvcc."""

_INCLUDE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "include")
_GENCODE = ("-gencode", "--generate-code")
_SINGLE = ("-arch", "--gpu-architecture", "-code", "--gpu-code")
_ASKED = re.compile(r"\s*arch=(?P<arch>[^,]*),\s*code=[\"'\[\\]*(?P<codes>[^\"'\]\\]*)[\"'\]\\]*\s*")
_ARCHITECTURE = re.compile(r"\b(?P<kind>sm|compute|lto)_(?P<number>\d+)[af]?\b")
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_COPY = re.compile(rb"^[ \t]*#[ \t]*ifndef[ \t]+THC_ATOMICS_INC\b", re.MULTILINE)
_ASKS_ONLY = ("--version", "-V", "--help", "-h", "--list-gpu-arch", "--list-gpu-code", "-arch-ls", "-code-ls")


def replace_old_architectures(arguments: Sequence[str], known: Iterable[int]) -> tuple[list[str], list[str]]:
    """Replace the architectures in nvcc's flags that are older than all of ``known`` by the oldest in ``known``.

    Returns:
        The arguments, and the architectures that were replaced (``sm_30``), in order.
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
    for option, value in _options(arguments):
        match = _ASKED.fullmatch(value or "") if option in _GENCODE else None
        if match:
            fresh = [pair for pair in dict.fromkeys(_pairs(match, newer, oldest)) if pair not in pairs]
            pairs.update(dict.fromkeys(fresh))
            result += [word for arch, code in fresh for word in ("-gencode", f"arch={arch},code={code}")]
        else:
            result.append(option if value is None else f"{option}={_ARCHITECTURE.sub(newer, value)}")
    return result, list(replaced)


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each argument; architecture options come with their value, which may be the next argument."""
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if option not in (*_GENCODE, *_SINGLE):
            yield argument, None
        elif equals:
            yield option, value
        else:
            yield option, next(rest, "")


def _pairs(match: re.Match[str], newer: Callable[[re.Match[str]], str], oldest: int) -> Iterator[tuple[str, str]]:
    """Yield the single (arch, code) pairs of ``arch=compute_30,code=[sm_30,sm_35]``."""
    for code in map(str.strip, match["codes"].split(",")):
        target = _ARCHITECTURE.sub(newer, code)
        yield _ARCHITECTURE.sub(newer, match["arch"].strip()), target
        if target != code:  # without PTX, newer GPUs couldn't run it
            yield f"compute_{oldest}", f"compute_{oldest}"


def known_architectures(nvcc: str) -> list[int]:
    """Return the architectures that ``nvcc`` supports, as numbers; empty if it can't list them (before CUDA 11)."""
    done = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=False)
    return [int(number) for number in re.findall(r"^compute_(\d+)$", done.stdout, re.MULTILINE)]


def includes_own_atomics(arguments: Sequence[str]) -> bool:
    """Return whether a CUDA source includes its project's copy of ``THCAtomics.cuh``, known by its include guard."""
    words = iter(arguments)
    folders = [word[2:] or next(words, "") for word in words if word.startswith("-I")]
    waiting = [word for word in arguments if word.endswith((".cu", ".cuh"))]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        if os.path.realpath(path) in seen or not os.path.isfile(path):
            continue
        seen.add(os.path.realpath(path))
        with open(path, "rb") as file:
            text = file.read()
        if _COPY.search(text):
            return True
        names = [os.fsdecode(name) for name in _QUOTED.findall(text)]
        waiting += [os.path.join(folder, name) for name in names for folder in (os.path.dirname(path), *folders)]
    return False


def main() -> None:
    """Replace this process by the real nvcc."""
    nvcc = os.environ.get(REAL, "")
    if not os.access(nvcc, os.X_OK):
        sys.stderr.write(
            f"opwright: there is no nvcc at {nvcc!r} any more\n  likely fix: begin again with opwright run\n"
        )
        sys.exit(127)
    arguments = sys.argv[1:]
    if arguments and not any(argument in _ASKS_ONLY for argument in arguments):
        known = known_architectures(nvcc)
        arguments, replaced = replace_old_architectures(arguments, known)
        if replaced:
            sys.stderr.write(
                f"opwright: warning: this nvcc knows no {', '.join(replaced)}: compiling for sm_{min(known)} "
                f"and, by way of PTX, everything newer\n"
            )
        if includes_own_atomics(arguments):
            arguments += ["-include", os.path.join(_INCLUDE, "THC", "THCAtomics.cuh")]
        arguments += [argument for folder in ("", "TH", "THC") for argument in ("-I", os.path.join(_INCLUDE, folder))]
    os.execv(nvcc, [nvcc, *arguments])  # noqa: S606 - no shell is involved


if __name__ == "__main__":
    main()
