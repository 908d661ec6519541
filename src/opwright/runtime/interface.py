"""The interface of a runtime, the part that calls kernels: the native and the Python runtime implement it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from opwright.runtime.abi import KernelRow
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket
from opwright.signature import DType, Signature
from opwright.signature.wiring import Derivative

if TYPE_CHECKING:
    from opwright.signature.alternatives import Alternatives

BY_CODE = {dtype.code: dtype for dtype in DType}

WANTED = 32
"""The first bit, in an instance's key, of the mask of results that it computes."""

ON_CUDA = 0x80
"""The bit of an instance's key for CUDA: the top bit of the first element type's byte, which no type code uses."""

CPU_ONLY = frozenset({"cpu"})

Row = Any
"""A row of a kernel library's table (``opw_kernel`` of abi.h), in the form that the runtime uses."""

RowKey = tuple[str, str, str]
"""The key of a row: the kernel's name, instance and device."""

Operator = Any
"""An operator of the dispatcher, in the form that the runtime uses."""


Explain = Callable[[RuntimeError, Any, tuple[Any, ...], dict[str, Any]], BaseException]
"""Gets the error of a call, the operator, and the arguments by place and by name; returns the error to raise."""


def row_key(row: KernelRow) -> RowKey:
    """Return a row's key."""
    return row.name.decode(), row.instance.decode(), row.device.decode()


class Provider(Protocol):
    """The source of a kernel's machine code.

    Attributes:
        masked: whether there is a separate instance for each subset of results, as for a derivative.
        ahead: the results, as a bit mask, of the instance to compile if element types are requested before a call;
            None if nothing can be compiled ahead.
        devices: devices that have kernels: ``"cpu"``, ``"cuda"``, or both.
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
        """Return the path of a kernel library for these element types; build it if necessary.

        Args:
            types: element type of each type variable.
            wanted: bit mask of the results that a derived kernel computes.
            device: one of `devices`.
            rebuild: build it even if it exists.
        """


@dataclass
class KernelState:
    """One kernel: its signature, the sizes that only its forward can supply, and the provider of its instances."""

    signature: Signature
    axes: tuple[str, ...]
    ellipsis: bool
    provider: Provider
    derived: bool = False  # whether there is a separate instance for each subset of results
    is_python: bool = False  # whether it is a Python function, registered by register/python_kernels.py
    handle: Any = None  # the runtime's own data for it
    paths: dict[int, str] = field(default_factory=dict)

    @property
    def devices(self) -> frozenset[str]:
        """The devices that have kernels now; reloading the source may change them."""
        return self.provider.devices

    def key(self, types: Mapping[str, DType], wanted: int = 0, *, device: str = "cpu") -> int:
        """Return the key of an instance (csrc/plan/plan.h: one byte for each type variable).

        `wanted`: bit mask of the results that it computes; it is stored above the bytes of four type variables. Only
        derived kernels have separate instances for subsets of the results.
        """
        codes = sum((types[variable].code + 1) << 8 * i for i, variable in enumerate(self.signature.type_variables))
        return codes | wanted << WANTED | ON_CUDA * (device == "cuda")

    def device(self, key: int) -> str:
        """Return the device in an instance's key, ``"cpu"`` or ``"cuda"``."""
        return "cuda" if key & ON_CUDA else "cpu"

    def wanted(self, key: int) -> int:
        """Return the bit mask of results in an instance's key; 0: all that the caller wants."""
        return key >> WANTED if self.derived else 0

    def types(self, key: int) -> dict[str, DType]:
        """Return the element types in an instance's key."""
        key &= ~ON_CUDA
        codes = ((key >> 8 * i & 0xFF) - 1 for i in range(len(self.signature.type_variables)))
        return {variable: BY_CODE[code] for variable, code in zip(self.signature.type_variables, codes, strict=True)}


@dataclass(frozen=True)
class ForwardMode:
    """The forward-mode derivative of an operator.

    Attributes:
        operator: takes the tangents of `inputs`, each of which can be None, followed by all arguments of the operator
            itself; returns the tangents of `results`.
        inputs: indices of schema arguments.
        results: indices into `Signature.written`.
    """

    operator: Operator
    inputs: tuple[int, ...]
    results: tuple[int, ...]


class Runtime(Protocol):
    """The interface of a runtime, which checks calls, allocates results, runs kernels and differentiates."""

    name: str

    def start(self, build: Callable[[KernelState, int], None]) -> None:
        """Initialize the runtime; called once.

        If a call needs an instance that doesn't exist yet, the runtime calls `build` with the kernel and the instance's
        key; `build` compiles and publishes it.
        """

    def namespace_in_use(self, namespace: str) -> bool:
        """Return whether ``torch.ops.<namespace>`` has operators."""

    def add(self, kernel: KernelState) -> None:
        """Add a kernel to the runtime."""

    def update_devices(self, kernel: KernelState) -> None:
        """Update a kernel after its provider was replaced; the new provider can have kernels for other devices."""

    def open(self, path: str) -> Mapping[RowKey, Row]:
        """Open a kernel library, never to be closed, and return its rows by kernel name, instance and device.

        Raises:
            OpwrightError: the file isn't a kernel library.
        """

    def publish(self, kernel: KernelState, key: int, row: Row) -> None:
        """Make calls with the types of `key` run the kernel in `row` from now on."""

    def define(self, kernel: KernelState, op: OpOverload, *, residuals: bool, mask: bool) -> Operator:
        """Create the runtime's operator for `op`, whose schema is already defined.

        `residuals`: it also returns the residuals; `mask`: it takes an output mask.
        """

    def maps(self, op: Operator) -> bool:
        """Return whether `connect` also registers a kernel for calls under vmap."""

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
        """Register the CPU and the Autograd kernel of `op`; only the latter if the kernel is a Python function.

        Args:
            kernel: the kernel that `op` runs.
            op: the result of `define`.
            forward: the form that runs if a gradient will be needed: with residuals, if there are any.
            backward: the operator that computes its gradient.
            wiring: how the backward gets its arguments; None if there is no backward.
            jvp: its forward-mode derivative; None if there is none: then forward mode raises.
            node: the name of its nodes in autograd graphs.
            missing: the message of the UnsupportedError if there is no backward.
        """

    def add_variant(self, op: Operator, variant: OpOverload, signature: Signature) -> None:
        """Register the kernel of a variant of `op`, ``f.out`` or ``f_``, whose schema is already defined.

        `signature`: the variant's, as `variant_signatures` returns it.
        """

    def add_chooser(
        self, op: OpOverload, choice: Alternatives, ops: Sequence[tuple[OpOverload, Operator | None]]
    ) -> Operator:
        """Register the kernel of an operator that chooses between `ops`, whose schemas are its own; return it.

        `ops`: each with its form that the runtime uses; None if it has none, as variants.
        """

    def callable_type(self, kind: type, explain: Explain) -> Any:
        """Return the class to give to overloads or packets (`kind`), whose calls this runtime runs; None: their own.

        `explain`: gives the error to raise for a RuntimeError of a call.
        """

    def call_directly(self, target: OpOverload | OpOverloadPacket, op: Operator | None) -> None:
        """Let calls of an overload or packet run `op` where nothing intervenes; None: PyTorch's dispatcher runs all."""
