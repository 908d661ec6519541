"""The wiring of a call to its backward: that of the operator, with each tensor in place of its list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

from opwright.signature.parameters import TensorParam
from opwright.signature.tensor_lists.calls import Elements, Lengths, elements, groups, own_axes
from opwright.signature.wiring import Derivative, Wire


def derivative_of_call(whole: Derivative, forward: Elements) -> Derivative:
    """Return the wiring of a call.

    Args:
        whole: the wiring of the operator with the lists.
        forward: the signature of the call.
    """
    written = (*forward.result_counts, *_counts_of_mutated(whole, forward))
    counts = {"gradient": written, "zero_gradient": written, "output": written}
    counts |= dict.fromkeys(("input", "scalar"), forward.input_counts)
    places = {source: _places(of) for source, of in counts.items()}
    backward = elements(whole.backward, _lengths(whole, forward, counts))

    def members(wire: Wire) -> list[Wire]:
        if wire.source in places:
            return [Wire(wire.source, place) for place in places[wire.source][wire.index]]
        return [Wire("axis", forward.axes.index(whole.forward.axes[wire.index])) if wire.source == "axis" else wire]

    return Derivative(
        forward=forward,
        backward=backward,
        axes=whole.axes,
        ellipsis=whole.ellipsis,
        wires=tuple(chain.from_iterable(map(members, whole.wires))),
        inputs=tuple(chain.from_iterable(places["input"][i] for i in whole.inputs)),
        differentiable=tuple(
            is_one for is_one, at in zip(whole.differentiable, _places(written), strict=True) for _ in at
        ),
    )


def _counts_of_mutated(whole: Derivative, forward: Elements) -> list[int | None]:
    mutated = whole.forward.mutated
    return [
        count
        for param, count in zip(whole.forward.inputs, forward.input_counts, strict=True)
        if isinstance(param, TensorParam) and param in mutated
    ]


def _places(counts: Sequence[int | None]) -> list[range]:
    """Return where the tensors of each parameter are among those of all."""
    numbers = [1 if count is None else count for count in counts]
    ends = list(accumulate(numbers))
    return [range(end - number, end) for number, end in zip(numbers, ends, strict=True)]


def _lengths(whole: Derivative, forward: Elements, counts: Mapping[str, Sequence[int | None]]) -> Lengths:
    """Return the lengths of the backward's lists: each comes from one of the forward."""
    found = groups(whole.backward)
    known = [0] * found.count
    for param, wire in zip(whole.backward.inputs, whole.wires, strict=False):
        if isinstance(param, TensorParam) and param.listed:
            known[found.of[param.name, False]] = counts[wire.source][wire.index] or 0
    leads = any("..." in own_axes(tensor) for tensor in whole.backward.tensors)
    return Lengths(tuple(known), forward.lengths.ranks if leads else ())
