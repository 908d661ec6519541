"""Which variant of a library a processor gets."""

from __future__ import annotations

import pytest

from opwright.toolchain import find_compiler
from opwright.toolchain.variants import CAPABILITY, DEFAULT, VARIANTS, best, processor_flags

ALL = tuple(VARIANTS)
SKYLAKE = VARIANTS["avx512"].needs | {"sse2", "aes"}
HASWELL = VARIANTS["avx2"].needs | {"sse2"}
NEHALEM = VARIANTS[DEFAULT].needs
CORE2 = NEHALEM - {"sse4_2", "popcnt"}


@pytest.mark.parametrize(
    ("flags", "there", "most", "chosen"),
    [
        (SKYLAKE, ALL, "", "avx512"),
        (SKYLAKE, (DEFAULT, "avx2"), "", "avx2"),
        (SKYLAKE, ALL, "avx2", "avx2"),
        (SKYLAKE, ALL, "default", DEFAULT),
        (SKYLAKE, ALL, "vsx", "avx512"),  # PyTorch's name for another processor's
        (HASWELL, ALL, "", "avx2"),
        (HASWELL, ALL, "avx512", "avx2"),
        (HASWELL - {"movbe"}, ALL, "", DEFAULT),  # as a virtual machine may hide it
        (NEHALEM, ALL, "", DEFAULT),
        (CORE2, ALL, "", None),
        ((), ALL, "", DEFAULT),  # nothing is known of it: not x86-64
        (SKYLAKE, (), "", None),
    ],
)
def test_the_best_that_runs(flags: frozenset[str], there: tuple[str, ...], most: str, chosen: str | None) -> None:
    assert best(there, flags, most) == chosen


def test_pytorchs_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CAPABILITY, "avx2")
    assert best(ALL, SKYLAKE) == "avx2"
    monkeypatch.delenv(CAPABILITY)
    assert best(ALL, SKYLAKE) == "avx512"


def test_this_machine() -> None:
    if not find_compiler("c").target.startswith("x86_64-linux"):
        pytest.skip("not x86-64 Linux")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        line = next(line for line in file if line.startswith("flags"))
    assert processor_flags() == set(line.partition(":")[2].split())
