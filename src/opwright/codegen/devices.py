"""Which source each operator's kernels come from, device by device: ``round.cpp`` and ``round.cu`` are one operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opwright.codegen.source import DerivedSource, KernelSource
from opwright.errors import SourceError, UnsupportedError
from opwright.signature import DType
from opwright.sources import Kernel


@dataclass(frozen=True, eq=False)
class ByDevice:
    """Where the kernels of an operator come from.

    Attributes:
        sources: by device.
    """

    sources: Mapping[str, KernelSource | DerivedSource]

    @property
    def devices(self) -> frozenset[str]:
        """For which it has kernels."""
        return frozenset(self.sources)

    @property
    def masked(self) -> bool:
        """Whether there is an instance for each choice of results: on every device, as it is the signature's."""
        return any(source.masked for source in self.sources.values())

    @property
    def ahead(self) -> int | None:
        """The results of the instance that is compiled before it is asked for."""
        return next(iter(self.sources.values())).ahead

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> str:
        """The path of a library with the operator's kernel for these element types on that device.

        Raises:
            CompileError: the compiler refused the source.
            ToolchainError: there is no compiler for that device.
            UnsupportedError: there is no source for that device.
        """
        if device not in self.sources:
            raise self._missing(device)
        return self.sources[device].library(types, wanted, device=device, rebuild=rebuild)

    def _missing(self, device: str) -> UnsupportedError:
        source = next(iter(self.sources.values()))
        path = (source.source if isinstance(source, DerivedSource) else source).path
        wanted = f"{path.stem}.{'cu' if device == 'cuda' else 'cpp'}"
        emulated = '; or run its CUDA kernel on the CPU: load(..., backend="emulate")' if device == "cpu" else ""
        return UnsupportedError(
            f"{path.name} has kernels for {' and '.join(self.sources)}, and none for {device}\n"
            f"  likely fix: write one for {device} into {wanted}: load({path.name!r}, {wanted!r}){emulated}"
        )


def providers(sources: Sequence[KernelSource]) -> dict[str, ByDevice]:
    """Where the kernels of each operator come from, by its name: of those in the sources, and of what is derived."""
    found: dict[str, dict[str, KernelSource | DerivedSource]] = {}
    for device, source, kernel in _served(sources):
        found.setdefault(kernel.signature.name, {})[device] = source
    for name, derived in sources[0].derived.items():
        bodies = found[derived.body.name].items()
        found[name] = {device: DerivedSource(body, name) for device, body in bodies if isinstance(body, KernelSource)}
    shared: dict[tuple[tuple[str, int], ...], ByDevice] = {}  # kernels of one library have one provider
    return {
        name: shared.setdefault(tuple((device, id(source)) for device, source in each.items()), ByDevice(each))
        for name, each in found.items()
    }


def kernels(sources: Sequence[KernelSource]) -> list[Kernel]:
    """The kernels that operators are made of; an operator with kernels for two devices has two of them.

    Raises:
        SourceError: there is none; an operator has two for one device, or two that aren't the same operator.
    """
    chosen = {id(kernel): kernel for _, _, kernel in _served(sources)}
    if not chosen:
        listed = ", ".join(str(source.path) for source in sources)
        raise SourceError(
            f"{listed}: there is no CUDA kernel in it to emulate, and no pointwise one\n"
            "  likely fix: leave backend= out: what it has are kernels for the CPU"
        )
    by_name: dict[str, list[Kernel]] = {}
    for kernel in chosen.values():
        by_name.setdefault(kernel.signature.name, []).append(kernel)
    for name, each in by_name.items():
        _check_alone(name, each)
        _check_same(each)
    return [kernel for source in sources for kernel in source.source.kernels if id(kernel) in chosen]


def _served(sources: Sequence[KernelSource]) -> Iterator[tuple[str, KernelSource, Kernel]]:
    """Each kernel that is used, with its device; CUDA's own come last, for they come before what is made of C++."""
    for source in sorted(sources, key=lambda source: source.source.language == "cuda"):
        for device in source.devices:
            for kernel in source.kernels(device):
                yield device, source, kernel


def _check_alone(name: str, found: Sequence[Kernel]) -> None:
    for in_cuda in (False, True):
        where = [f"{k.path}:{k.line}" for k in found if (k.language == "cuda") == in_cuda]
        if len(where) > 1:
            raise SourceError(f"{name} is defined more than once: {', '.join(where)}")


def _check_same(found: Sequence[Kernel]) -> None:
    for kernel in found[1:]:
        first = found[0]
        if kernel.signature.operator != first.signature.operator:
            raise SourceError(
                f"{kernel.path}:{kernel.line}: {kernel.signature.name}: its signature isn't that of the kernel in "
                f"{first.path.name}; one operator has one signature on every device\n"
                f"  signature:  {kernel.signature}  ({kernel.path}:{kernel.line})\n"
                f"  expected:   {first.signature.operator}  ({first.path}:{first.line})\n"
                "  likely fix: write the same signature for both, or give one of the operators another name"
            )
