"""Runs NVRTC, in a process of its own: it can be stopped, and whatever becomes of it, the caller lives on.

``python worker.py JOB``: the job is a JSON file; `run` says what is in it. ``python worker.py --architectures LIBRARY
BUILTINS`` writes what NVRTC compiles for. Imports nothing of Opwright's.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

PTX, CUBIN = "ptx", "cubin"


def run(job: dict[str, Any]) -> int:
    """Compile; 0, or 1 after NVRTC has refused the text, which it says on standard output.

    Args:
        job: ``library`` and ``builtins`` (paths), ``source`` (a path), ``name`` (of the source, for messages),
            ``options``, ``expressions`` (kernels), ``kind`` (``ptx`` or ``cubin``), ``output`` (a path for the image)
            and ``names`` (a path for the JSON object from expressions to the kernels' names in it).
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
    """Write the numbers of the architectures that NVRTC compiles for."""
    nvrtc = _loaded(library, builtins)
    count = ctypes.c_int()
    _checked(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _checked(nvrtc, nvrtc.nvrtcGetSupportedArchs(numbers))
    sys.stdout.write(" ".join(map(str, numbers)))
    return 0


def _loaded(library: str, builtins: str) -> Any:
    """NVRTC, with its builtins before it: it would look for those on the loader's path alone."""
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
