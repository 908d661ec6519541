"""What this machine's processor can do: part of the key of builds made for it alone."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache

_KEPT = (
    *("vendor_id", "cpu family", "model", "model name", "flags"),  # x86
    *("Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part"),  # aarch64
)


@cache
def cpu_features() -> str:
    """A text that is equal on two machines only if ``-march=native`` means the same on both."""
    if sys.platform == "darwin":
        return f"{platform.machine()} {_darwin_brand()}"
    return f"{platform.machine()} {_linux_features('/proc/cpuinfo')}"


def _linux_features(path: str) -> str:
    """The first processor's lines; the file is read no further, it costs milliseconds on large machines."""
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
    """The lines of ``/proc/cpuinfo``'s first processor that say what code it runs, flags in order."""
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
