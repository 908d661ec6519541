"""Compiling a library: one shared library for each source, device and processor variant."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from opwright.codegen import KernelSource
from opwright.codegen.ahead_of_time import Chosen, Part, choose
from opwright.codegen.collect import collect
from opwright.codegen.providers import kernels
from opwright.codegen.source import relate
from opwright.cuda import find_backend
from opwright.errors import PackagingError, SourceError
from opwright.packaging import project_files
from opwright.packaging.config import Library
from opwright.signature import Signature
from opwright.signature.derivatives import chains
from opwright.sources.matching import match
from opwright.sources.ops import EXAMPLE, LOAD_ARGUMENT
from opwright.sources.scan import comment
from opwright.toolchain import Options, build, find_compiler
from opwright.toolchain.build.processes import Processes, in_parallel
from opwright.toolchain.compilers.cpu import DEFAULT, VARIANTS
from opwright.toolchain.compilers.cuda_architectures import ALL_MAJOR, VARIABLE
from opwright.toolchain.compilers.flags import LIBMVEC, has_libmvec


@dataclass(frozen=True)
class Compiled:
    """The result of compiling a library.

    Attributes:
        signatures: the signatures of its operators and of backwards in the sources, as written there.
        comments: the authors' doc comments, by operator.
        chosen: the kernels to compile, and the part (source and device) that has each.
        libraries: the files in the build cache, by part and variant.
    """

    signatures: Sequence[Signature]
    comments: Mapping[str, str]
    chosen: Chosen
    libraries: Mapping[Part, Mapping[str, Path]]


def read(library: Library, project: Path) -> list[KernelSource]:
    """Read the sources as `opwright.load` does; nothing is compiled.

    Raises:
        PackagingError: a pattern matches no file.
        SourceError: a file has no kernels, or a function doesn't match its signature.
        SignatureError: a signature can't be parsed, or contradicts a related one (such as its forward's).
    """
    paths = project_files.sources(library, project)
    backend = find_backend(library.backend) if library.backend not in {None, "none"} else None
    try:
        kernel_sources = collect(paths, options(library, project), library.ops, None, backend, find_backend)
    except SourceError as error:
        raise SourceError(str(error).replace(LOAD_ARGUMENT, f'the library\'s ops, as ["{EXAMPLE}"]')) from error
    relate(kernel_sources)
    for kernel in kernels(kernel_sources):
        match(kernel)
    chains(kernel_sources[0].signatures.values())
    return kernel_sources


def compiled(library: Library, project: Path, say: Callable[[str], None] = lambda _line: None) -> Compiled:
    """Compile all parts of a library, with as many compilers at once as allowed.

    Raises:
        PackagingError: as for `read`; or an operator has no kernel for the library's element types.
        CompileError: a compiler refused a source.
        ToolchainError: there is no usable compiler.
    """
    kernel_sources = read(library, project)
    chosen = _chosen(library, kernel_sources)
    builds, processes = _builds(library, chosen), Processes()
    say(f"{library.name}: {len(builds)} libraries to compile")
    with architectures(library):
        paths = in_parallel([partial(_build, part, variant, processes) for part, variant in builds], processes)
    libraries: dict[Part, dict[str, Path]] = {}
    for (part, variant), path in zip(builds, paths, strict=True):
        libraries.setdefault(part, {})[variant] = path
    return Compiled(signatures(kernel_sources), comments(kernel_sources), chosen, libraries)


def signatures(kernel_sources: Sequence[KernelSource]) -> list[Signature]:
    """Return the signatures in the sources, one for each operator."""
    return list({k.signature.name: k.signature.operator for k in kernels(kernel_sources)}.values())


def comments(kernel_sources: Sequence[KernelSource]) -> dict[str, str]:
    """Return the authors' doc comments, by operator."""
    texts = {
        k.signature.name: comment(k, source.path, source.text)
        for source in kernel_sources
        for k in source.source.kernels
    }
    return {name: text for name, text in texts.items() if text}


def _chosen(library: Library, kernel_sources: Sequence[KernelSource]) -> Chosen:
    names = None if library.dtypes is None else {dtype.torch_name for dtype in library.dtypes}
    chosen = choose(kernel_sources, names)
    for name, instances in chosen.kernels.items():
        if not instances:
            signature = kernel_sources[0].signatures[name]
            listed = ", ".join(str(dtype) for dtype in library.dtypes or ())
            raise PackagingError(
                f"{library.name}: dtypes = [{listed}] leave {name} without a kernel\n"
                f"  signature:  {signature}\n"
                f"  likely fix: add an element type for each of {', '.join(signature.type_variables)}"
            )
    return chosen


def planned(library: Library, project: Path) -> list[tuple[Part, str]]:
    """Return the parts and variants that `compiled` would compile.

    Raises:
        PackagingError: as for `compiled`.
    """
    return _builds(library, _chosen(library, read(library, project)))


def _builds(library: Library, chosen: Chosen) -> list[tuple[Part, str]]:
    of_device = {"cpu": (DEFAULT, *variants(library)), "cuda": (DEFAULT,)}
    return [(part, variant) for part in chosen.parts for variant in of_device[part.device]]


def _build(part: Part, variant: str, processes: Processes) -> Path:
    if part.device == "cuda":
        return part.cuda_library()
    cflags = (*VARIANTS[variant].cflags, *part.source.options.extra_cflags)  # the author's take precedence
    return build(part.unit(), replace(part.source.options, extra_cflags=cflags), processes=processes).path


def variants(library: Library) -> list[str]:
    """Return the variants to compile besides the default; none unless on x86-64 Linux."""
    target = find_compiler("c++").target
    return [v for v in VARIANTS if v in library.variants] if target.startswith("x86_64-") and "linux" in target else []


def options(library: Library, project: Path) -> Options:
    """Return the library's compile options: for any processor of the architecture, with absolute paths."""
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
        define=(*library.define, *((LIBMVEC,) if library.libmvec and has_libmvec(find_compiler("c++")) else ())),
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
    """Return linker flags: strip symbols, and link gcc's helper functions (float16 conversions) statically.

    The shared libgcc would have to be as new as the compiler, and older distributions don't have that.
    """
    if sys.platform != "linux":
        return ()
    return ("-Wl,--strip-all", *(("-lgcc",) if find_compiler("c++").kind == "gcc" else ()))


@contextlib.contextmanager
def architectures(library: Library) -> Iterator[None]:
    """Set the GPU architectures to compile for inside the block.

    They are ``TORCH_CUDA_ARCH_LIST`` if set, else the description's, else every generation that the compiler supports,
    with PTX of the newest for future ones. The building machine's GPU doesn't matter.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = before or ";".join(library.cuda_architectures) or ALL_MAJOR
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        os.environ.update({} if before is None else {VARIABLE: before})
