"""On which Linux distributions a library can be loaded: what the manylinux tags allow (PEP 600)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opwright.toolchain.needs import Needs

# What every distribution has, by the policies of PyPA's auditwheel. Others have to be within the wheel.
_SYSTEM = frozenset(
    {
        *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libanl.so.1"),
        *("libgcc_s.so.1", "libstdc++.so.6", "libmvec.so.1", "libresolv.so.2", "libnsl.so.1"),
        *("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1"),
    }
)
# The newest version of GCC's libraries that distributions with this minor version of glibc 2, or a newer one, have
# (auditwheel's policies; which release of GCC brought which: the ABI history in libstdc++'s manual).
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
"""What has yet newer ones, GCC 14's."""
_OLDEST = 17
"""manylinux2014, the oldest that pip and PyPI still serve; aarch64 begins with it."""
_VERSION = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)")


class Demand(NamedTuple):
    """That a version of the system's libraries is needed: the minor version of glibc 2 that goes with it, and why."""

    glibc: int
    symbol: str


def demand(needs: Needs) -> Demand:
    """The newest glibc, or what comes with one, that a library asks for."""
    return max(_demands(needs), default=Demand(0, ""))


def foreign(needs: Needs) -> list[str]:
    """The libraries that it needs and that not every distribution has."""
    return [name for name in needs.libraries if name not in _SYSTEM]


def manylinux(every: Iterable[Needs]) -> str | None:
    """The platform tag of a wheel with these libraries; None where they need what no manylinux promises."""
    every = list(every)
    machines = {needs.machine for needs in every}
    if len(machines) != 1 or any(foreign(needs) for needs in every):
        return None
    return f"manylinux_2_{max(_OLDEST, *(demand(needs).glibc for needs in every))}_{machines.pop()}"


def _demands(needs: Needs) -> Iterator[Demand]:
    for names in needs.versions.values():
        for name in names:
            match = _VERSION.fullmatch(name)
            if match:
                yield Demand(_number(match)[1] if match[1] == "GLIBC" else _that_brings(match), name)


def _that_brings(asked: re.Match[str]) -> int:
    """The oldest glibc, by its minor version, that comes with GCC's libraries of a version."""
    for minor, names in _WITH_GLIBC.items():
        for known in _VERSION.finditer(names):
            if known[1] == asked[1] and _number(asked) <= _number(known):
                return minor
    return _NEWEST


def _number(version: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, version[2].split(".")))
