"""What is checked: an operator, whoever built it, with its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.inputs import positional
from opwright.check.returned import called_with, of_operator, of_reference
from opwright.check.watch import calling
from opwright.signature import DType, Signature, TensorParam
from opwright.signature.wiring import BACKWARD, GRAD

if TYPE_CHECKING:
    from opwright.codegen import KernelSource

Reference = Callable[..., Any]


@dataclass(frozen=True)
class Subject:
    """An operator to check.

    Attributes:
        name: as it is shown.
        signature: its arguments and results, as its author wrote them; calls are drawn from it.
        function: takes tensors and scalars in the signature's order.
        op: the dispatcher's operator, where there is one: opcheck and export need it.
        reference: a function of the same arguments that is known to be right; it gets float64 tensors.
        backward: the signature of its backward, where Opwright made the operator and it has one.
        ours: whether Opwright made it, so that what is asked of the notation holds.
        sources: what it was built from; nothing where somebody else built it.
        imports: Python that brings it into reach.
        expression: Python that stands for it, after `imports`.
        namespace: every operator of the library that it belongs to, by name.
        devices: for which Opwright has kernels of it; nothing where somebody else built it.
        device: whose tensors it is called with.
        blamed: what was said of the reference already, so that it is said once.
    """

    name: str
    signature: Signature
    function: Callable[..., Any]
    op: torch._ops.OpOverload | None = None
    reference: Reference | None = None
    backward: Signature | None = None
    ours: bool = False
    sources: tuple[KernelSource, ...] = ()
    imports: tuple[str, ...] = ()
    expression: str = ""
    namespace: Mapping[str, torch._ops.OpOverload] | None = None
    devices: frozenset[str] = frozenset()
    device: str = "cpu"
    blamed: list[str] = field(default_factory=list, compare=False)

    def call(self, arguments: Mapping[str, Any], types: Mapping[str, DType] | None = None) -> tuple[torch.Tensor, ...]:
        """Call it; its results, always as a tuple.

        `types`: what type variables stand for; an operator without input tensors takes the type that it makes.

        Raises:
            WrongResultsError: it returns something else than its signature says.
        """
        given = positional(self.signature, arguments)
        with calling(lambda: called_with(self.signature, given)):
            made = self.function(*given, **self.keywords(types))
        return of_operator(made, self.signature, [arguments.get(t.name) for t in self.signature.mutated])

    def keywords(self, types: Mapping[str, DType] | None) -> dict[str, Any]:
        """What an operator without input tensors takes beside its arguments."""
        chosen = self.signature.chosen_type
        known = {"dtype": getattr(torch, types[chosen].torch_name)} if chosen and types and chosen in types else {}
        elsewhere = self.ours and self.signature.is_factory and self.device != "cpu"
        return {**known, "device": self.device} if elsewhere else known

    def referred(
        self, arguments: Mapping[str, Any], dtype: torch.dtype = torch.float64
    ) -> tuple[torch.Tensor, ...] | None:
        """What the reference gives for the arguments, with what is floating as `dtype`; None without a reference.

        Behind its results stands what it has overwritten, unless it returns that itself.

        Raises:
            BadReferenceError: it raises, or gives something else than the signature says.
        """
        if self.reference is None:
            return None
        return self.of_reference({name: widened(value, dtype) for name, value in arguments.items()})

    def of_reference(self, arguments: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        """What the reference gives for the arguments as they are; else as `referred`."""
        given = [arguments[param.name] for param in self.signature.inputs if param.name in arguments]  # no generator
        written = [arguments[t.name] for t in self.signature.mutated if arguments[t.name] is not None]
        made = of_reference(self.reference, self.signature, given, len(written))
        return (*made, *written) if len(made) == len(self.signature.outputs) else made

    @property
    def differentiable(self) -> tuple[TensorParam, ...]:
        """The inputs that a gradient may flow to: of others' operators, each that is floating."""
        if self.ours:
            if self.backward is None:
                return ()
            wanted = {result.name.removeprefix(GRAD) for result in self.backward.outputs}
            return tuple(t for t in self.signature.tensors if t.name in wanted)
        return tuple(t for t in self.signature.tensors if _may_be_floating(t, self.signature))

    @property
    def mutates(self) -> bool:
        """Whether it overwrites an argument."""
        return bool(self.signature.mutated)


def backward_of(name: str, signatures: Mapping[str, Signature]) -> Signature | None:
    """The signature of an operator's backward."""
    return signatures.get(name + BACKWARD)


def widened(value: Any, dtype: torch.dtype = torch.float64) -> Any:
    """A floating tensor as `dtype`; anything else as it is."""
    is_floating = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.to(dtype) if is_floating else value


def _may_be_floating(tensor: TensorParam, signature: Signature) -> bool:
    if tensor.type.kind == "dtype":
        return tensor.type.resolve({}).is_floating
    return any(dtype.is_floating for dtype in signature.allowed(tensor.type.name))
