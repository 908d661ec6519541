"""What a bundle is made of: for each source and device the kernels that operators use."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from opwright.codegen import DerivedSource, KernelSource
from opwright.codegen.devices import providers
from opwright.errors import ArgumentError, UnsupportedError
from opwright.runtime.interface import KernelState
from opwright.signature import DType, Signature
from opwright.toolchain import Unit

TABLE = "opwright_library"


@dataclass(frozen=True)
class Part:
    """What a source has for one device.

    Attributes:
        source: where it comes from.
        device: ``"cpu"`` or ``"cuda"``.
        types: the element types of what is written.
        derived: derived kernels by name, each with its element types.
        table: the function that returns its table.
    """

    source: KernelSource
    device: str
    types: Sequence[Mapping[str, DType]]
    derived: Mapping[str, Sequence[Mapping[str, DType]]]
    table: str

    def unit(self) -> Unit:
        """What becomes a part of the bundle itself; its table has a name of its own."""
        unit = self.source.unit(*self.types, derived=self.derived)
        return replace(unit, name=f"{unit.name}-{self.table}", text=f"#define {TABLE} {self.table}\n{unit.text}")

    def library(self, *, native: bool) -> Path:
        """A library by itself, of CUDA text."""
        source = copy.copy(self.source)
        source.options = replace(source.options, native=native)
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
        """Those for which the bundle has a kernel."""
        return [device for device in ("cpu", "cuda") if (name, device) in self.where]


def choose(
    sources: Sequence[KernelSource], states: Iterable[KernelState], dtypes: Sequence[torch.dtype] | None
) -> Chosen:
    """What a bundle of these operators needs.

    CUDA kernels are those of CUDA sources and, where a back end was asked for when they were loaded, of pointwise ones.

    Raises:
        ArgumentError: `dtypes` leave an operator without a kernel.
        UnsupportedError: the operators are emulated.
    """
    if emulated := [source.path.name for source in sources if source.is_emulated]:
        raise UnsupportedError(
            f"bundle(): the operators of {', '.join(emulated)} are emulated, which is for tests\n"
            "  likely fix: bundle what load() gives without backend='emulate'"
        )
    names = None if dtypes is None else {str(dtype).removeprefix("torch.") for dtype in dtypes}

    def wanted(types: Mapping[str, DType]) -> bool:
        return names is None or all(dtype.torch_name in names for dtype in types.values())

    kernels = {state.signature.name: [*filter(wanted, state.signature.instances())] for state in states}
    for state in states:
        _check_any(state.signature, kernels[state.signature.name], dtypes)
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
            parts[i, device] = Part(source, device, types, derived, f"{TABLE}_{i}_{device}")
    where = {name: parts[sources.index(owner), name[1]] for name, owner in used.items()}
    return Chosen([*parts.values()], kernels, where)


def _is_wanted(source: KernelSource, device: str) -> bool:
    return device == "cpu" or source.source.language == "cuda" or source.backend is not None


def _check_any(signature: Signature, found: Sequence[object], dtypes: Sequence[torch.dtype] | None) -> None:
    if not found:
        raise ArgumentError(
            f"bundle(): dtypes={list(dtypes or ())} leave {signature.name} without a kernel\n"
            f"  signature:  {signature}\n"
            f"  likely fix: add an element type for each of {', '.join(signature.type_variables)}"
        )
