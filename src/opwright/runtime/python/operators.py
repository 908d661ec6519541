"""The kernels of every operator, but for autograd's and autocast's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import _C

from opwright.runtime.interface import KernelState
from opwright.runtime.python.accelerator import accelerator
from opwright.runtime.python.arguments import Arguments
from opwright.runtime.python.call import Frame, Instance
from opwright.runtime.python.devices import keys_of, move_numbers, place, refuse
from opwright.runtime.python.ending import keep_to_the_end
from opwright.runtime.python.loops import BatchedFrame, PointwiseFrame
from opwright.runtime.python.values import check_values
from opwright.signature import TensorParam

Build = Callable[[KernelState, int], None]


class Operator:
    """One operator of the dispatcher."""

    def __init__(
        self, kernel: KernelState, op: torch._ops.OpOverload, build: Build, *, residuals: bool, mask: bool
    ) -> None:
        """`residuals`: it returns them; `mask`: it takes an output mask; `build`: who publishes what is missing."""
        self.kernel, self.op, self.mask = kernel, op, mask
        self.signature = kernel.signature
        self.returned = self.signature.results if residuals else self.signature.outputs
        self.places = [i for i, param in enumerate(self.signature.inputs) if isinstance(param, TensorParam)]
        self._build = build
        self._frame = PointwiseFrame if self.signature.pointwise else BatchedFrame if self.signature.batched else Frame
        self.missing: str | None = None  # the error of differentiating it, where it has no backward
        # What `op(...)` calls. A graph goes on with the backward that it was recorded with, also where another source
        # has been loaded since and `op` itself refuses to be called.
        self.call: Callable[..., Any] = op._op  # noqa: SLF001
        arguments = op._schema.arguments  # noqa: SLF001 - what torch.library reads too
        self._names = [argument.name for argument in arguments]
        self._defaults = {a.name: a.default_value for a in arguments if a.has_default_value()}

    def filled(self, given: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """All arguments: the dispatcher leaves out what has its default value at the end."""
        rest = (named[n] if n in named else self._defaults[n] for n in self._names[len(given) :])
        return [*given, *rest]

    def arguments(self, given: Sequence[Any]) -> Arguments:
        """All arguments of a call, by their roles."""
        return Arguments(self.kernel, given, mask=self.mask)

    def answer(self, results: Sequence[Any]) -> Any:
        """Results as the schema has them: one alone, several as a tuple; what it doesn't return is left out."""
        keep_to_the_end(results)
        if len(self.returned) == 1:
            return results[0]
        return tuple(results[: len(self.returned)]) if self.returned else None

    def results(self, answer: Any) -> tuple[Any, ...]:
        """The other way round."""
        if len(self.returned) == 1:
            return (answer,)
        return tuple(answer) if self.returned else ()

    def on_device(self, *given: Any, **named: Any) -> Any:
        """The kernel of the device that the tensors are on."""
        call = self.arguments(self.filled(given, named))
        device = place(self.kernel, call)
        if device.type == "cpu":
            return self._run(call, device)
        with accelerator.on(device):
            move_numbers(call, device)
            return self._run(call, device)

    def _run(self, call: Arguments, device: torch.device) -> Any:
        signature = self.signature
        binding = call.bind()
        check_values(signature, call, binding, on_cpu=device.type == "cpu")
        if call.mask is not None and not any(call.mask):  # a kernel with one gradient needn't ask whether it is wanted
            return self.answer([None] * len(self.returned))
        kind = "cpu" if device.type == "cpu" else "cuda"
        instance = self._instance(self.kernel.key(binding.types, self._wanted(call), device=kind))
        return self.answer(self._frame(signature, call, binding, len(self.returned), device).run(instance))

    def _wanted(self, call: Arguments) -> int:
        """Which results an instance of its own computes, bit by bit; 0: all that the caller wants."""
        if not self.kernel.derived or call.mask is None:
            return 0
        return sum(1 << i for i, wanted in enumerate(call.mask) if wanted)

    def elsewhere(self, *given: Any, **named: Any) -> Any:
        """The kernel on every device that there is nothing for: an error."""
        refuse(self.kernel, self.arguments(self.filled(given, named)))

    def selecting(self, _keys: Any, *given: Any, **named: Any) -> Any:
        """For operators without input tensors: goes to the device that was asked for."""
        device = self.arguments(self.filled(given, named)).device
        return self.op.redispatch(keys_of(device), *given, **named)

    def overwriting(self, keys: Any, *given: Any, **named: Any) -> Any:
        """For operators that mutate: counts up the versions of what they mutate."""
        with _C._AutoDispatchBelowADInplaceOrView():  # noqa: SLF001 - as torch.library's own kernels do
            answer = self.op.redispatch(keys & _C._after_ADInplaceOrView_keyset, *given, **named)  # noqa: SLF001
        for tensor in self.arguments(self.filled(given, named)).mutated:
            if tensor is not None and not tensor.is_inference():
                torch.autograd.graph.increment_version(tensor)
        return answer

    def resolving(self, keys: Any, *given: Any, **named: Any) -> Any:
        """For operators that mutate, where an argument is lazily negated or conjugated.

        PyTorch's own kernel for those takes what is mutated to be returned, and corrupts memory where it isn't.
        """
        values, back = self.filled(given, named), []
        with _C._AutoDispatchBelowADInplaceOrView():  # noqa: SLF001 - as above
            for place in self.places:
                tensor = values[place]
                if tensor is None or not (tensor.is_neg() or tensor.is_conj()):
                    continue
                values[place] = tensor.clone()
                if self.signature.inputs[place] in self.signature.mutated:
                    back.append((tensor, values[place]))
            rest = keys.remove(_C.DispatchKey.Negative).remove(_C.DispatchKey.Conjugate)
            answer = self.op.redispatch(rest, *values)
            for tensor, plain in back:
                tensor.copy_(plain)
        return answer

    def _instance(self, key: int) -> Instance:
        instances: dict[int, Instance] = self.kernel.handle
        if key not in instances:
            self._build(self.kernel, key)
        return instances[key]
