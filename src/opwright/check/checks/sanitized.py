"""Under sanitizers: the same calls in a child process whose kernels are built with them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from opwright.check.context import Context
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.subject import Subject

_SECONDS = 300
_CALLS = {"quick": 10, "normal": 30, "thorough": 1000}
_PLACE = re.compile(r"#\d+ 0x\S+ in (.+?) (/\S+?\.\w+:\d+)")
_UNDEFINED = re.compile(r"^(\S+?:\d+):\d+: runtime error: (.+)$", re.MULTILINE)
_ADDRESS = re.compile(r"ERROR: AddressSanitizer: (\S+)")
_KINDS = {"signed integer overflow": "integer-overflow", "division by zero": "division-by-zero"}


@register("sanitizers", group="sanitizers", level="normal", share=1.0)
def sanitizers(context: Context) -> Iterator[Finding]:
    """Kernels built with AddressSanitizer and UndefinedBehaviorSanitizer, in a child process, report nothing."""
    subject = context.subject
    path = _source(subject)
    libraries = [_library(name) for name in ("libasan.so", "libubsan.so")]
    done = _run(context, path, {"OPWRIGHT_SANITIZE": "address,undefined", "LD_PRELOAD": " ".join(libraries)})
    calls = done.stdout.count("\n")
    context.detail = f"{calls} calls, forward and backward, in a child process"
    if found := _found(done, path):
        yield found


def _source(subject: Subject) -> str:
    sources = subject.sources
    if not sources or any(s.is_text for s in sources) or len(sources) != 1:
        raise Skipped("it wasn't loaded from one source file")
    if sources[0].source.language == "cuda":
        raise Skipped("a CUDA source: load it with backend=opwright.emulate(check=True)")
    return str(sources[0].path)


def _library(name: str) -> str:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise Skipped("there is no C++ compiler")
    said = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not os.path.isabs(said):
        raise Skipped(f"{compiler} has no {name}")
    return said


def _run(context: Context, path: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The Python runtime, since the native one would be built with sanitizers too, which takes minutes."""
    words = [
        *(sys.executable, "-m", "opwright.check.child", path, "{}", context.subject.name),
        *(str(context.seed), str(_CALLS[context.level])),
    ]
    given = {
        **os.environ,
        **environment,
        "OPWRIGHT_RUNTIME": "python",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "UBSAN_OPTIONS": "halt_on_error=1",
    }
    try:
        return subprocess.run(words, env=given, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"the child process didn't end within {_SECONDS} s") from error


def _found(done: subprocess.CompletedProcess[str], path: str) -> Finding | None:
    last = (done.stdout.splitlines() or ["none"])[-1]
    where = f"\n  in the call with shapes {last}"
    if undefined := _UNDEFINED.search(done.stderr):
        kind = next((name for text, name in _KINDS.items() if text in undefined[2]), "undefined-behaviour")
        return Finding(kind, f"{undefined[1]}: {undefined[2]}{where}")
    if address := _ADDRESS.search(done.stderr):
        places = [place for _, place in _PLACE.findall(done.stderr)]
        own = next((place for place in places if place.rpartition(":")[0] == path), places[0] if places else path)
        kind = "out-of-bounds" if "overflow" in address[1] else "bad-memory-access"
        return Finding(kind, f"{own}: AddressSanitizer says {address[1]}{where}")
    if done.returncode < 0:
        return Finding("crashes", f"the process ended by signal {-done.returncode}{where}")
    if done.returncode:
        raise Skipped(f"the child process couldn't run: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return None
