"""The sources of each operator's kernels, one for each device, and what is compiled of them ahead of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opwright.codegen.source import KernelSource
from opwright.errors import SourceError, UnsupportedError
from opwright.signature import DType
from opwright.signature.derivatives import Derived
from opwright.sources import Kernel


def compiled_ahead(derived: Derived) -> int | None:
    """Return the bit mask of results of the instance to compile ahead of time: all gradients of a first derivative.

    None for forward mode and second derivatives: few programs need them, so nothing is compiled ahead.
    """
    first = derived.rules == ("vjp",) and not derived.body.is_backward
    if not first:
        return None
    return (1 << len(derived.signature.outputs)) - 1 if derived.masked else 0


@dataclass(frozen=True, eq=False)
class SourceProvider:
    """The provider of an operator's kernels: handwritten kernels of sources, or one derived from such kernels.

    Attributes:
        sources: the source for each device.
        derived: the derived kernel's name; empty for handwritten kernels.
    """

    sources: Mapping[str, KernelSource]
    derived: str = ""

    @property
    def devices(self) -> frozenset[str]:
        """The devices that have kernels."""
        return frozenset(self.sources)

    @property
    def masked(self) -> bool:
        """Whether there is an instance for each subset of results; a handwritten kernel has one for all subsets."""
        return bool(self.derived) and self._first.derived[self.derived].masked

    @property
    def ahead(self) -> int | None:
        """The bit mask of results of the instance to compile ahead of time; None if there is none."""
        return compiled_ahead(self._first.derived[self.derived]) if self.derived else 0

    @property
    def _first(self) -> KernelSource:
        return next(iter(self.sources.values()))

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> str:
        """Return the path of a library with the operator's kernel for these element types on that device.

        Raises:
            CompileError: the compiler reported errors.
            ToolchainError: there is no compiler for that device.
            UnsupportedError: there is no source for that device.
        """
        if device not in self.sources:
            raise self._missing(device)
        return self.sources[device].library(types, wanted, derived=self.derived, device=device, rebuild=rebuild)

    def _missing(self, device: str) -> UnsupportedError:
        path = self._first.path
        wanted = f"{path.stem}.{'cu' if device == 'cuda' else 'cpp'}"
        emulated = '; or run its CUDA kernel on the CPU: load(..., backend="emulate")' if device == "cpu" else ""
        return UnsupportedError(
            f"{path.name} has kernels for {' and '.join(self.sources)}, and none for {device}\n"
            f"  likely fix: write one for {device} into {wanted}: load({path.name!r}, {wanted!r}){emulated}"
        )


def providers(sources: Sequence[KernelSource]) -> dict[str, SourceProvider]:
    """Return the provider of each operator's kernels, by name, for handwritten and for derived kernels."""
    sources_by_operator: dict[str, dict[str, KernelSource]] = {}
    for device, source, kernel in _served(sources):
        sources_by_operator.setdefault(kernel.signature.name, {})[device] = source
    shared: dict[tuple[tuple[str, int], ...], SourceProvider] = {}  # kernels of one library have one provider
    handwritten = {
        name: shared.setdefault(tuple((device, id(source)) for device, source in each.items()), SourceProvider(each))
        for name, each in sources_by_operator.items()
    }
    derived = {
        name: SourceProvider(_differentiating(each, sources_by_operator[each.body.name]), name)
        for name, each in sources[0].derived.items()
    }
    return handwritten | derived


def _differentiating(derived: Derived, by_device: Mapping[str, KernelSource]) -> Mapping[str, KernelSource]:
    """Return the source for each device that has the derived kernel: a tape is the CPU's or an emulator's."""
    if derived.body.pointwise:
        return by_device
    return {
        device: source
        for device, source in by_device.items()
        if source.constants is not None or not source.is_cuda(device)
    }


def kernels(sources: Sequence[KernelSource]) -> list[Kernel]:
    """Return all kernels of the operators; an operator for two devices can have two kernels.

    Raises:
        SourceError: there is no kernel; an operator has two kernels for one device, or two with different signatures.
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
    """Yield each kernel with its device; kernels of CUDA files come last, to replace kernels from C++ for CUDA."""
    for source in sorted(sources, key=lambda source: source.source.language == "cuda"):
        for device in source.devices:
            for kernel in source.kernels(device):
                yield device, source, kernel


def _check_alone(name: str, found: Sequence[Kernel]) -> None:
    for in_cuda in (False, True):
        kernels = [kernel for kernel in found if (kernel.language == "cuda") == in_cuda]
        where = ", ".join(f"{kernel.path}:{kernel.line}" for kernel in kernels)
        if len(kernels) > 1:
            raise SourceError(f"{name} is defined more than once: {where}{_marked_and_given(kernels)}")


def _marked_and_given(kernels: Sequence[Kernel]) -> str:
    marked = [f"{kernel.path}:{kernel.line}" for kernel in kernels if not kernel.given]
    if not marked or len(marked) == len(kernels):
        return ""
    return f"\n  likely fix: its signature stands in the file, {marked[0]}: don't give another"


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
