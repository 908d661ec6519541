"""The native runtime behind the interface: what goes to C++ becomes integers and addresses here."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime.broadcasting import bind_call
from opwright.runtime.interface import BY_CODE, ForwardMode, KernelState
from opwright.runtime.native import native
from opwright.runtime.plan import encode, encode_node, encode_tangents
from opwright.signature import Signature, TensorInfo, chosen_type, index_error, output_shapes
from opwright.signature.node import node_plan
from opwright.signature.wiring import Derivative


class NativeRuntime:
    """Implements `opwright.runtime.interface.Runtime` with the C++ of ``csrc/``."""

    name = "native"

    def __init__(self) -> None:
        """Build and load it; ToolchainError where it can't be."""
        self._library = native()
        self._kernels: list[KernelState] = []  # known to C++ by their numbers

    def start(self, build: Callable[[KernelState, int], None]) -> None:
        """See the interface."""
        self._library.start(
            lambda number, key: build(self._kernels[number], key),
            lambda number, words: _explain(self._kernels[number], words),
        )

    def namespace_in_use(self, namespace: str) -> bool:
        """See the interface."""
        return bool(self._library.namespace_in_use(namespace.encode()))

    def add(self, kernel: KernelState) -> None:
        """See the interface."""
        kernel.handle = self._library.kernel_new(len(self._kernels), kernel.signature.name.encode())
        self._kernels.append(kernel)
        self.renewed(kernel)

    def renewed(self, kernel: KernelState) -> None:
        """See the interface."""
        self._library.kernel_serve(kernel.handle, int("cpu" in kernel.devices), int("cuda" in kernel.devices))

    def open(self, path: str) -> Mapping[tuple[str, str, str], int]:
        """See the interface; a row is an address."""
        table = self._library.checked(self._library.library_open(os.fsencode(path))).contents
        step, first = ctypes.sizeof(table.kernels.contents), ctypes.addressof(table.kernels.contents)
        rows = (table.kernels[i] for i in range(table.count))
        return {row.names: first + i * step for i, row in enumerate(rows)}

    def publish(self, kernel: KernelState, key: int, row: int) -> None:
        """See the interface."""
        self._library.kernel_publish(kernel.handle, key, row)

    def define(self, kernel: KernelState, op: torch._ops.OpOverload, *, residuals: bool, mask: bool) -> int:
        """See the interface; an operator is an address."""
        plan = encode(kernel.signature, kernel.axes, ellipsis=kernel.ellipsis, mask=mask, derived=kernel.derived)
        address, count = plan.buffer_info()
        qualified, overload = op._schema.name.encode(), op._overloadname.encode()  # noqa: SLF001 - there is no other way
        made = self._library.operator_new(kernel.handle, qualified, overload, address, count, int(residuals))
        operator = int(self._library.checked(made))
        if kernel.bound:
            self._library.operator_bind(operator)
        return operator

    def connect(
        self,
        kernel: KernelState,
        op: int,
        forward: int,
        backward: int | None,
        wiring: Derivative | None,
        *,
        jvp: ForwardMode | None,
        node: str,
        missing: str,
    ) -> None:
        """See the interface."""
        words = encode_node(node_plan(kernel.signature, wiring)) + encode_tangents(kernel.signature if jvp else None)
        address, count = words.buffer_info()
        self._library.checked(
            self._library.operator_register(
                op, forward, backward, jvp and jvp.operator, address, count, node.encode(), missing.encode()
            )
        )


def _explain(state: KernelState, words: Sequence[int]) -> None:
    """Raise the ArgumentError of a call that the native side found wrong (the format: csrc/call.cpp)."""
    signature, numbers = state.signature, iter(words)
    arguments = {tensor.name: _tensor(signature, tensor.name, numbers) for tensor in signature.tensors}
    sizes = {axis: next(numbers) for axis in signature.sizes}
    axes = {axis: next(numbers) for axis in state.axes}
    ellipsis = [next(numbers) for _ in range(next(numbers))] if state.ellipsis else None
    types = chosen_type(signature, BY_CODE.get(next(numbers))) if signature.chosen_type else {}
    binding = bind_call(signature, arguments, axes=axes, ellipsis=ellipsis, types=types, scalars=sizes)
    output_shapes(signature, binding, with_residuals=True)
    wrong = tuple(numbers)
    if wrong:
        number, position, value = wrong
        raise index_error(signature, binding, signature.tensors[number], arguments, position, value)
    unknown = [variable for variable in signature.type_variables if variable not in binding.types]
    what = (
        f"no argument tells the element type {', '.join(unknown)}"
        if unknown
        else "its sizes are larger than a tensor can be"
    )
    raise ArgumentError(f"{signature.name}(): {what}\n  signature:    {signature}")


def _tensor(signature: Signature, name: str, numbers: Any) -> TensorInfo | None:
    if not next(numbers):
        return None
    code, rank = next(numbers), next(numbers)
    if code not in BY_CODE:
        raise ArgumentError(
            f"{signature.name}(): {name} has an element type that no signature can name\n  signature:    {signature}"
        )
    return TensorInfo(tuple(next(numbers) for _ in range(rank)), BY_CODE[code])
