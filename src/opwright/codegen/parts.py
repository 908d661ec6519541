"""What is shipped of sources: for each source and device the kernels that operators use, for every element type."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opwright.codegen.devices import providers
from opwright.codegen.source import DerivedSource, KernelSource
from opwright.signature import DType
from opwright.toolchain import Options, Unit

TABLE = "opwright_library"
"""The function that every kernel library exports."""
DESCRIPTION, FORMAT = "library.json", 1
"""What a package of operators says of itself, and its form: a greater number is what older versions can't read."""

RUNTIME = "runtime.json"
"""What stands beside a native runtime that Opwright's own wheel carries: what it is for (runtime/prebuilt.py)."""


@dataclass(frozen=True, eq=False)
class Part:
    """What a source has for one device.

    Attributes:
        source: where it comes from.
        device: ``"cpu"`` or ``"cuda"``.
        types: the element types of what is written.
        derived: derived kernels by name, each with its element types.
        index: which of the sources it is.
    """

    source: KernelSource
    device: str
    types: Sequence[Mapping[str, DType]]
    derived: Mapping[str, Sequence[Mapping[str, DType]]]
    index: int

    @property
    def table(self) -> str:
        """A name for its table that no other part has."""
        return f"{TABLE}_{self.index}_{self.device}"

    def unit(self) -> Unit:
        """What becomes a library, of a part for the CPU."""
        return self.source.unit(*self.types, derived=self.derived)

    def unit_within(self) -> Unit:
        """The same as a part of something larger; its table has a name of its own."""
        unit = self.unit()
        return replace(unit, name=f"{unit.name}-{self.table}", text=f"#define {TABLE} {self.table}\n{unit.text}")

    def cuda_library(self, options: Options | None = None) -> Path:
        """A library by itself, of CUDA text."""
        source = copy.copy(self.source)
        source.options = options or source.options
        return Path(source.built([*source.instances(self.device, self.types, self.derived)], self.device))


@dataclass(frozen=True)
class Chosen:
    """What is compiled.

    Attributes:
        parts: of each source, what is used of it.
        kernels: the element types of each kernel, written or derived.
        where: the part that has a kernel, by its name and device.
    """

    parts: Sequence[Part]
    kernels: Mapping[str, Sequence[Mapping[str, DType]]]
    where: Mapping[tuple[str, str], Part]

    def devices(self, name: str) -> list[str]:
        """Those for which there is a kernel."""
        return [device for device in ("cpu", "cuda") if (name, device) in self.where]


def choose(sources: Sequence[KernelSource], wanted: Callable[[Mapping[str, DType]], bool]) -> Chosen:
    """What the operators of these sources need, for the element types that are `wanted`.

    CUDA kernels are those of CUDA sources and, where a back end was asked for, of pointwise ones.
    """
    kernels = {name: [*filter(wanted, each.instances())] for name, each in sources[0].signatures.items()}
    owners = {
        (name, device): owner.source if isinstance(owner, DerivedSource) else owner
        for name, each in providers(sources).items()
        for device, owner in each.sources.items()
    }
    used = {name: owner for name, owner in owners.items() if _is_wanted(owner, name[1])}
    parts = {}
    for i, source in enumerate(sources):
        for device in dict.fromkeys(device for (_, device), owner in used.items() if owner is source):
            derived = {d.name: kernels[d.name] for d in source.derivatives() if used.get((d.name, device)) is source}
            types = [*filter(wanted, source.assignments(device))]
            parts[i, device] = Part(source, device, types, derived, i)
    where = {name: parts[sources.index(owner), name[1]] for name, owner in used.items()}
    return Chosen([*parts.values()], kernels, where)


def _is_wanted(source: KernelSource, device: str) -> bool:
    return device == "cpu" or source.source.language == "cuda" or source.backend is not None
