"""Prebuilt native runtimes for wheels: one for each minor version of PyTorch that is named, built in a child process.

What is built needs that PyTorch's headers and libraries: those of the Python that is building, or of an environment
into which pip installs them. PyTorch isn't imported here; this module needs nothing but the standard library, since it
also builds Opwright's own wheels (tools/build_wheels.py).
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from opwright._version import format_minor
from opwright.errors import PackagingError
from opwright.toolchain.binary.prebuilt import FACTS, LIBRARY, folder_name

FOLDER = "runtimes"
"""The folder in a package of operators that holds the runtimes which its wheel carries."""

_ADD = (
    "import sys; from pathlib import Path; sys.path += sys.argv[2:]; "
    "from opwright.runtime.native import prebuilt, runtime; "
    "prebuilt.add(Path(sys.argv[1]), runtime.build_native().path)"
)


def files(minors: Iterable[str]) -> list[str]:
    """Return the files that `add` writes for these versions, relative to its folder."""
    return [f"{folder_name(minor)}/{file}" for minor in minors for file in (LIBRARY, FACTS)]


def add(minor: str, folder: Path, work: Path, say: Callable[[str], None], *, requirements: Sequence[str] = ()) -> None:
    """Put the runtime for a minor version of PyTorch into `folder`.

    It is copied if the installed Opwright carries it; else it is built with the PyTorch of this Python, if that is of
    this minor version, or with one that pip installs into an environment below `work`.

    Args:
        minor: such as ``"2.13"``.
        folder: receives a folder with the runtime and what it was built for.
        work: where environments are made, and left for the next time.
        say: called with a line of text before a step that takes time.
        requirements: what pip installs into the environment beside PyTorch; by default nothing: the child process uses
            this process's Opwright.

    Raises:
        PackagingError: there is no such PyTorch for this Python and platform, or the runtime can't be built for it.
    """
    import opwright

    own = Path(opwright.__file__).parent / "runtime" / "native" / "prebuilt" / folder_name(minor)
    if own.is_dir():
        shutil.copytree(own, folder / own.name)
        return
    python, searched = sys.executable, [os.path.abspath(path) for path in sys.path]
    if installed() != minor:
        python = str(environment(minor, work, say, requirements))
    say(f"building the runtime for PyTorch {minor} (half a minute to a minute)")
    build(python, folder, searched, f"the runtime for PyTorch {minor}")


def installed() -> str | None:
    """Return the minor version of PyTorch in this Python, without importing it; None if it isn't installed."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None
    return format_minor(version)


def environment(minor: str, work: Path, say: Callable[[str], None], requirements: Sequence[str] = ()) -> Path:
    """Return the Python of an environment below `work` with that PyTorch; make it if it isn't there.

    Raises:
        PackagingError: the environment can't be made, or pip can't install that PyTorch.
    """
    folder = work / f"torch{minor}"
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        say(f"installing PyTorch {minor} into {folder}, to build the runtime for it (mostly downloads)")
        what = f"PyTorch {minor}, for which a runtime is wanted, can't be installed"
        wanted = f'a Python for which there is a PyTorch {minor}, or [tool.opwright] runtimes without "{minor}"'
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], what, "install Python's venv module")
        _run([str(python), "-m", "pip", "install", "--quiet", f"torch=={minor}.*", *requirements], what, wanted)
        done.touch()
    return python


def build(python: str, folder: Path, searched: Sequence[str], what: str) -> None:
    """Build the runtime for the PyTorch of an interpreter, and put it into `folder`.

    Args:
        python: the interpreter.
        folder: receives a folder with the runtime.
        searched: the folders that the interpreter searches for Opwright, after its own.
        what: what is built, for messages.

    Raises:
        PackagingError: the interpreter has no PyTorch, or the compiler refuses it.
    """
    fix = "a C++ compiler (g++ 11 or clang++ 15, or newer), and a PyTorch that this Opwright supports"
    _run([python, "-c", _ADD, str(folder.absolute()), *searched], f"{what} can't be built", fix)


def _run(command: list[str], what: str, fix: str) -> None:
    """Run a command without the paths of an isolated build, which would hide what the interpreter has itself."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
        raise PackagingError(f"{what}: {lines[-1]}\n  likely fix: {fix}\n" + "\n".join(lines[:-1][-20:]))
