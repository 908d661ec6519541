"""Runs NVRTC in a separate process, which can be killed, and whose crash doesn't affect the caller.

``python worker.py JOB`` runs the job in a JSON file (see `run`). ``python worker.py --architectures LIBRARY BUILTINS``
prints the supported architectures. This file imports nothing from Opwright.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

PTX, CUBIN = "ptx", "cubin"


def run(job: dict[str, Any]) -> int:
    """Compile a source; return 0, or 1 if NVRTC refused it, after printing NVRTC's messages on standard output.

    Args:
        job: ``library`` and ``builtins`` (paths), ``source`` (a path), ``name`` (the source's name in messages),
            ``options``, ``expressions`` (the kernels' name expressions), ``kind`` (``ptx`` or ``cubin``), ``output``
            (the image's path) and ``names`` (the path for a JSON object from expressions to lowered names).
    """
    nvrtc = _loaded(job["library"], job["builtins"])
    with open(job["source"], "rb") as file:
        text = file.read()
    program = ctypes.c_void_p()
    _checked(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, job["name"].encode(), 0, None, None))
    for expression in job["expressions"]:
        _checked(nvrtc, nvrtc.nvrtcAddNameExpression(program, expression.encode()))
    options = [option.encode("utf-8", "surrogateescape") for option in job["options"]]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = _read(nvrtc, program, "ProgramLog").rstrip(b"\0\n")
    if log:
        sys.stdout.buffer.write(log + b"\n")
    if status:
        if not log:
            sys.stdout.write(f"NVRTC: {_text(nvrtc, status)}\n")
        return 1
    with open(job["output"], "wb") as file:
        file.write(_read(nvrtc, program, "PTX" if job["kind"] == PTX else "CUBIN"))
    with open(job["names"], "w", encoding="utf-8") as file:
        json.dump({expression: _lowered(nvrtc, program, expression) for expression in job["expressions"]}, file)
    return 0


def architectures(library: str, builtins: str) -> int:
    """Print the numbers of the architectures that NVRTC supports."""
    nvrtc = _loaded(library, builtins)
    count = ctypes.c_int()
    _checked(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _checked(nvrtc, nvrtc.nvrtcGetSupportedArchs(numbers))
    sys.stdout.write(" ".join(map(str, numbers)))
    return 0


def _loaded(library: str, builtins: str) -> Any:
    """Load NVRTC's builtins, which NVRTC would search for only on the loader's path, and then NVRTC."""
    if builtins:
        ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(library)


def _read(nvrtc: Any, program: Any, what: str) -> bytes:
    size = ctypes.c_size_t()
    _checked(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _checked(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw[: size.value]


def _lowered(nvrtc: Any, program: Any, expression: str) -> str:
    name = ctypes.c_char_p()
    _checked(nvrtc, nvrtc.nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name)))
    return (name.value or b"").decode()


def _text(nvrtc: Any, status: int) -> str:
    function = nvrtc.nvrtcGetErrorString
    function.restype = ctypes.c_char_p
    text: bytes = function(status)
    return text.decode()


def _checked(nvrtc: Any, status: int) -> None:
    if status:
        sys.stdout.write(f"NVRTC: {_text(nvrtc, status)}\n")
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "--architectures":
        sys.exit(architectures(*sys.argv[2:]))
    with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as job_file:
        sys.exit(run(json.load(job_file)))
