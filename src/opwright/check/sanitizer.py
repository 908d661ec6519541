"""Starts the child process whose kernels are built with a sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opwright.check.context import Context
from opwright.check.handover import handed
from opwright.check.registry import Skipped

if TYPE_CHECKING:
    from opwright.codegen import KernelSource

_SECONDS = 300
_CALLS = {"quick": 10, "normal": 30, "thorough": 1000}
SANITIZERS: Mapping[str, str] = {"address": "asan", "undefined": "ubsan", "thread": "tsan"}
"""What can be asked for, and what its library is called."""
_LAYOUT = "unexpected memory mapping"
"""What ThreadSanitizer says where the kernel scatters libraries over more of the memory than it can keep account of."""

Done = subprocess.CompletedProcess[str]


def run(context: Context, sanitizers: str, environment: Mapping[str, str], *, threads: int = 0) -> Done:
    """Run the operator's calls in a process whose kernels are built with `sanitizers`.

    The Python runtime, since the native one would be built with sanitizers too, which takes minutes.

    Args:
        context: whose operator it is.
        sanitizers: as the compiler names them, ``"address,undefined"``.
        environment: what the process gets beside.
        threads: how many call it at once, after one did.

    Raises:
        Skipped: it can't be done, or takes too long.
    """
    context.only_on_the_cpu("sanitizers watch what runs there")
    sources = handed(_sources(context))
    libraries = [_library(name) for name in sanitizers.split(",")]
    words = [sys.executable, "-m", "opwright.check.child", context.subject.name, str(context.seed)]
    words += [str(_CALLS[context.level] // (3 if threads else 1)), str(threads)]
    given = {
        **os.environ,
        **environment,
        "OPWRIGHT_SANITIZE": sanitizers,
        "OPWRIGHT_RUNTIME": "python",
        "LD_PRELOAD": " ".join(libraries),
    }
    done = _ended(words, sources, given)
    if _LAYOUT in done.stderr and (setarch := shutil.which("setarch")):
        done = _ended([setarch, "--addr-no-randomize", *words], sources, given)
    if done.returncode == 0 and not taken_calls(done):
        raise Skipped(f"the kernel refused all {done.stdout.count('{')} calls")
    return done


def _ended(words: list[str], sources: str, environment: dict[str, str]) -> Done:
    try:
        return subprocess.run(
            words, input=sources, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"the child process didn't end within {_SECONDS} s") from error


def failed(done: Done) -> Skipped:
    """What to raise for a child that ended with an error that is no sanitizer's."""
    return Skipped(f"the child process couldn't run: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


def taken_calls(done: Done) -> int:
    """How many calls the kernel took, in a child that came to its end."""
    last = (done.stdout.splitlines() or [""])[-1]
    return int(last) if last.isdigit() else 0


def called(done: Done) -> str:
    """Which call was the last."""
    calls = [line for line in done.stdout.splitlines() if not line.isdigit()]
    return f"\n  in the call with shapes {(calls or ['none'])[-1]}"


def adding(wanted: Sequence[str]) -> list[str]:
    """The checks that `wanted` sanitizers ask for.

    Raises:
        ValueError: one of them is none.
    """
    if unknown := [name for name in wanted if name not in SANITIZERS]:
        raise ValueError(f"check() got sanitize={unknown[0]!r}, expected some of {', '.join(map(repr, SANITIZERS))}")
    return sorted({"data races" if name == "thread" else "sanitizers" for name in wanted})


def asked(context: Context, *known: str) -> list[str]:
    """Those of `known` that are wanted: all of them, unless the caller said which.

    Raises:
        Skipped: none is.
    """
    wanted = context.options.get("sanitize") or SANITIZERS
    if not (found := [name for name in known if name in wanted]):
        raise Skipped(f"not asked for: sanitize={tuple(wanted)!r}")
    return found


def _sources(context: Context) -> tuple[KernelSource, ...]:
    sources = context.subject.sources
    if not sources:
        raise Skipped("it wasn't loaded from a source file")
    if any(source.source.language == "cuda" for source in sources):
        raise Skipped("a CUDA source: load it with backend=opwright.emulate(check=True)")
    return sources


def _library(sanitizer: str) -> str:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise Skipped("there is no C++ compiler")
    name = f"lib{SANITIZERS[sanitizer]}.so"
    said = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout
    if not os.path.isabs(said.strip()):
        raise Skipped(f"{compiler} has no {name}")
    return said.strip()
