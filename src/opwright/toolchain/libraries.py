"""Installed libraries that a kernel library is linked with."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence

from opwright.toolchain.flags import Options

Folder = str | os.PathLike[str]


def linked(options: Options, libraries: Sequence[str], library_dirs: Sequence[Folder]) -> Options:
    """`options`, with the libraries to link and the folders where they are searched, now and when they are loaded.

    What lies in `library_dirs` is the user's own and may change, so its files' sizes and dates count; a library that
    belongs to the system is taken to stay compatible with itself.

    Args:
        options: how to compile and link otherwise.
        libraries: names without ``lib`` and suffix, such as ``"z"``.
        library_dirs: folders, searched in order before the system's.
    """
    folders = [os.path.abspath(folder) for folder in library_dirs]
    words = [word for folder in folders for word in (f"-L{folder}", "-Xlinker", "-rpath", "-Xlinker", folder)]
    return dataclasses.replace(
        options,
        extra_ldflags=(*options.extra_ldflags, *words, *(f"-l{name}" for name in libraries)),
        identity="|".join([options.identity, *_states(folders, libraries)]).strip("|"),
    )


def _states(folders: Sequence[str], libraries: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for name in libraries:
            for suffix in (".so", ".a", ".dylib"):
                path = os.path.join(folder, f"lib{name}{suffix}")
                try:
                    found = os.stat(path)
                except OSError:
                    continue
                yield f"{path}:{found.st_size}:{found.st_mtime_ns}"
