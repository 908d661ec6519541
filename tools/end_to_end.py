"""Tests a new user's steps, with pip alone: from Opwright's wheel to the user's own wheel, called by another Python.

    python tools/end_to_end.py [--keep FOLDER]

Builds Opwright's wheel, and installs it, with the PyTorch in constraints.txt, into a new virtual environment. There it
runs `opwright new lltm2 --kernel`, `make test` and `python -m build`. Installs the result into a second environment, of
another Python if one is found, and calls it without a compiler on the PATH. Prints the steps' times. Needs an index.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEWEST, OLDEST = 14, 10
CALL = """
import sys, torch, lltm2
from lltm2 import Lltm2, ops
layer, x = Lltm2(5), torch.randn(3, 5, requires_grad=True)
y = layer(x)
torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (5,), eps=1e-6))
(gradient,) = torch.autograd.grad(y.square().sum(), x)
assert gradient.shape == x.shape and layer.weight.grad is None
assert "site-packages" in lltm2.__file__ and ops.__file__.endswith("__init__.py"), lltm2.__file__
print("Python", sys.version.split()[0], "torch", torch.__version__, lltm2.__file__)
"""

LOAD = """
import ctypes, glob, sys, sysconfig
files = glob.glob(sysconfig.get_path("platlib") + "/lltm2/ops/*.so")
assert files and "torch" not in sys.modules
for file in files:
    ctypes.CDLL(file)
print("Python", sys.version.split()[0], "loaded", len(files), "libraries")
"""


class Steps:
    """Consecutive commands with their times."""

    def __init__(self, folder: Path) -> None:
        """Set up the environment in which pip finds Opwright's wheel in addition to the index's packages."""
        self.house = folder / "house"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")},
            "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {self.house}".strip(),
            "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_QUIET": "1",
        }
        self.began = time.monotonic()

    def run(self, what: str, *command: str | Path, folder: Path | None = None, path: str | None = None) -> str:
        """Run a command and return its output. If it fails, print it to stderr and raise CalledProcessError."""
        began, environment = time.monotonic(), dict(self.environment)
        if path is not None:
            environment.update(PATH=path, CXX="", CC="")
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            raise subprocess.CalledProcessError(done.returncode, [str(word) for word in command])
        return done.stdout

    def environment_of(
        self, python: str | Path, folder: Path, *packages: str | Path, options: Sequence[str] = ()
    ) -> Path:
        """Make a virtual environment, install packages, and return the path of its Python."""
        self.run(f"a virtual environment of {python}", python, "-m", "venv", folder, *options)
        new = folder / "bin" / "python"
        names = ", ".join(Path(each).name for each in packages)
        self.run(f"pip install {names}", new, "-m", "pip", "install", *packages)
        return new


def others() -> Iterator[str]:
    """Yield Pythons of other versions than this one that can make virtual environments, newest first."""
    homes = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    for minor in range(NEWEST, OLDEST - 1, -1):
        for home in homes:
            program = shutil.which(f"python3.{minor}", path=home)
            if program and minor != sys.version_info.minor and _works(program):
                yield program
                break


def _works(program: str, *modules: str) -> bool:
    command = [program, "-c", f"import {', '.join(['ensurepip', 'venv', *modules])}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def pinned_torch() -> str:
    """Return PyTorch's pinned requirement, so that no step lets pip choose a version."""
    found = re.search(r"^torch==[\d.]+", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    if not found:
        raise SystemExit("constraints.txt has no line 'torch==...'")
    return found[0]


def go(folder: Path) -> None:
    """Run all steps in a folder."""
    steps, torch = Steps(folder), pinned_torch()
    steps.run("Opwright's wheel", sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", steps.house, ROOT)
    (wheel,) = steps.house.glob("opwright-*.whl")
    python = steps.environment_of(sys.executable, folder / "first", torch, f"opwright[torch] @ {wheel.as_uri()}")
    project = folder / "lltm2"
    steps.run("opwright new lltm2 --kernel", python.with_name("opwright"), "new", project, "--kernel")
    tested = steps.run("make test", "make", "test", f"PYTHON={python}", folder=project)
    print(" " * 10, tested.strip().splitlines()[-1].strip("= "))
    steps.run("python -m build", python, "-m", "build", folder=project)
    (built,) = project.glob("dist/*.whl")
    print(" " * 10, built.name)
    shutil.rmtree(folder / "first")
    call(steps, folder, torch, built)
    print(f"{time.monotonic() - steps.began:6.1f} s  altogether")


def call(steps: Steps, folder: Path, torch: str, built: Path) -> None:
    """Install the wheel into a second environment and call its operators, by another Python if one has a PyTorch.

    No PyTorch is downloaded for another Python: it might be another build than this one's, of gigabytes. If no other
    Python has one, another Python installs the wheel and loads its libraries, and this Python calls the operators.
    """
    found = list(others())
    program = next((each for each in found if _works(each, "torch")), None)
    if program:
        python = steps.environment_of(program, folder / "second", built, options=["--system-site-packages"])
    else:
        if found:
            load(steps, folder / "other", found[0], built)
        python = steps.environment_of(sys.executable, folder / "second", torch, built)
    print(" " * 10, steps.run("called", python, "-c", CALL, folder=folder, path=str(python.parent)).strip())


def load(steps: Steps, folder: Path, program: str, built: Path) -> None:
    """Install the wheel for a Python without PyTorch, and load its libraries."""
    python = steps.environment_of(program, folder, *steps.house.glob("opwright-*.whl"))
    steps.run(f"pip install --no-deps {built.name}", python, "-m", "pip", "install", "--no-deps", built)
    print(" " * 10, steps.run("libraries loaded", python, "-c", LOAD, folder=folder).strip())


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this folder, and leave it")
    folder = parser.parse_args().keep
    if folder:
        folder.mkdir(parents=True)
        go(folder.absolute())
        return
    with tempfile.TemporaryDirectory(prefix="opwright-") as work:
        go(Path(work))


if __name__ == "__main__":
    main()
