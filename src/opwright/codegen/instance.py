"""A kernel for certain element types: what one row of a library's table stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opwright.signature import DType, Signature
from opwright.signature.derive import Derived
from opwright.sources import Kernel


@dataclass(frozen=True)
class Instance:
    """A kernel for certain element types.

    Attributes:
        kernel: the author's function.
        types: the element type of each type variable.
        signature: the operator's, where it isn't the kernel's own: one with old values, or a derivative's.
        derived: which derivative of the function it is, if any.
        wanted: the results of a derivative that it computes, bit by bit; 0: all.
        dual: whether derivatives of a pointwise function may be asked for.
        cuda: whether it is part of a CUDA text.
    """

    kernel: Kernel
    types: Mapping[str, DType]
    signature: Signature
    derived: Derived | None = None
    wanted: int = 0
    dual: bool = False
    cuda: bool = False

    @property
    def name(self) -> str:
        """Its name in the table."""
        return instance_name(self.types, self.wanted)


def instance_name(types: Mapping[str, DType], wanted: int = 0) -> str:
    """An instance as its table row has it: ``T=f32,U=i64``, and the results that it computes: ``T=f32,wanted=3``."""
    names = [f"{variable}={dtype.value}" for variable, dtype in types.items()]
    return ",".join(names + [f"wanted={wanted:x}"] * (wanted != 0))
