"""The manylinux tags (PEP 600): the Linux distributions on which a library can be loaded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opwright.toolchain.binary.elf import LibraryRequirements

# Libraries of every distribution, by the policies of PyPA's auditwheel. All others must be in the wheel.
_SYSTEM = frozenset(
    {
        *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libanl.so.1"),
        *("libgcc_s.so.1", "libstdc++.so.6", "libmvec.so.1", "libresolv.so.2", "libnsl.so.1"),
        *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1"),
    }
)
# By minor version of glibc 2: the newest versions of GCC's libraries in distributions with this or a newer glibc
# (auditwheel's policies; for the versions of each GCC release, see the ABI history in libstdc++'s manual).
_WITH_GLIBC = {
    5: "GLIBCXX_3.4.8 CXXABI_1.3.1 GCC_4.2.0",
    12: "GLIBCXX_3.4.13 CXXABI_1.3.3 GCC_4.3.0",
    17: "GLIBCXX_3.4.19 CXXABI_1.3.7 GCC_4.8.0",
    24: "GLIBCXX_3.4.22 CXXABI_1.3.10",
    27: "GLIBCXX_3.4.24 CXXABI_1.3.11 GCC_7.0.0",
    31: "GLIBCXX_3.4.28 CXXABI_1.3.12",
    34: "GLIBCXX_3.4.29 CXXABI_1.3.13",
    35: "GLIBCXX_3.4.30 GCC_12.0.0",
}
_NEWEST = 39
"""The glibc of distributions with yet newer versions, GCC 14's."""
_OLDEST = 17
"""manylinux2014, the oldest that pip and PyPI still support, and the first for aarch64."""
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)")


class Demand(NamedTuple):
    """A requirement on the system's libraries: the minor version of glibc 2, and the symbol version that needs it."""

    glibc: int
    symbol: str


def demand(needs: LibraryRequirements) -> Demand:
    """Return the highest demand of a library: its newest required version of glibc or of GCC's libraries."""
    return max(_demands(needs), default=Demand(0, ""))


def uncommon_libraries(needs: LibraryRequirements) -> list[str]:
    """Return the required libraries that not every distribution has."""
    return [name for name in needs.libraries if name not in _SYSTEM]


def manylinux(every: Iterable[LibraryRequirements]) -> str | None:
    """Return the platform tag of a wheel with these libraries; None if no manylinux tag covers their requirements."""
    every = list(every)
    machines = {needs.machine for needs in every}
    if len(machines) != 1 or any(uncommon_libraries(needs) for needs in every):
        return None
    return f"manylinux_2_{max(_OLDEST, *(demand(needs).glibc for needs in every))}_{machines.pop()}"


def without_pytorch(needs: LibraryRequirements) -> LibraryRequirements:
    """Return a library's requirements without PyTorch's libraries, which are there wherever a runtime is loaded."""
    libraries = tuple(name for name in needs.libraries if not name.startswith(("libtorch", "libc10")))
    return needs._replace(libraries=libraries)


def _demands(needs: LibraryRequirements) -> Iterator[Demand]:
    for names in needs.versions.values():
        for name in names:
            match = _VERSION.fullmatch(name)
            if match:
                yield Demand(_number(match)[1] if match[1] == "GLIBC" else _that_brings(match), name)


def _that_brings(required: re.Match[str]) -> int:
    """Return the minor version of the oldest glibc whose distributions have the required GCC library version."""
    for minor, names in _WITH_GLIBC.items():
        for known in _VERSION.finditer(names):
            if known[1] == required[1] and _number(required) <= _number(known):
                return minor
    return _NEWEST


def _number(version: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, version[2].split(".")))
