"""The build cache: where it lies, who may write there, and how a file gets into it.

Everything in it can be deleted at any moment; the next build makes it again. A file appears under
its final name by one ``rename``, so that a reader finds a whole file or none, on any file system and
whether or not locks work there.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import ToolchainError
from opwright.toolchain.manifest import Inputs, Reader, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = "1"
"""Part of every key: raised when the layout or the meaning of the cached files changes."""

WORLD_WRITABLE = 0o022


def cache_root() -> Path:
    """The private folder that all builds share; made where it doesn't exist.

    ``$TORCH_EXTENSIONS_DIR/opwright`` where that variable is set, else the user's cache folder.

    Raises:
        ToolchainError: it can't be made, belongs to somebody else, or others may write to it.
    """
    chosen = os.environ.get("TORCH_EXTENSIONS_DIR")
    root = Path(os.path.abspath(chosen)) / "opwright" if chosen else _user_cache()
    return private_folder(root)


def _user_cache() -> Path:
    platform: str = sys.platform
    if platform == "linux":  # what platformdirs answers here; importing it costs more than a whole warm build
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return Path(os.path.abspath(base)) / "opwright"
    import platformdirs

    return Path(platformdirs.user_cache_dir("opwright", appauthor=False))


def private_folder(path: Path) -> Path:
    """``path``, made with mode 0700 where it is missing, and checked to be this user's alone.

    Code that is run comes from there, so a folder that others can write to is refused rather than mended:
    what already lies in it can't be trusted.

    Raises:
        ToolchainError: the folder can't be made, isn't ours, or is writable for others.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        found = _make_private(path)
    except OSError as error:
        raise unwritable(path, error) from error
    if not os.path.isdir(path):
        raise ToolchainError(f"the build cache {path} is not a folder\n  likely fix: remove it, or {_ELSEWHERE}")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise ToolchainError(
            f"the build cache {path} belongs to user {found.st_uid}, not to user {os.geteuid()} who runs this; "
            f"code from another user's folder is not run\n  likely fix: {_ELSEWHERE}"
        )
    if found.st_mode & WORLD_WRITABLE:
        raise ToolchainError(
            f"the build cache {path} has mode {found.st_mode & 0o777:04o}: others can put code into it, "
            f"expected 0700\n  likely fix: rm -r it, or chmod 700 it if you trust what is in it, or {_ELSEWHERE}"
        )
    return path


def _make_private(path: Path) -> os.stat_result:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)  # a race with another process of ours is no error
        return os.stat(path)
    except OSError as error:
        raise unwritable(path, error) from error


_ELSEWHERE = "set TORCH_EXTENSIONS_DIR to a folder of your own"


def unwritable(path: Path, error: OSError) -> ToolchainError:
    """The error for a cache folder that an ``OSError`` keeps from being used."""
    return ToolchainError(
        f"can't write to the build cache {path}: {error.strerror or error}\n"
        f"  likely fix: free or unlock that place, or {_ELSEWHERE} (on a disk with space)"
    )


class Cache:
    """The folders of one cache root, one for each key; each holds its libraries and what they were made from."""

    MANIFEST = "manifest.json"
    KEPT = 8
    """Records a folder keeps: the states of its headers that can come back without compiling."""

    def __init__(self, root: Path) -> None:
        """A cache in ``root``, which `cache_root` has checked."""
        self.root = root

    def folder(self, name: str, key: str) -> Path:
        """Where everything of ``key`` lies (not made yet)."""
        return self.root / "units" / f"{name}-{key[:24]}"

    def lookup(self, folder: Path, reader: Reader) -> Path | None:
        """The library in ``folder`` that was made from files as they are now, if there is one."""
        for record in self._records(folder):
            if record.holds(folder, reader):
                return folder / record.library
        return None

    def publish(self, folder: Path, library: Path, name: str, inputs: Inputs, suffix: str = ".so") -> Path:
        """Move ``library`` (in ``folder``'s file system) to its final name and remember what it was made from.

        The name holds the hash of everything it was made from, so a changed one never has an old one's name.

        Raises:
            OSError: the folder can't be written to.
        """
        digest = inputs.digest(folder.name) if inputs.complete else os.urandom(8).hex()
        record = inputs.record(f"{name}-{digest[:16]}{suffix}", os.stat(library).st_size)
        os.replace(library, folder / record.library)
        if not inputs.complete:
            return folder / record.library
        others = [known for known in self._records(folder) if known.library != record.library]
        records = [known.to_json() for known in (record, *others[: self.KEPT - 1])]
        write_atomically(folder / self.MANIFEST, json.dumps(records))
        return folder / record.library

    def _records(self, folder: Path) -> list[Record]:
        """What is remembered; nothing where that can't be read: then it is built again, and written anew."""
        try:
            return [Record.from_json(entry) for entry in json.loads((folder / self.MANIFEST).read_bytes())]
        except (OSError, ValueError, TypeError):
            return []


def write_atomically(path: Path, data: str | bytes) -> None:
    """Put ``data`` at ``path``: readers see the old file, or the whole new one.

    Raises:
        OSError: the folder can't be written to.
    """
    blob = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        temporary.write_bytes(blob)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


@contextlib.contextmanager
def scratch(folder: Path, *, alone: bool) -> Iterator[Path]:
    """A fresh folder inside ``folder`` that is gone afterwards.

    Args:
        folder: where the result will be renamed to (the same file system).
        alone: the caller holds the folder's lock, so whatever an earlier, killed holder left may go.
    """
    prefix = ".work-" if alone else ".free-"
    if alone:
        for left in folder.glob(".work-*"):
            _remove(left)
    work = folder / f"{prefix}{os.getpid()}-{os.urandom(4).hex()}"
    work.mkdir(mode=0o700)
    try:
        yield work
    finally:
        _remove(work)


def _remove(folder: Path) -> None:
    """Delete ``folder`` with its files (there are no folders in it)."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            os.unlink(entry)
        os.rmdir(folder)
