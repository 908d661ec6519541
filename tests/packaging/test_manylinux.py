"""Platform tags from what libraries ask for."""

from __future__ import annotations

import pytest

from opwright.packaging.manylinux import demand, manylinux, uncommon_libraries
from opwright.toolchain.binary.elf import LibraryRequirements


def asking(*symbols: str, libraries: tuple[str, ...] = ("libc.so.6",), machine: str = "x86_64") -> LibraryRequirements:
    return LibraryRequirements(machine, libraries, {"libc.so.6": set(symbols)}, frozenset(), (), (), ())


@pytest.mark.parametrize(
    ("symbols", "glibc"),
    [
        (["GLIBC_2.2.5"], 2),
        (["GLIBC_2.2.5", "GLIBC_2.29", "GLIBC_2.14"], 29),
        (["GLIBCXX_3.4.21"], 24),
        (["GLIBCXX_3.4.29", "GLIBC_2.17"], 34),
        (["GLIBCXX_3.4.33"], 39),
        (["CXXABI_1.3"], 5),
        (["CXXABI_1.3.13"], 34),
        (["GCC_3.0"], 5),
        (["GCC_14.0.0"], 39),
        (["ZLIB_1.2"], 0),
        ([], 0),
    ],
)
def test_the_glibc_that_is_needed(symbols: list[str], glibc: int) -> None:
    assert demand(asking(*symbols)).glibc == glibc


def test_the_tag() -> None:
    assert manylinux([asking("GLIBC_2.14")]) == "manylinux_2_17_x86_64"
    assert manylinux([asking("GLIBC_2.14"), asking("GLIBC_2.31")]) == "manylinux_2_31_x86_64"
    assert manylinux([asking("GLIBC_2.17", machine="aarch64")]) == "manylinux_2_17_aarch64"
    assert manylinux([asking(), asking(machine="aarch64")]) is None
    assert manylinux([asking(libraries=("libz.so.1",))]) is None
    assert uncommon_libraries(asking(libraries=("libz.so.1", "libm.so.6"))) == ["libz.so.1"]
