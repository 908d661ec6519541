"""The text that stands for this processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.toolchain import find_compiler
from opwright.toolchain.compilers import cpu
from opwright.toolchain.compilers.cpu import (
    CAPABILITY,
    DEFAULT,
    VARIANTS,
    best,
    cpu_features,
    features_from,
    processor_flags,
)

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Some CPU @ 2.00GHz
cpu MHz\t\t: 2000.152
flags\t\t: fpu avx2 sse4_2

processor\t: 1
flags\t\t: fpu
"""
ARM = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd sve
CPU implementer\t: 0x41
CPU part\t: 0xd40

"""


def test_it_is_stable_and_says_something() -> None:
    assert cpu_features() == cpu_features()
    assert len(cpu_features()) > 10


def test_what_counts() -> None:
    text = features_from(X86)
    assert "flags=avx2 fpu sse4_2" in text
    assert "model=85" in text
    assert "2000.152" not in text
    assert features_from(X86.replace("2000.152", "1800.3").replace("fpu avx2", "avx2 fpu")) == text
    assert features_from(X86.replace(" avx2", " avx2 avx512f")) != text
    assert features_from(ARM) == "CPU implementer=0x41; CPU part=0xd40; Features=asimd fp sve"
    assert features_from("") == ""


@pytest.mark.parametrize("copies", [1, 500])
def test_only_the_first_processor_is_read(tmp_path: Path, copies: int) -> None:
    (tmp_path / "cpuinfo").write_text(X86 * copies)
    assert cpu._linux_features(str(tmp_path / "cpuinfo")) == features_from(X86)
    (tmp_path / "cpuinfo").write_text("flags: a\n")
    assert cpu._linux_features(str(tmp_path / "cpuinfo")) == "flags=a"


def test_without_proc_it_is_still_a_text(tmp_path: Path) -> None:
    assert isinstance(cpu._linux_features(str(tmp_path / "missing")), str)


ALL = tuple(VARIANTS)
SKYLAKE = VARIANTS["avx512"].required | {"sse2", "aes"}
HASWELL = VARIANTS["avx2"].required | {"sse2"}
NEHALEM = VARIANTS[DEFAULT].required
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
