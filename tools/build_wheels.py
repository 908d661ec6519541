"""Builds Opwright's release wheels: one for all machines, and one with the native runtime prebuilt for this platform.

    tools/build_wheels.py [--torch 2.12 --torch 2.13] [--with PYTHON ...] [--out dist]

For each minor version of PyTorch, pip installs it into an environment in build/wheels, or ``--with`` names an
interpreter that has it. The downloads of PyTorch take gigabytes if pip's index has builds with CUDA.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "wheels"
MINORS = runpy.run_path(str(ROOT / "src" / "opwright" / "_version.py"))["TESTED_PYTORCH"]
"""The default: all versions that Opwright was tested with (docs/versions.md)."""


def main() -> int:
    """Build both wheels; exit with status 1 if one can't be built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="append", default=[], help="a minor version of PyTorch; may be repeated")
    parser.add_argument("--with", dest="pythons", action="append", default=[], help="a Python that has PyTorch already")
    parser.add_argument("--out", default=str(ROOT / "dist"), help="where the wheels go")
    parser.add_argument("--prebuilt-only", action="store_true", help="build the runtimes, and no wheel")
    given = parser.parse_args()
    minors = given.torch or ([] if given.pythons else list(MINORS))
    prebuilt = WORK / "prebuilt"
    shutil.rmtree(prebuilt, ignore_errors=True)  # remove the files of another version of Opwright
    sys.path.insert(0, str(ROOT / "src"))
    from opwright.packaging import runtimes

    for python in given.pythons:
        runtimes.build(python, prebuilt, [str(ROOT / "src")], f"the runtime for {python}")
    for minor in minors:
        runtimes.add(minor, prebuilt, WORK, print, requirements=[str(ROOT)])
    (prebuilt / "tag").write_text(f"py3-none-{platform_tag(prebuilt)}\n")
    if not given.prebuilt_only:
        wheel(given.out)
        wheel(given.out, OPWRIGHT_PREBUILT=str(prebuilt))
    return 0


def platform_tag(prebuilt: Path) -> str:
    """Return the manylinux tag that all runtimes allow, not counting PyTorch's libraries, which users have anyway."""
    from opwright.packaging.manylinux import manylinux, without_pytorch
    from opwright.toolchain.binary.elf import library_requirements

    every = [library_requirements(path.read_bytes(), str(path)) for path in sorted(prebuilt.glob("*/*.so"))]
    own = [without_pytorch(each) for each in every]
    tag = manylinux(own)
    if tag is None:
        raise SystemExit(f"error: no manylinux tag allows what these need: {[each.libraries for each in own]}")
    return tag


def wheel(out: str, **variables: str) -> None:
    """Build a wheel into `out`."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(ROOT), "--wheel-dir", out, **variables)


def run(*words: str, **variables: str) -> None:
    """Print a command and run it."""
    sys.stdout.write(f"+ {' '.join(words)}\n")
    sys.stdout.flush()
    subprocess.run(words, check=True, cwd=ROOT, env={**os.environ, **variables})


if __name__ == "__main__":
    sys.exit(main())
