"""Independent axes, ``independent N, C``: slices along each are computed alone.

An input without the axis is shared by the slices; a result without it is the sum over them.
"""

from __future__ import annotations

from opwright.record import record
from opwright.signature.expr import Axis
from opwright.signature.model import Signature, TensorParam


@record
class Slices:
    """Where an independent axis is.

    Attributes:
        axis: its name.
        inputs: for each input tensor, which axis it is, counted from the last, which is 1; 0 where the tensor lacks it.
        results: the same for each output and residual.
    """

    axis: str
    inputs: tuple[int, ...]
    results: tuple[int, ...]


def slices(signature: Signature) -> tuple[Slices, ...]:
    """Return where each independent axis is, in the order of the signature."""
    return tuple(slices_along(signature, axis) for axis in signature.independent)


def slices_along(signature: Signature, axis: str) -> Slices:
    """Return where an axis is that is, or may be, independent."""
    inputs = tuple(from_last(tensor, axis) for tensor in signature.tensors)
    return Slices(axis, inputs, tuple(from_last(tensor, axis) for tensor in signature.results))


def from_last(tensor: TensorParam, axis: str) -> int:
    """Return which axis of a tensor an axis is, counted from the last, which is 1; 0 where the tensor lacks it."""
    places = [place for place, dim in enumerate(tensor.dims) if isinstance(dim, Axis) and dim.name == axis]
    return len(tensor.dims) - places[0] if places else 0


def described(signature: Signature) -> str:
    """Return the independent axes in words: what slices share, and what is summed over them."""
    texts = []
    for each in slices(signature):
        shared = [t.name for t, place in zip(signature.tensors, each.inputs, strict=True) if not place]
        summed = [t.name for t, place in zip(signature.results, each.results, strict=True) if not place]
        facts = [f"{', '.join(shared)} shared"] * bool(shared) + [f"{', '.join(summed)} summed"] * bool(summed)
        texts.append(each.axis + (f" ({'; '.join(facts)})" if facts else ""))
    return ", ".join(texts)
