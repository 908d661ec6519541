"""The module of an editable installation that is to be rebuilt: it loads its project's sources as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import opwright.cuda  # noqa: F401 - its back ends are found
from opwright.codegen.backends import find_backend
from opwright.codegen.collect import collect
from opwright.codegen.parts import DESCRIPTION
from opwright.errors import PackagingError
from opwright.packaging import building, files
from opwright.packaging.config import read_libraries
from opwright.packaging.stubs import public, stub
from opwright.runtime.loading import load_sources
from opwright.runtime.namespace import Operators


def load(module: str, file: str) -> tuple[Operators, list[str]]:
    """The operators of the package `module`, whose ``__init__.py`` is `file`, and the names of those for its users.

    Each element type is compiled when a call first meets it, for this machine's processor; what hasn't changed since is
    in the build cache. The stub beside the module is brought up to date.

    Raises:
        PackagingError: the project isn't where it was when it was installed, or its sources have gone.
        OpwrightError: what `opwright.load` raises.
    """
    folder = Path(file).parent
    facts = json.loads((folder / DESCRIPTION).read_bytes())
    project = Path(facts["project"])
    if not project.is_dir():
        raise PackagingError(
            f"{module} was installed from {project}, to be compiled as it is used, and that isn't there any more\n"
            "  likely fix: install it from where it is now: pip install -e ."
        )
    (library,) = read_libraries({module: facts["library"]}, module)
    backend = find_backend(library.backend) if library.backend not in {None, "none"} else None
    options = replace(building.options(library, project), native=True)
    found = collect(files.sources(library, project), options, library.ops, backend=backend)
    ops = load_sources(found, module, ())
    shown = public(building.signatures(found))
    _renew(folder / "__init__.pyi", stub(module, shown, building.comments(found)))
    return ops, [signature.name for signature in shown]


def _renew(path: Path, text: str) -> None:
    try:
        if path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    except OSError:  # a folder that may not be written to: the stub stays as it was
        return
