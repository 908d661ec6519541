"""Selection of the kernels to compile ahead of time, for packages and bundles, by source and device."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opwright.codegen.providers import providers
from opwright.codegen.source import KernelSource
from opwright.signature import DType
from opwright.signature.derivatives import carries_derivative
from opwright.toolchain import Options, Unit

TABLE = "opwright_library"
"""The function that every kernel library exports."""
DESCRIPTION, FORMAT = "library.json", 1
"""The description file of a package of operators, and its format's version: older versions refuse a greater one."""


@dataclass(frozen=True, eq=False)
class Part:
    """The kernels of a source for one device.

    Attributes:
        source: the source.
        device: ``"cpu"`` or ``"cuda"``.
        types: the element types of handwritten kernels.
        derived: derived kernels by name, each with its element types.
        index: the index of the source among all sources.
    """

    source: KernelSource
    device: str
    types: Sequence[Mapping[str, DType]]
    derived: Mapping[str, Sequence[Mapping[str, DType]]]
    index: int

    @property
    def table(self) -> str:
        """The name of its table, unique among the parts."""
        return f"{TABLE}_{self.index}_{self.device}"

    def unit(self) -> Unit:
        """Return the unit of the library, for a part for the CPU."""
        return self.source.unit(*self.types, derived=self.derived)

    def unit_within(self) -> Unit:
        """Return the same unit for use in a larger library, with a unique name for its table."""
        unit = self.unit()
        return replace(unit, name=f"{unit.name}-{self.table}", text=f"#define {TABLE} {self.table}\n{unit.text}")

    def cuda_library(self, options: Options | None = None) -> Path:
        """Build the library of a part for CUDA, and return its path."""
        source = copy.copy(self.source)
        source.options = options or source.options
        return source.built([*source.instances(self.device, self.types, self.derived)], self.device).path


@dataclass(frozen=True)
class Chosen:
    """The kernels to compile.

    Attributes:
        parts: the used parts of the sources.
        kernels: the element types of each kernel, handwritten or derived, by name.
        where: the part that contains a kernel, by the kernel's name and device.
    """

    parts: Sequence[Part]
    kernels: Mapping[str, Sequence[Mapping[str, DType]]]
    where: Mapping[tuple[str, str], Part]

    def devices(self, name: str) -> list[str]:
        """Return the devices for which the kernel is compiled."""
        return [device for device in ("cpu", "cuda") if (name, device) in self.where]


def choose(sources: Sequence[KernelSource], names: Collection[str] | None) -> Chosen:
    """Return the kernels that the operators of these sources need, for element types by PyTorch's names; None: for all.

    CUDA kernels come from CUDA sources and, if a back end was requested, from pointwise operators in C++.
    """
    kernels = {
        name: [types for types in each.instances() if names is None or each.selects(types, names)]
        for name, each in sources[0].signatures.items()
    }
    for name in {name for source in sources for name in source.derivatives()}:
        kernels[name] = [types for types in kernels[name] if carries_derivative(types)]
    owners = {
        (name, device): owner for name, each in providers(sources).items() for device, owner in each.sources.items()
    }
    used = {name: owner for name, owner in owners.items() if _is_wanted(owner, name[1])}
    parts = {}
    for i, source in enumerate(sources):
        for device in dict.fromkeys(device for (_, device), owner in used.items() if owner is source):
            derived = {name: kernels[name] for name in source.derivatives() if used.get((name, device)) is source}
            types = source.assignments(device, names)
            parts[i, device] = Part(source, device, types, derived, i)
    where = {name: parts[sources.index(owner), name[1]] for name, owner in used.items()}
    return Chosen([*parts.values()], kernels, where)


def _is_wanted(source: KernelSource, device: str) -> bool:
    return device == "cpu" or source.source.language == "cuda" or source.backend is not None
