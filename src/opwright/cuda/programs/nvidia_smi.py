"""What ``nvidia-smi`` says of the emulated device, for scripts that ask it for an architecture or for memory.

``opwright run --emulate`` puts it on the PATH, beside nvcc. It answers ``--query-gpu`` (``-i`` and ``--id`` are taken),
``-L`` and a call without options.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

_NAME, _UUID = "Opwright's emulator", "GPU-00000000-0000-0000-0000-000000000000"
_DRIVER, _CUDA = "570.0", "12.8"
_MIB = 16384
_ANSWERS = {
    **dict.fromkeys(("name", "gpu_name"), (_NAME, "")),
    **dict.fromkeys(("uuid", "gpu_uuid"), (_UUID, "")),
    **dict.fromkeys(("utilization.gpu", "utilization.memory"), ("0", " %")),
    "index": ("0", ""),
    **dict.fromkeys(("pci.bus_id", "gpu_bus_id"), ("00000000:00:00.0", "")),
    "count": ("1", ""),
    "driver_version": (_DRIVER, ""),
    "compute_cap": ("8.0", ""),
    "memory.total": (f"{_MIB}", " MiB"),
    "memory.free": (f"{_MIB}", " MiB"),
    "memory.used": ("0", " MiB"),
}
"""The answer to each field, and its unit."""
_WHICH = ("-i", "--id")


def main(arguments: Sequence[str]) -> int:
    """Print what nvidia-smi would with these arguments; return the exit status."""
    options = dict(_options(arguments))
    fields = options.pop("--query-gpu", None)
    form = options.pop("--format", "").split(",")
    for name in _WHICH:
        options.pop(name, None)
    if not options and fields is None:
        _say(f"NVIDIA-SMI {_DRIVER}  Driver Version: {_DRIVER}  CUDA Version: {_CUDA}\n0  {_NAME}  0MiB / {_MIB}MiB")
        return 0
    if fields is None and [*options] == ["-L"]:
        _say(f"GPU 0: {_NAME} (UUID: {_UUID})")
        return 0
    if options or form[0] != "csv" or fields is None:
        asked = " ".join(arguments)
        _say(
            f"opwright: the stand-in of nvidia-smi doesn't know {asked!r}\n"
            "  expected: --query-gpu=FIELDS --format=csv[,noheader][,nounits], -L, or nothing",
            to=sys.stderr,
        )
        return 2
    return _query(fields.split(","), form)


def _say(text: str, to: TextIO | None = None) -> None:
    (to or sys.stdout).write(f"{text}\n")


def _options(arguments: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        found.append((name, value if equals or name != "-i" else next(words, "")))
    return found


def _query(fields: Sequence[str], form: Sequence[str]) -> int:
    fields = [field.strip() for field in fields]
    for field in fields:
        if field not in _ANSWERS:
            _say(f'Field "{field}" is not a valid field to query.\n')
            return 2
    units = {field: _ANSWERS[field][1] for field in fields}
    if "noheader" not in form:
        _say(", ".join(f"{field} [{units[field].strip()}]" if units[field] else field for field in fields))
    _say(", ".join(_ANSWERS[field][0] + ("" if "nounits" in form else units[field]) for field in fields))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
