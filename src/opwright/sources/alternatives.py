"""Alternatives in sources: kernels whose signatures have one name (:mod:`opwright.signature.alternatives`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.signature import Signature
from opwright.sources.model import Kernel, Source


def with_alternatives(sources: Sequence[Source]) -> list[Source]:
    """Return the sources of a set of operators; kernels of alternatives and their backwards get names of their own.

    Kernels with the same signature in different files are those of one operator for different devices.

    Raises:
        SignatureError: signatures of one name in a file aren't alternatives.
    """
    several = list(dict.fromkeys(name for source in sources for name in _several(source)))
    if not several:
        return list(sources)
    from opwright.signature.alternatives import as_alternative, tags  # most sources have none

    def renamed(kernel: Kernel) -> Kernel:
        signature = as_alternative(kernel.signature, found)
        return Kernel(signature, kernel.function, kernel.line, kernel.path, kernel.language, kernel.given)

    kernels = [kernel for source in sources for kernel in source.kernels]
    written = list(dict.fromkeys(kernel.signature.operator for kernel in kernels))

    def place(signature: Signature) -> str:
        of = next(kernel for kernel in kernels if kernel.signature.operator == signature)
        return f"{of.path}:{of.line}: " if of.given is None else "ops: "

    found = tags(written, several, place)
    return [
        Source(source.path, source.language, tuple(map(renamed, source.kernels)), source.includes) for source in sources
    ]


def _several(source: Source) -> Iterator[str]:
    """Yield the names that have several signatures in a source, all of them in its marks or all given."""
    by_name: dict[str, list[Kernel]] = {}
    for kernel in source.kernels:
        by_name.setdefault(kernel.signature.name, []).append(kernel)
    for name, kernels in by_name.items():
        different = {kernel.signature.operator for kernel in kernels}
        if len(different) > 1 and len({kernel.given is None for kernel in kernels}) == 1:
            yield name
