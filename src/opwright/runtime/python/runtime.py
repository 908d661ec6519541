"""The implementation of the runtime interface in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from opwright.errors import OpwrightError
from opwright.runtime import abi, messages
from opwright.runtime.fork_and_exit import keep_until_exit
from opwright.runtime.interface import Explain, ForwardMode, KernelState, RowKey, row_key
from opwright.runtime.python.autograd import Differentiable
from opwright.runtime.python.composite import ChoosingKernel, VariantKernel
from opwright.runtime.python.devices import accelerator
from opwright.runtime.python.frame import Instance
from opwright.runtime.python.host import host
from opwright.runtime.python.operators import Autocast, Build, Operator, autocast_keys
from opwright.runtime.python.tensor_lists import ListDifferentiable, ListOperator
from opwright.runtime.torch_internals import OpOverload, OpOverloadPacket, operator_names
from opwright.signature import Signature
from opwright.signature.wiring import Derivative

if TYPE_CHECKING:
    from opwright.signature.alternatives import Alternatives


class PythonRuntime:
    """The implementation of `opwright.runtime.interface.Runtime` that needs no compiler."""

    name = "python"

    def __init__(self) -> None:
        """Start without operators."""
        self._libraries: dict[str, torch.library.Library] = {}  # kept for ever: graphs can hold the operators

    def start(self, build: Build) -> None:
        """See the interface."""
        self._build = build

    def namespace_in_use(self, namespace: str) -> bool:
        """See the interface."""
        return any(name.startswith(f"{namespace}::") for name in operator_names())

    def add(self, kernel: KernelState) -> None:
        """See the interface."""
        kernel.handle = {}

    def update_devices(self, kernel: KernelState) -> None:
        """Do nothing: each call reads the kernel's devices anyway. See the interface."""

    def open(self, path: str) -> Mapping[RowKey, Instance]:
        """See the interface."""
        table = _table(path)
        rows = (table.kernels[i] for i in range(table.count))
        return {row_key(r): Instance(abi.ENTRY(r.entry), r.strided) for r in rows}

    def publish(self, kernel: KernelState, key: int, row: Instance) -> None:
        """See the interface."""
        kernel.handle[key] = row

    def define(self, kernel: KernelState, op: OpOverload, *, residuals: bool, mask: bool) -> Operator:
        """See the interface."""
        kind: Any = ListOperator if kernel.signature.lists else Operator
        operator: Operator = kind(kernel, op, self._build, residuals=residuals, mask=mask)
        return operator

    def maps(self, op: Operator) -> bool:
        """See the interface."""
        del op
        return False

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
        """See the interface."""
        library, signature = self._library(op.op.namespace), kernel.signature
        op.missing = None if backward else missing
        if not kernel.is_python:
            library.impl(op.op, op.on_device, "CPU")  # raises the error for devices without kernels
            library.impl(op.op, op.on_device, accelerator.key)
            library.impl(op.op, op.elsewhere, "CompositeExplicitAutograd")
        library.impl(op.op, op.elsewhere, "NestedTensorCPU")  # the composite key doesn't cover it
        library.impl(op.op, op.elsewhere, "NestedTensorCUDA")
        if signature.is_factory:
            library.impl(op.op, op.selecting, "BackendSelect", with_keyset=True)
            return
        recorded = forward if backward else op
        if isinstance(op, ListOperator):
            of_lists: Any = recorded
            rule: Any = ListDifferentiable(op, of_lists, backward, wiring, node=node, missing=missing)
        else:
            rule = Differentiable(op, recorded, backward, wiring, jvp=jvp, node=node, missing=missing)
        library.impl(op.op, rule, "Autograd", with_keyset=True)
        autocast = op.autocast if isinstance(op, ListOperator) else Autocast(op)
        for key in autocast_keys():
            library.impl(op.op, autocast, key)
        if signature.mutated:
            library.impl(op.op, op.overwriting, "ADInplaceOrView", with_keyset=True)
            library.impl(op.op, op.resolving, "Negative", with_keyset=True)
            library.impl(op.op, op.resolving, "Conjugate", with_keyset=True)

    def add_variant(self, op: Operator, variant: OpOverload, signature: Signature) -> None:
        """See the interface."""
        self._add_composite(variant, VariantKernel(op, variant, signature))

    def add_chooser(
        self, op: OpOverload, choice: Alternatives, ops: Sequence[tuple[OpOverload, Operator | None]]
    ) -> None:
        """See the interface."""
        self._add_composite(op, ChoosingKernel(choice, op, [each for each, _ in ops]))

    def _add_composite(self, op: OpOverload, kernel: Any) -> None:
        """Register the kernel of an operator that calls another one."""
        library = self._library(op.namespace)
        for key in ("CompositeImplicitAutograd", "FuncTorchBatchedDecomposition"):
            library.impl(op, kernel, key)

    def callable_type(self, kind: type, explain: Explain) -> Any:
        """See the interface."""
        del kind, explain

    def call_directly(self, target: OpOverload | OpOverloadPacket, op: Any) -> None:
        """See the interface: the dispatcher runs all calls."""

    def _library(self, namespace: str) -> torch.library.Library:
        if namespace not in self._libraries:
            self._libraries[namespace] = library = torch.library.Library(namespace, "IMPL")
            keep_until_exit(library)
        return self._libraries[namespace]


def _table(path: str) -> abi.LibraryTable:
    """Return the table that a kernel library exports. The library is never closed: its code can still be running."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OpwrightError(str(error)) from error
    try:
        function = library.opwright_library
    except AttributeError as error:
        raise OpwrightError(messages.NO_LIBRARY.format(path=path)) from error
    function.restype, function.argtypes = ctypes.POINTER(abi.LibraryTable), [ctypes.POINTER(abi.Host)]
    pointer = function(ctypes.byref(host()))
    if not pointer or pointer.contents.abi_version != abi.VERSION:
        raise OpwrightError(messages.OTHER_ABI.format(path=path, version=abi.VERSION))
    table: abi.LibraryTable = pointer.contents
    return table
