"""This machine's processor, and the variants of a library for processors better than the baseline."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

_KEPT = (
    *("vendor_id", "cpu family", "model", "model name", "flags"),  # x86
    *("Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part"),  # aarch64
)


@cache
def cpu_features() -> str:
    """Return a string that is equal on two machines only if ``-march=native`` means the same on both."""
    if sys.platform == "darwin":
        return f"{platform.machine()} {_darwin_brand()}"
    return f"{platform.machine()} {_linux_features('/proc/cpuinfo')}"


def _linux_features(path: str) -> str:
    """Read the first processor's lines only: reading the whole file takes milliseconds on large machines."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return platform.processor()
    try:
        text = ""
        while b"\n\n" not in (text_bytes := text.encode()) and (more := os.read(descriptor, 4096)):
            text = (text_bytes + more).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
    return features_from(text)


def features_from(text: str) -> str:
    """Return the lines of ``/proc/cpuinfo``'s first processor that determine its instruction set, flags sorted."""
    facts = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        name, _, value = line.partition(":")
        if name.strip() in _KEPT:
            facts[name.strip()] = " ".join(sorted(value.split()))
    return "; ".join(f"{name}={facts[name]}" for name in sorted(facts))


def _darwin_brand() -> str:
    import ctypes

    size = ctypes.c_size_t(256)
    buffer = ctypes.create_string_buffer(size.value)
    ctypes.CDLL(None).sysctlbyname(b"machdep.cpu.brand_string", buffer, ctypes.byref(size), None, 0)
    return buffer.value.decode("utf-8", "replace")


DEFAULT = "default"
CAPABILITY = "ATEN_CPU_CAPABILITY"
"""PyTorch's variable for the best kernel variant to use, its own or ours: default, avx2 or avx512."""


class Variant(NamedTuple):
    """The compiler flags of a variant, and the processor features that it requires, by ``/proc/cpuinfo``'s names."""

    cflags: tuple[str, ...]
    required: frozenset[str]


# The levels v2 (flags.BASELINE), v3 and v4 of the x86-64 psABI, under PyTorch's names for its own variants.
_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
VARIANTS = {
    DEFAULT: Variant((), _V2),
    "avx2": Variant(("-march=x86-64-v3",), _V3),
    "avx512": Variant(("-march=x86-64-v4", "-mprefer-vector-width=512"), _V4),
}
"""Variants in ascending order; the arithmetic is the same in all, since fusing of multiply-adds is disabled."""


def best(available: Collection[str], flags: Collection[str] | None = None, most: str | None = None) -> str | None:
    """Return the best of the `available` variants that a processor supports; None if it supports none.

    Args:
        available: names in `VARIANTS`.
        flags: the processor's features, by default this machine's. If they are unknown, the default variant is used.
        most: the best variant allowed, by default the value of ``ATEN_CPU_CAPABILITY``.
    """
    known = processor_flags() if flags is None else frozenset(flags)
    limit = os.environ.get(CAPABILITY, "") if most is None else most
    names = list(VARIANTS)
    if limit in VARIANTS:
        names = names[: names.index(limit) + 1]
    if not known:
        return DEFAULT if DEFAULT in available else None
    return next((name for name in reversed(names) if name in available and known >= VARIANTS[name].required), None)


@cache
def processor_flags() -> frozenset[str]:
    """Return the features of this machine's processor; none if it isn't x86-64 or the system doesn't list them."""
    facts = dict(fact.partition("=")[::2] for fact in cpu_features().partition(" ")[2].split("; "))
    return frozenset(facts.get("flags", "").split())
