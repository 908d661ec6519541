"""The C FFI: the cost of calling and of building an extension, against cffi and the compiler alone.

``call``: `my_lib_add_forward` of examples/add on three tensors of 4 elements, against cffi's own function on pointers
to TH tensors with the same memory. ``build``: `python build.py` on sources that were never compiled before, against one
`cc` with the same flags on the same C code and cffi's code for the same header. The clock starts after `import torch`,
whose time is shown separately. ``python benchmarks/legacy_call.py [--rounds 101] [--builds 7]``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from opwright.bench import Result, interleaved, ratio
from opwright.bench.scripts import Timing, summary

HERE = Path(__file__).parent
ADD = HERE.parent / "examples/add"
# The address of the struct, which doesn't change: C code keeps it.
KEPT = "void *my_lib_kept(THFloatTensor *tensor)"
BUILD = """
from opwright.legacy import create_extension
ffi = create_extension("_ext.{name}", "src/my_lib.h", "src/my_lib.c", verbose=False, relative_to=__file__)
if __name__ == "__main__":
    ffi.build()
"""
CLOCK = """
import time
started = time.perf_counter()
import torch
imported = time.perf_counter()
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
print(imported - started, time.perf_counter() - imported)
"""


def project(folder: Path, name: str = "my_lib") -> Path:
    """Copy the example's C code, changed so that it was never compiled before, with a build file; return its path."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for file in ("my_lib.c", "my_lib.h"):
        shutil.copy(ADD / "src" / file, folder / "src" / file)
    with (folder / "src/my_lib.h").open("a") as header:
        header.write(f"{KEPT};\n")
    with (folder / "src/my_lib.c").open("a") as source:
        source.write(f"{KEPT} {{ THFloatTensor_retain(tensor); return tensor; }}\nint unlike_{time.time_ns()};\n")
    build = folder / "build.py"
    build.write_text(BUILD.format(name=name))
    return build


def build(path: Path) -> tuple[float, float]:
    """Return the seconds of `import torch` and of the build, in a fresh process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-c", CLOCK, str(path)]
    done = subprocess.run(words, env=environment, cwd=path.parent, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    imported, built = (float(word) for word in done.stdout.split()[-2:])
    return imported, built


def bare(folder: Path) -> float:
    """Return the seconds of the compiler alone for the project in `folder`, which was built before."""
    import cffi
    from cffi import recompiler

    from opwright.legacy.ffi.declarations import header_text, preamble, typedefs
    from opwright.legacy.ffi.flags import build_options, source_flags
    from opwright.legacy.ffi.request import make_request
    from opwright.toolchain import find_compiler
    from opwright.toolchain.compilers.flags import compile_flags, link_flags

    request = make_request(
        "_ext.bare",
        *("src/my_lib.h", "src/my_lib.c"),
        verbose=False,
        with_cuda=False,
        package=False,
        relative_to=f"{folder}/",
        words={},
    )
    ffi = cffi.FFI()
    ffi.cdef(typedefs() + header_text(request))
    ffi.set_source(request.module, preamble(request))
    recompiler.make_c_source(ffi, request.module, preamble(request), str(folder / "wrapper.c"))
    compiler, how = find_compiler("c"), build_options(request, ())
    words = [*compile_flags(compiler, how, "c"), *source_flags(request, "c", None, compiler)]
    files = [str(folder / "wrapper.c"), str(folder / "src/my_lib.c"), "-o", str(folder / "bare.so")]
    command = [*compiler.command, *words, *files, *link_flags(compiler, how)]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def builds(rounds: int, folder: Path) -> dict[str, Timing]:
    """Measure every variant in turn, on new sources in each round."""
    samples: dict[str, list[float]] = {"import torch": [], "build.py": [], "build.py, unchanged": [], "bare cc": []}
    build(project(folder / "first"))  # builds the TH library, once for each PyTorch
    for turn in range(rounds):
        path = project(folder / str(turn))
        imported, built = build(path)
        samples["import torch"].append(imported)
        samples["build.py"].append(built)
        samples["build.py, unchanged"].append(build(path)[1])
        samples["bare cc"].append(bare(path.parent))
    return {name: summary(taken) for name, taken in samples.items()}


def calls(rounds: int, folder: Path) -> dict[str, Timing]:
    """Time the wrapped function, cffi's own on the same memory, and the wrapping of one argument."""
    build(project(folder))
    sys.path.insert(0, str(folder))
    my_lib: Any = importlib.import_module("_ext.my_lib")
    tensors = [torch.randn(4), torch.randn(4), torch.zeros(4)]
    lib, ffi = my_lib._lib, my_lib._ffi  # noqa: SLF001 - the generated module's
    pointers = [ffi.cast("struct THFloatTensor *", my_lib.my_lib_kept(tensor)) for tensor in tensors]
    wrapped, own = my_lib.my_lib_add_forward, lib.my_lib_add_forward
    assert wrapped(*tensors) == own(*pointers) == 1
    a, b, c = tensors
    p, q, r = pointers
    candidates: dict[str, Callable[[], object]] = {
        "call": lambda: wrapped(a, b, c),
        "cffi alone": lambda: own(p, q, r),
        "torch.add(out=)": lambda: torch.add(a, b, out=c),
    }
    return interleaved(candidates, rounds=rounds, seconds=0.01)


def allowed(timing: Timing, factor: float, more: float) -> Timing:
    """Return the time that a target allows relative to `timing`, round by round."""
    return summary([factor * sample + more for sample in timing.samples])


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--builds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        called = calls(options.rounds, folder / "calls")
        built = builds(options.builds, folder / "builds")
    result = Result("legacy_call", "The C FFI: a call on three tensors of 4 elements; a build", {**called, **built})
    over_cffi = ratio(called["call"], allowed(called["cffi alone"], 2, 1e-6))
    over_cc = ratio(built["build.py"], allowed(built["bare cc"], 1.5, 1))
    for label, value, target in (
        ("call / (2 x cffi alone + 1 µs)", over_cffi, "<= 1"),
        ("call / cffi alone", ratio(called["call"], called["cffi alone"]), ""),
        ("build.py / (1.5 x bare cc + 1 s)", over_cc, "<= 1"),
        ("build.py / bare cc", ratio(built["build.py"], built["bare cc"]), ""),
    ):
        result.ratios[label], result.targets[label] = value, target
    result.finish(HERE / "results")


if __name__ == "__main__":
    main()
