"""Builds Opwright's own release wheels: one for every machine, and one with the native runtime prebuilt for this kind.

    tools/build_wheels.py [--torch 2.12 --torch 2.13] [--with PYTHON ...] [--out dist]

For each minor version of PyTorch there is an environment in build/wheels, into which pip installs it; or an interpreter
that has one is named (``--with``). Its downloads are PyTorch's: gigabytes, where pip's index has builds with CUDA.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "wheels"
MINORS = ("2.10", "2.11", "2.12", "2.13")
"""What is built for unless something else is asked for: all that Opwright supports and is tested with."""


def main() -> int:
    """Build both wheels; status 1 where one can't be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="append", default=[], help="a minor version of PyTorch; may be repeated")
    parser.add_argument("--with", dest="pythons", action="append", default=[], help="a Python that has PyTorch already")
    parser.add_argument("--out", default=str(ROOT / "dist"), help="where the wheels go")
    parser.add_argument("--prebuilt-only", action="store_true", help="build the runtimes, and no wheel")
    given = parser.parse_args()
    minors = given.torch or ([] if given.pythons else list(MINORS))
    prebuilt = WORK / "prebuilt"
    shutil.rmtree(prebuilt, ignore_errors=True)  # what another version of Opwright left is of no use
    for python in [*given.pythons, *environments(minors)]:
        run(python, "-m", "opwright.runtime.prebuilt", str(prebuilt), PYTHONPATH=str(ROOT / "src"))
    (prebuilt / "tag").write_text(f"py3-none-{platform_tag(prebuilt)}\n")
    if not given.prebuilt_only:
        wheel(given.out)
        wheel(given.out, OPWRIGHT_PREBUILT=str(prebuilt))
    return 0


def environments(minors: list[str]) -> Iterator[str]:
    """For each minor version of PyTorch the Python of an environment with it, and with what Opwright requires."""
    for minor in minors:
        folder = WORK / f"torch{minor}"
        python = folder / "bin" / "python"
        if not (folder / ".installed").exists():
            run(sys.executable, "-m", "venv", "--clear", str(folder))
            run(str(python), "-m", "pip", "install", "--quiet", f"torch=={minor}.*", str(ROOT))
            (folder / ".installed").touch()
        yield str(python)


def platform_tag(prebuilt: Path) -> str:
    """The manylinux that all of the runtimes allow: PyTorch's libraries, which are there, aside."""
    sys.path.insert(0, str(ROOT / "src"))
    from opwright.packaging.platforms import manylinux
    from opwright.toolchain.needs import needs

    every = [needs(path.read_bytes(), str(path)) for path in sorted(prebuilt.glob("*/*.so"))]
    own = [each._replace(libraries=[name for name in each.libraries if not _is_torchs(name)]) for each in every]
    tag = manylinux(own)
    if tag is None:
        raise SystemExit(f"error: no manylinux tag allows what these need: {[each.libraries for each in own]}")
    return tag


def _is_torchs(name: str) -> bool:
    return name.startswith(("libtorch", "libc10"))


def wheel(out: str, **variables: str) -> None:
    """Build a wheel into `out`."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(ROOT), "--wheel-dir", out, **variables)


def run(*words: str, **variables: str) -> None:
    """Run a program, as it says what it does."""
    sys.stdout.write(f"+ {' '.join(words)}\n")
    sys.stdout.flush()
    subprocess.run(words, check=True, cwd=ROOT, env={**os.environ, **variables})


if __name__ == "__main__":
    sys.exit(main())
