"""The Python runtime behind the interface."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import torch

from opwright.errors import OpwrightError
from opwright.runtime import abi
from opwright.runtime.interface import ForwardMode, KernelState
from opwright.runtime.lifetime import keep_until_exit
from opwright.runtime.python.accelerator import accelerator
from opwright.runtime.python.autocast import Autocast, autocast_keys
from opwright.runtime.python.autograd import Differentiable
from opwright.runtime.python.call import Instance
from opwright.runtime.python.host import host
from opwright.runtime.python.operators import Build, Operator
from opwright.signature.wiring import Derivative


class PythonRuntime:
    """Implements `opwright.runtime.interface.Runtime` without a compiler."""

    name = "python"

    def __init__(self) -> None:
        """Nothing is open."""
        self._libraries: dict[str, torch.library.Library] = {}  # for ever: graphs may hold the operators

    def start(self, build: Build) -> None:
        """See the interface."""
        self._build = build

    def namespace_in_use(self, namespace: str) -> bool:
        """See the interface."""
        names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - torch.testing asks this way
        return any(name.startswith(f"{namespace}::") for name in names)

    def add(self, kernel: KernelState) -> None:
        """See the interface."""
        kernel.handle = {}

    def renewed(self, kernel: KernelState) -> None:
        """See the interface: here each call asks the kernel itself."""

    def open(self, path: str) -> Mapping[tuple[str, str, str], Instance]:
        """See the interface."""
        table = _table(path)
        rows = (table.kernels[i] for i in range(table.count))
        return {r.names: Instance(abi.ENTRY(r.entry), r.strided) for r in rows}

    def publish(self, kernel: KernelState, key: int, row: Instance) -> None:
        """See the interface."""
        kernel.handle[key] = row

    def define(self, kernel: KernelState, op: torch._ops.OpOverload, *, residuals: bool, mask: bool) -> Operator:
        """See the interface."""
        return Operator(kernel, op, self._build, residuals=residuals, mask=mask)

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
        if not kernel.bound:
            library.impl(op.op, op.on_device, "CPU")  # devices that it has nothing for get their error
            library.impl(op.op, op.on_device, accelerator.key)
            library.impl(op.op, op.elsewhere, "CompositeExplicitAutograd")
        library.impl(op.op, op.elsewhere, "NestedTensorCPU")  # not among the composite ones
        library.impl(op.op, op.elsewhere, "NestedTensorCUDA")
        if signature.is_factory:
            library.impl(op.op, op.selecting, "BackendSelect", with_keyset=True)
            return
        rule = Differentiable(op, forward if backward else op, backward, wiring, jvp=jvp, node=node, missing=missing)
        library.impl(op.op, rule, "Autograd", with_keyset=True)
        for key in autocast_keys():
            library.impl(op.op, Autocast(op), key)
        if signature.mutated:
            library.impl(op.op, op.overwriting, "ADInplaceOrView", with_keyset=True)
            library.impl(op.op, op.resolving, "Negative", with_keyset=True)
            library.impl(op.op, op.resolving, "Conjugate", with_keyset=True)

    def _library(self, namespace: str) -> torch.library.Library:
        if namespace not in self._libraries:
            self._libraries[namespace] = library = torch.library.Library(namespace, "IMPL")
            keep_until_exit(library)
        return self._libraries[namespace]


def _table(path: str) -> abi.LibraryTable:
    """What a kernel library exports. Never closed: its code may still run."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise OpwrightError(str(error)) from error
    try:
        function = library.opwright_library
    except AttributeError as error:
        raise OpwrightError(f"{path} is no Opwright kernel library: it lacks the symbol opwright_library") from error
    function.restype, function.argtypes = ctypes.POINTER(abi.LibraryTable), [ctypes.POINTER(abi.Host)]
    found = function(ctypes.byref(host()))
    if not found or found.contents.abi_version != abi.VERSION:
        raise OpwrightError(
            f"{path} was built for another version of Opwright's ABI; this one is version {abi.VERSION}"
        )
    table: abi.LibraryTable = found.contents
    return table
