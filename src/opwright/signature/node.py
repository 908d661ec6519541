"""What the autograd node of an operator has edges to and takes gradients of, whichever runtime makes it."""

from __future__ import annotations

from opwright.signature.model import Signature, TensorParam
from opwright.signature.record import record
from opwright.signature.wiring import Derivative, Wire, may_be_differentiable

_GRADIENTS = ("gradient", "zero_gradient")


@record
class NodePlan:
    """The node of one operator.

    Attributes:
        wires: where each argument of the backward comes from; none without a backward.
        edges: the arguments, by their place in the schema, that it has edges to. What is mutated comes first: PyTorch's
            CopySlices, which stands in for the node of a mutated view, takes it from there.
        gradients: for each edge, the backward's output that is its gradient; -1: overwritten without one, so zero.
        differentiable: for each of :attr:`Signature.written`, whether a gradient is taken for it.
        slots: for each of them, which of the node's inputs it is; -1 for a residual whose gradient nobody takes, so
            that an operator that only overwrites has the one input that CopySlices wants.
    """

    wires: tuple[Wire, ...]
    edges: tuple[int, ...]
    gradients: tuple[int, ...]
    differentiable: tuple[bool, ...]
    slots: tuple[int, ...]


def node_plan(sig: Signature, derivative: Derivative | None) -> NodePlan:
    """The node of `sig`; without a derivative, one whose backward is an error."""
    tensors = [(i, p) for i, p in enumerate(sig.inputs) if isinstance(p, TensorParam)]
    inputs = derivative.inputs if derivative else tuple(i for i, p in tensors if may_be_differentiable(p, sig))
    edges = tuple(dict.fromkeys([*(i for i, p in tensors if p.mutated), *inputs]))
    wires = derivative.wires if derivative else ()
    return NodePlan(
        wires=wires,
        edges=edges,
        gradients=tuple(inputs.index(edge) if edge in inputs else -1 for edge in edges),
        differentiable=derivative.differentiable
        if derivative
        else tuple(may_be_differentiable(tensor, sig) for tensor in sig.written),
        slots=_slots(sig, wires),
    )


def _slots(sig: Signature, wires: tuple[Wire, ...]) -> tuple[int, ...]:
    taken = {wire.index for wire in wires if wire.source in _GRADIENTS}
    residuals = range(len(sig.outputs), len(sig.results))
    slots: list[int] = []
    for i in range(len(sig.written)):
        constant = i in residuals and i not in taken
        slots.append(-1 if constant else sum(slot >= 0 for slot in slots))
    return tuple(slots)
