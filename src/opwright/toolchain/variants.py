"""Variants of a library for better processors than the baseline, and which of them this machine's processor runs."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from opwright.toolchain.cpu import cpu_features

DEFAULT = "default"
CAPABILITY = "ATEN_CPU_CAPABILITY"
"""PyTorch's own variable: the best of its kernels, and of ours, that may be used: default, avx2 or avx512."""


@dataclass(frozen=True)
class Variant:
    """How a variant is compiled, and what a processor has to have for it, as ``/proc/cpuinfo`` names it."""

    cflags: tuple[str, ...]
    needs: frozenset[str]


# The levels of the x86-64 psABI: v2 (what flags.BASELINE asks for), v3 and v4, by PyTorch's names for its own variants.
_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
VARIANTS = {
    DEFAULT: Variant((), _V2),
    "avx2": Variant(("-march=x86-64-v3",), _V3),
    "avx512": Variant(("-march=x86-64-v4", "-mprefer-vector-width=512"), _V4),
}
"""From the least to the best: the same arithmetic in each, since no compiler may fuse what isn't written fused."""


def best(there: Collection[str], flags: Collection[str] | None = None, most: str | None = None) -> str | None:
    """The best of the variants that are `there` which a processor runs; None where it runs none of them.

    Args:
        there: names in `VARIANTS`.
        flags: what the processor has; by default this machine's. Where nothing is known of it, it gets the default.
        most: nothing better than this one; by default what ``ATEN_CPU_CAPABILITY`` says.
    """
    known = processor_flags() if flags is None else frozenset(flags)
    asked = os.environ.get(CAPABILITY, "") if most is None else most
    names = list(VARIANTS)
    if asked in VARIANTS:
        names = names[: names.index(asked) + 1]
    if not known:
        return DEFAULT if DEFAULT in there else None
    return next((name for name in reversed(names) if name in there and known >= VARIANTS[name].needs), None)


@cache
def processor_flags() -> frozenset[str]:
    """What this machine's processor has; nothing where that isn't x86-64 or isn't told."""
    facts = dict(fact.partition("=")[::2] for fact in cpu_features().partition(" ")[2].split("; "))
    return frozenset(facts.get("flags", "").split())
