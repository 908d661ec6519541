"""Groups of axes, and optional sizes, for random calls and for calls of which sizes alone are specified."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from opwright.signature.binding import Binding
from opwright.signature.chosen.groups import Groups
from opwright.signature.model import Signature
from opwright.signature.scalars import Value

_MOST_AXES = 2
_SCALARS = 0.25  # probability that tensors that can do without any axis have none


def draw_groups(sig: Signature, rng: random.Random, sizes: Sequence[int], fixed: Mapping[str, int]) -> Groups:
    """Draw the sizes of each group from `sizes`; a group whose product is fixed is one axis."""
    shapes = {
        name: (fixed[name],) if name in fixed else tuple(rng.choice(sizes) for _ in range(rng.randint(0, _MOST_AXES)))
        for name in sig.grouping.names
    }
    return Groups(shapes)


def with_deciding(
    sig: Signature, binding: Binding, scalars: dict[str, Value], rng: random.Random
) -> tuple[Binding, dict[str, Value]]:
    """Return the binding with the bools that decide axes, and the scalars with the number of the chosen axis.

    Where one element is all that there is, the tensors may have no axis at all.
    """
    grouping = sig.grouping
    if not grouping:
        return binding, scalars
    absent = frozenset[str]()
    if grouping.around and not any(binding.groups.shapes[name] for name in grouping.around):
        absent = frozenset(grouping.axis for _ in range(binding.axes[grouping.axis] == 1 and rng.random() < _SCALARS))
    groups = Groups(binding.groups.shapes, {flag: bool(scalars[flag]) for flag in grouping.flags}, absent)
    binding = Binding(binding.axes, binding.ellipsis, binding.types, groups=groups)
    if grouping.chosen is None or grouping.around is None:
        return binding, scalars
    before, after = (len(groups.shapes[name]) for name in grouping.around)
    return binding, {**scalars, grouping.chosen.name: rng.choice((before, -1 - after))}


def with_optional_sizes(
    sig: Signature,
    binding: Binding,
    scalars: dict[str, Value],
    rng: random.Random,
    sizes: Sequence[int],
    fixed: Mapping[str, int],
) -> tuple[Binding, dict[str, Value]]:
    """Return the call with the axes that optional ints decide; those that are given are among `sizes`.

    `fixed`: arguments that aren't drawn.
    """
    for name in sig.optional_sizes.values():
        domain = next(scalar.domain for scalar in sig.scalars if scalar.name == name)
        interval = domain.interval({**sig.with_elements(scalars), **binding.axes}) if domain else None
        fitting = [size for size in sizes if interval is None or size in interval]
        if scalars[name] is not None and name not in fixed:
            scalars = {**scalars, name: rng.choice(fitting) if fitting else None}
    axes = {**binding.axes, **sig.given_sizes(scalars)}
    return Binding(axes, binding.ellipsis, binding.types, groups=binding.groups), scalars


def ordinary_groups(sig: Signature, binding: Binding, scalars: Mapping[str, Value]) -> Groups:
    """Return the groups of a call for which sizes alone are specified: one axis each, or none of the size 1."""
    known, defaults = binding.groups, {scalar.name: scalar.default for scalar in sig.scalars}
    flags = {flag: bool(scalars.get(flag, defaults[flag])) for flag in sig.grouping.flags}
    ordinary = {name: (binding.axes[name],) if binding.axes[name] != 1 else () for name in sig.grouping.names}
    shapes = {**ordinary, **known.shapes}
    return Groups(shapes, flags, known.absent)
