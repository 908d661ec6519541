"""The same operator as it was: its repository at another revision, in a folder of its own."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from opwright.errors import SourceError


def is_revision(name: str, source: Path) -> bool:
    """Whether the repository in which `source` lies knows a commit by that name."""
    if name.startswith("-") or not name:
        return False
    try:
        return _git(source.parent, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").returncode == 0
    except FileNotFoundError:  # no git
        return False


def checked_out(revision: str, source: Path, into: Path) -> Path:
    """Where `source` lies in `into`, once the repository's files of that revision have been put there.

    The repository itself isn't touched: no branch, no worktree, no index.

    Raises:
        SourceError: the file doesn't exist in that revision.
    """
    top = Path(_output(source.parent, "rev-parse", "--show-toplevel").strip())
    inside = source.resolve().relative_to(top.resolve())
    commit = _output(source.parent, "rev-parse", "--short", f"{revision}^{{commit}}").strip()
    folder = into / f"revision_{commit}"
    if not folder.exists():
        archive = _git(top, "archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
    if not (folder / inside).exists():
        raise SourceError(f"{inside} doesn't exist in revision {revision} ({commit})")
    return folder / inside


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)  # noqa: S607


def _output(folder: Path, *words: str) -> str:
    done = _git(folder, *words)
    if done.returncode:
        raise SourceError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()
