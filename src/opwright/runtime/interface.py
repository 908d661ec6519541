"""What a runtime is: the part that calls kernels. Everything above it is the same for the native and the Python one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from opwright.signature import DType, Signature
from opwright.signature.wiring import Derivative

BY_CODE = {dtype.code: dtype for dtype in DType}

WANTED = 32
"""Where the results that an instance computes begin in its key."""

ON_CUDA = 0x80
"""The bit of an instance's key that says CUDA: no element type's byte, of which it is the first, needs it."""

CPU_ONLY = frozenset({"cpu"})

Row = Any
"""A row of a kernel library's table (``opw_kernel`` of abi.h), as the runtime that opened the library knows it."""

Operator = Any
"""One operator of the dispatcher, as the runtime that runs it knows it."""


class Provider(Protocol):
    """Where a kernel's machine code comes from.

    Attributes:
        masked: whether it makes an instance for each choice of results, as of a derivative.
        ahead: the results of the instance that is compiled where element types are asked for before a call; None: none
            is.
        devices: for which it has kernels: ``"cpu"``, ``"cuda"``, or both.
    """

    @property
    def devices(self) -> frozenset[str]: ...  # noqa: D102 - an attribute

    @property
    def masked(self) -> bool: ...  # noqa: D102 - an attribute

    @property
    def ahead(self) -> int | None: ...  # noqa: D102 - an attribute

    def library(
        self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu", rebuild: bool = False
    ) -> str:
        """The path of a kernel library for these element types; built if need be, or in any case.

        `wanted`: the results that a derived kernel computes, bit by bit; `device`: one of `devices`.
        """


@dataclass
class KernelState:
    """One kernel: its signature, what only its forward can tell it, and where its instances come from."""

    signature: Signature
    axes: tuple[str, ...]
    ellipsis: bool
    provider: Provider
    derived: bool = False  # whether there is an instance for each choice of results
    bound: bool = False  # whether it is a Python function, which somebody else registers (bound.py)
    handle: Any = None  # what the runtime wants to find in it
    paths: dict[int, str] = field(default_factory=dict)

    @property
    def devices(self) -> frozenset[str]:
        """For which there are kernels, as things are now: another source may come in its place."""
        return self.provider.devices

    def key(self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu") -> int:
        """The key of an instance (csrc/plan.h: one byte for each variable).

        `wanted`: bit by bit, the results that it computes, above the bytes of four variables. Only what is derived has
        an instance for each choice of them.
        """
        codes = sum((types[variable].code + 1) << 8 * i for i, variable in enumerate(self.signature.type_variables))
        return codes | wanted << WANTED | ON_CUDA * (device == "cuda")

    def device(self, key: int) -> str:
        """The device that an instance's key stands for, ``"cpu"`` or ``"cuda"``."""
        return "cuda" if key & ON_CUDA else "cpu"

    def wanted(self, key: int) -> int:
        """The results that an instance's key stands for; 0: all that the caller wants."""
        return key >> WANTED if self.derived else 0

    def types(self, key: int) -> dict[str, DType]:
        """The element types that an instance's key stands for."""
        key &= ~ON_CUDA
        codes = ((key >> 8 * i & 0xFF) - 1 for i in range(len(self.signature.type_variables)))
        return {variable: BY_CODE[code] for variable, code in zip(self.signature.type_variables, codes, strict=True)}


@dataclass(frozen=True)
class ForwardMode:
    """The forward-mode derivative of an operator.

    Attributes:
        operator: takes the tangents of `inputs`, each perhaps None, and then all arguments of the operator itself;
            gives the tangents of `results`.
        inputs: places in the schema.
        results: which of `Signature.written`.
    """

    operator: Operator
    inputs: tuple[int, ...]
    results: tuple[int, ...]


class Runtime(Protocol):
    """Calls kernels: checks, allocates, runs, differentiates."""

    name: str

    def start(self, build: Callable[[KernelState, int], None]) -> None:
        """Get ready, once. A call that meets a key without an instance asks `build` to make and publish it."""

    def namespace_in_use(self, namespace: str) -> bool:
        """Whether anybody has operators below ``torch.ops.<namespace>``."""

    def add(self, kernel: KernelState) -> None:
        """Make a kernel known."""

    def renewed(self, kernel: KernelState) -> None:
        """Learn that a kernel has another provider, which may have kernels for other devices."""

    def open(self, path: str) -> Mapping[tuple[str, str, str], Row]:
        """Open a kernel library, for ever: its rows by kernel name, instance and device.

        Raises:
            OpwrightError: it is none.
        """

    def publish(self, kernel: KernelState, key: int, row: Row) -> None:
        """From now on, calls with the types of `key` run the kernel in `row`."""

    def define(self, kernel: KernelState, op: torch._ops.OpOverload, *, residuals: bool, mask: bool) -> Operator:
        """An operator whose schema is there already: does it return the residuals, does it take an output mask?"""

    def connect(
        self,
        kernel: KernelState,
        op: Operator,
        forward: Operator,
        backward: Operator | None,
        wiring: Derivative | None,
        *,
        jvp: ForwardMode | None,
        node: str,
        missing: str,
    ) -> None:
        """Register the CPU and the Autograd kernel of `op`; the latter alone, where the kernel is bound.

        Args:
            kernel: what `op` runs.
            op: what `define` gave.
            forward: the form that runs where a gradient will be needed: with residuals, if there are any.
            backward: the operator that its gradient comes from.
            wiring: how that one gets its arguments; None where there is no backward.
            jvp: its forward-mode derivative; None where there is none, and forward mode is an error.
            node: the name of its nodes in autograd's graphs.
            missing: the UnsupportedError's text where there is no backward.
        """
