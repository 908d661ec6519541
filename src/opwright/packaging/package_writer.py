"""Writing the package of a library: a module, its stub, its description, and the compiled kernels."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opwright._version import __version__
from opwright.codegen import KernelSource
from opwright.codegen.ahead_of_time import DESCRIPTION, FORMAT, Part
from opwright.errors import PackagingError
from opwright.packaging.config import Library
from opwright.packaging.library_builder import Compiled, comments, signatures
from opwright.packaging.stubs import public, stub
from opwright.signature import Signature
from opwright.signature.names import operator_of
from opwright.toolchain.compilers.cpu import DEFAULT

_MODULE = ("__init__.py", "__init__.pyi", "py.typed", DESCRIPTION)
MARK = "# Written by Opwright"
_SHIPPED = '''\
{mark} {version}: what this imports was compiled when the package was built.
"""{summary}"""

from opwright.runtime.load.installed import load as _load

_operators = _load(__name__, __file__)
__all__ = {names!r}  # noqa: PLE0604

{assigned}
'''
_REBUILT = '''\
{mark} {version} for an editable installation: its sources are compiled when they are needed.
"""{summary}"""

from opwright.packaging.editable import load as _load

_operators, __all__ = _load(__name__, __file__)
globals().update((name, getattr(_operators, name)) for name in __all__)
'''


def write(library: Library, compiled: Compiled, folder: Path, runtimes: str | None = None) -> None:
    """Write the package with compiled kernels into `folder`, replacing its contents.

    Args:
        library: the description of the package.
        compiled: its kernels.
        folder: where it is written.
        runtimes: the path from `folder` to the native runtimes that the same wheel carries, if it does.
    """
    _empty(folder)
    labels_by_part, files = labels(compiled.chosen.parts), dict[str, dict[str, str]]()
    for part, variants in compiled.libraries.items():
        for variant, path in variants.items():
            name = files.setdefault(labels_by_part[part], {})[variant] = file_name(labels_by_part[part], variant)
            shutil.copyfile(path, folder / name)
    locations: dict[str, dict[str, str]] = {}
    for (kernel, device), part in compiled.chosen.where.items():
        locations.setdefault(kernel, {})[device] = labels_by_part[part]
    facts = {
        "signatures": [str(signature) for signature in compiled.signatures],
        "comments": compiled.comments,
        "kernels": locations,
        "dtypes": None if library.dtypes is None else [dtype.value for dtype in library.dtypes],
        "libraries": files,
        **({"runtimes": runtimes} if runtimes else {}),
    }
    public_signatures = public(compiled.signatures)
    assigned = "\n".join(f"{name} = _operators.{name}" for name in _names(public_signatures))
    _write_module(library, public_signatures, compiled.comments, folder, _SHIPPED, facts, assigned=assigned)


def write_rebuilt(library: Library, kernel_sources: Sequence[KernelSource], project: Path, folder: Path) -> None:
    """Write a package into `folder` that compiles the project's sources on demand."""
    _empty(folder)
    facts = {"project": os.path.abspath(project), "library": library.table()}
    _write_module(library, public(signatures(kernel_sources)), comments(kernel_sources), folder, _REBUILT, facts)


def _write_module(
    library: Library,
    public_signatures: Sequence[Signature],
    comments: Mapping[str, str],
    folder: Path,
    text: str,
    facts: Mapping[str, Any],
    assigned: str = "",
) -> None:
    summary = f"Operators: {', '.join(signature.name for signature in public_signatures)}."
    names = _names(public_signatures)
    module = text.format(mark=MARK, version=__version__, summary=summary, names=names, assigned=assigned)
    (folder / "__init__.py").write_text(module, "utf-8")
    (folder / "__init__.pyi").write_text(stub(library.name, public_signatures, comments), "utf-8")
    (folder / "py.typed").write_text("", "utf-8")
    heading = {"format": FORMAT, "opwright": __version__, "name": library.name}
    (folder / DESCRIPTION).write_text(json.dumps({**heading, **facts}, indent=1) + "\n", "utf-8")


def _names(public_signatures: Sequence[Signature]) -> list[str]:
    return list(dict.fromkeys(operator_of(signature.name) for signature in public_signatures))


def names(planned: Sequence[tuple[Part, str]] | None) -> list[str]:
    """Return the file names of a package with the `planned` kernels; None means a package compiled on demand."""
    labels_by_part = labels(list(dict.fromkeys(part for part, _ in planned or ())))
    return [*_MODULE, *(file_name(labels_by_part[part], variant) for part, variant in planned or ())]


def labels(parts: Sequence[Part]) -> dict[Part, str]:
    """Return the prefix of each part's files: source and device, with a number if that is ambiguous."""
    plain = [f"{part.source.path.stem}.{part.device}" for part in parts]
    return {
        part: name if plain.count(name) == 1 else f"{part.source.path.stem}-{part.index}.{part.device}"
        for part, name in zip(parts, plain, strict=True)
    }


def file_name(label: str, variant: str) -> str:
    """Return a library's file name, such as ``round.cpu.so`` or ``round.cpu.avx2.so``."""
    return f"{label}.so" if variant == DEFAULT else f"{label}.{variant}.so"


def _empty(folder: Path) -> None:
    if folder.exists():
        check_ours(folder)
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def check_ours(folder: Path) -> None:
    """Raise PackagingError if another module or package already has the package's path."""
    beside = folder.with_suffix(".py")
    if beside.exists():
        raise PackagingError(
            f"{beside}: the library wants to be imported by this module's name\n  likely fix: rename one of them"
        )
    if folder.exists() and not is_ours(folder):
        raise PackagingError(
            f"{folder}: the library wants to be imported by this package's name\n  likely fix: rename one of them"
        )


def is_ours(folder: Path) -> bool:
    """Return whether the folder contains a package written by Opwright, or is empty."""
    module = folder / "__init__.py"
    if not module.exists():
        return not any(folder.iterdir())
    return module.read_bytes().startswith(MARK.encode())
