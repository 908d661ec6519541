"""Source files' operators, for the checks alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opwright.errors import SourceError

if TYPE_CHECKING:
    from opwright.runtime import Operators


def load_files(*paths: str | os.PathLike[str], **options: Any) -> Operators:
    """Load source files into a namespace that nobody else has.

    What the process has loaded, or will, is then of no account: a file's own namespace may belong to several files of
    which this is one, or to another file of the same name. A second call gives the same operators.

    Args:
        paths: the files.
        options: of `opwright.load`.

    Raises:
        SourceError: the file can't be read, or what it makes has no signatures.
    """
    from opwright.front import load
    from opwright.runtime import Operators

    files = [Path(path).absolute() for path in paths]
    ops: object = load(*files, namespace=_namespace(files), **options)
    if not isinstance(ops, Operators):
        file = files[0]
        raise SourceError(
            f"{file} is an extension with PyTorch's headers, whose functions have no signatures\n"
            f"  likely fix: build it, and check what it makes: "
            f'opwright.check("my_package:{file.stem}", signature="{file.stem}(x: T[...]) -> (y: T[...])")'
        )
    return ops


def _namespace(files: Sequence[Path]) -> str:
    """The same for the same files, another one for any others."""
    every = b"\0".join(os.fsencode(file) for file in files)
    return f"checked_{files[0].stem}_{hashlib.sha256(every).hexdigest()[:12]}"
