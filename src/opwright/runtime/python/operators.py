"""The CPU kernel of every operator, and its place in the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.runtime.interface import KernelState
from opwright.runtime.python.arguments import Arguments, check_dense, check_device
from opwright.runtime.python.call import Instance, run

Build = Callable[[KernelState, int], None]


class Operator:
    """One operator of the dispatcher."""

    def __init__(
        self, kernel: KernelState, op: torch._ops.OpOverload, build: Build, *, residuals: bool, mask: bool
    ) -> None:
        """`residuals`: it returns them; `mask`: it takes an output mask; `build`: who publishes what is missing."""
        self.kernel, self.op, self.mask = kernel, op, mask
        signature = kernel.signature
        self.returned = signature.results if residuals else signature.outputs
        self._build = build
        self._names = [argument.name for argument in op._schema.arguments]  # noqa: SLF001 - what torch.library reads too
        self._defaults = {a.name: a.default_value for a in op._schema.arguments if a.has_default_value()}  # noqa: SLF001

    def filled(self, given: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """All arguments: the dispatcher leaves out what has its default value at the end."""
        rest = (named[n] if n in named else self._defaults[n] for n in self._names[len(given) :])
        return [*given, *rest]

    def arguments(self, given: Sequence[Any]) -> Arguments:
        """The arguments of a call by their roles."""
        return Arguments(self.kernel, given, mask=self.mask)

    def on_cpu(self, *given: Any, **named: Any) -> Any:
        """The CPU kernel."""
        signature = self.kernel.signature
        call = self.arguments(self.filled(given, named))
        check_device(signature, call.tensors)
        check_dense(signature, call.tensors)
        binding = call.bind()
        instance = self._instance(self.kernel.key({v: binding.types[v] for v in signature.type_variables}))
        return self.answer(run(self.kernel, instance, call, binding, len(self.returned)))

    def answer(self, results: Sequence[Any]) -> Any:
        """Results as the schema has them."""
        return results[0] if len(self.returned) == 1 else tuple(results[: len(self.returned)])

    def _instance(self, key: int) -> Instance:
        instances: dict[int, Instance] = self.kernel.handle
        if key not in instances:
            self._build(self.kernel, key)
        return instances[key]
