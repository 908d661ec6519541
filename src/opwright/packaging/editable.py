"""Loading an editable installation with ``rebuild``: it compiles the project's current sources."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

from opwright.codegen.ahead_of_time import DESCRIPTION
from opwright.codegen.collect import collect
from opwright.cuda import find_backend
from opwright.errors import PackagingError
from opwright.packaging import library_builder, project_files
from opwright.packaging.config import read_libraries
from opwright.packaging.stubs import public, stub
from opwright.runtime.load.loading import load_sources
from opwright.runtime.load.namespace import Operators
from opwright.signature.names import operator_of
from opwright.toolchain.cache.folder import update_file


def load(module: str, file: str) -> tuple[Operators, list[str]]:
    """Load the operators of the package `module`, whose ``__init__.py`` is `file`; return them with the public names.

    Kernels are compiled for this machine's processor at the first call with each element type; unchanged ones are in
    the build cache. The stub beside the module is updated.

    Raises:
        PackagingError: the project was moved since its installation, or its sources are missing.
        OpwrightError: as for `opwright.load`.
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
    options = replace(library_builder.options(library, project), native=True)
    kernel_sources = collect(project_files.sources(library, project), options, library.ops, None, backend, find_backend)
    ops = load_sources(kernel_sources, module, ())
    public_signatures = public(library_builder.signatures(kernel_sources))
    with contextlib.suppress(OSError):  # the folder isn't writable: the old stub stays
        update_file(folder / "__init__.pyi", stub(module, public_signatures, library_builder.comments(kernel_sources)))
    return ops, list(dict.fromkeys(operator_of(signature.name) for signature in public_signatures))
