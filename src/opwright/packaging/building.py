"""A library's description in, its compiled kernels out: one shared library for each source, device and processor."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import opwright.cuda  # noqa: F401 - its back ends are found
from opwright.codegen import KernelSource
from opwright.codegen.backends import find_backend
from opwright.codegen.collect import collect
from opwright.codegen.devices import kernels
from opwright.codegen.parts import Chosen, Part, choose
from opwright.codegen.source import relate
from opwright.errors import PackagingError, SourceError
from opwright.packaging import files
from opwright.packaging.config import Library
from opwright.signature import DType, Signature
from opwright.signature.wiring import chains
from opwright.sources import match
from opwright.sources.comments import comment
from opwright.sources.given import EXAMPLE, GIVEN_TO_LOAD
from opwright.toolchain import Options, build, find_compiler
from opwright.toolchain.architectures import ALL_MAJOR, VARIABLE
from opwright.toolchain.process import Processes, in_parallel
from opwright.toolchain.variants import DEFAULT, VARIANTS


@dataclass(frozen=True)
class Compiled:
    """What a library came to.

    Attributes:
        signatures: of its operators and the backwards that are written, as they are written.
        comments: by operator, what its author says of it.
        chosen: which source has what.
        libraries: for each of the parts, by variant, a file in the build cache.
    """

    signatures: Sequence[Signature]
    comments: Mapping[str, str]
    chosen: Chosen
    libraries: Mapping[Part, Mapping[str, Path]]


def read(library: Library, project: Path) -> list[KernelSource]:
    """The sources, judged as `opwright.load` judges them; nothing is compiled.

    Raises:
        PackagingError: a pattern stands for nothing; the sources have nothing for these element types.
        SourceError: a file has no kernels, or a function doesn't fit its signature.
        SignatureError: a signature can't be read, or doesn't fit its relatives.
    """
    paths = files.sources(library, project)
    backend = find_backend(library.backend) if library.backend not in {None, "none"} else None
    try:
        found = collect(paths, options(library, project), library.ops, backend=backend)
    except SourceError as error:
        raise SourceError(str(error).replace(GIVEN_TO_LOAD, f'the library\'s ops, as ["{EXAMPLE}"]')) from error
    relate(found)
    for kernel in kernels(found):
        match(kernel)
    chains(found[0].signatures.values())
    return found


def compiled(library: Library, project: Path, say: Callable[[str], None] = lambda _line: None) -> Compiled:
    """Compile all of a library, with every compiler that may run at once.

    Raises:
        PackagingError: as `read`.
        CompileError: a compiler refused a source.
        ToolchainError: there is no usable compiler.
    """
    found = read(library, project)
    chosen = _chosen(library, found)
    tasks = [*_tasks(library, chosen)]
    say(f"{library.name}: {len(tasks)} libraries to compile")
    with architectures(library):
        paths = in_parallel([task for _, _, task in tasks], Processes())
    libraries: dict[Part, dict[str, Path]] = {}
    for (part, variant, _), path in zip(tasks, paths, strict=True):
        libraries.setdefault(part, {})[variant] = path
    return Compiled(signatures(found), comments(found), chosen, libraries)


def signatures(found: Sequence[KernelSource]) -> list[Signature]:
    """What is written in the sources, once for each operator."""
    return list({k.signature.name: k.signature.operator for k in kernels(found)}.values())


def comments(found: Sequence[KernelSource]) -> dict[str, str]:
    """What the authors say of operators, where they do."""
    every = {k.signature.name: comment(k, each.path, each.text) for each in found for k in each.source.kernels}
    return {name: words for name, words in every.items() if words}


def _chosen(library: Library, found: Sequence[KernelSource]) -> Chosen:
    def wanted(types: Mapping[str, DType]) -> bool:
        return library.dtypes is None or all(dtype in library.dtypes for dtype in types.values())

    chosen = choose(found, wanted)
    for name, instances in chosen.kernels.items():
        if not instances:
            signature = found[0].signatures[name]
            listed = ", ".join(str(dtype) for dtype in library.dtypes or ())
            raise PackagingError(
                f"{library.name}: dtypes = [{listed}] leave {name} without a kernel\n"
                f"  signature:  {signature}\n"
                f"  likely fix: add an element type for each of {', '.join(signature.type_variables)}"
            )
    return chosen


def planned(library: Library, project: Path) -> list[tuple[Part, str]]:
    """What `compiled` would make: each part, with each variant of it.

    Raises:
        PackagingError: as `read`.
    """
    return [(part, variant) for part, variant, _ in _tasks(library, _chosen(library, read(library, project)))]


def _tasks(library: Library, chosen: Chosen) -> Iterator[tuple[Part, str, Callable[[], Path]]]:
    for part in chosen.parts:
        if part.device == "cuda":
            yield part, DEFAULT, part.cuda_library
            continue
        unit = part.unit()
        for variant in (DEFAULT, *variants(library)):
            words = (*VARIANTS[variant].cflags, *part.source.options.extra_cflags)  # the author's are stronger
            chosen_options = replace(part.source.options, extra_cflags=words)
            yield part, variant, partial(_path, partial(build, unit, chosen_options))


def _path(task: Callable[[], object]) -> Path:
    return task().path  # type: ignore[attr-defined,no-any-return]


def variants(library: Library) -> list[str]:
    """The variants besides the default that are compiled: on x86-64 Linux alone, where processors are told apart."""
    target = find_compiler("c++").target
    return [v for v in VARIANTS if v in library.variants] if target.startswith("x86_64-") and "linux" in target else []


def _has_libmvec() -> bool:
    """As for builds for this machine (toolchain/flags.py): glibc's, on x86-64, as gcc calls them."""
    compiler = find_compiler("c++")
    return compiler.kind == "gcc" and compiler.target.startswith("x86_64-linux")


def options(library: Library, project: Path) -> Options:
    """How the library is compiled: for any processor of the architecture, wherever the project lies."""
    folders = [os.path.join(project, folder) for folder in library.include_dirs]
    for folder in folders:
        if not os.path.isdir(folder):
            raise PackagingError(
                f"{library.name}: include-dirs has {os.path.relpath(folder, project)!r}, which is no folder in "
                f"{project}\n  likely fix: correct the path"
            )
    searched = [f"-L{os.path.join(project, folder)}" for folder in library.library_dirs]
    return Options(
        native=False,
        define=(*library.define, *(("OPWRIGHT_LIBMVEC",) if library.libmvec and _has_libmvec() else ())),
        include_dirs=tuple(folders),
        extra_cflags=library.extra_cflags,
        extra_cuda_cflags=library.extra_cuda_cflags,
        extra_ldflags=(
            *_for_any_linux(),
            *library.extra_ldflags,
            *searched,
            *(f"-l{name}" for name in library.libraries),
        ),
    )


def _for_any_linux() -> tuple[str, ...]:
    """Nothing but what is needed; and what gcc itself calls (conversions of halves) from its static library.

    As shared, that is a libgcc as new as the compiler, which older distributions don't have.
    """
    if sys.platform != "linux":
        return ()
    return ("-Wl,--strip-all", *(("-lgcc",) if find_compiler("c++").kind == "gcc" else ()))


@contextlib.contextmanager
def architectures(library: Library) -> Iterator[None]:
    """For which GPUs CUDA code is compiled meanwhile.

    ``TORCH_CUDA_ARCH_LIST``, where it is set; else what the description says; else every generation that the compiler
    knows, and PTX of the newest for those that are to come. That of the building machine counts for nothing.
    """
    before = os.environ.get(VARIABLE)
    if before:
        yield
        return
    os.environ[VARIABLE] = ";".join(library.cuda_architectures) or ALL_MAJOR
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
