"""Named groups of axes, ``*A``, and the axis between two of them that a call chooses: ``dim: axis(D)``.

A kernel sees a group as one axis, whose size is the product of the group's sizes: ``T[*A, D, *B]`` has three axes. An
axis that only a bool keeps, ``1 if keepdim``, it doesn't see at all. Sizes may be symbolic; ranks never are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opwright.record import record
from opwright.signature.chosen.kinds import AxisKind
from opwright.signature.expr import Axis, Constant, Group, KeptAxis

if TYPE_CHECKING:
    from opwright.signature.model import Signature
    from opwright.signature.parameters import ScalarParam, TensorParam

Shaped = Sequence[tuple["TensorParam", Sequence[int]]]
"""The tensors of a call, each with its shape."""


@record
class Groups:
    """What the groups of one call are.

    Attributes:
        shapes: the sizes of each group.
        flags: the bools that decide whether an axis is there.
        absent: the axes that aren't there because their tensor has none at all: of a 0-dim tensor, the ``D`` of
            ``T[*A, D, *B]``. Their size is 1.
    """

    shapes: Mapping[str, tuple[int, ...]] = {}
    flags: Mapping[str, bool] = {}
    absent: frozenset[str] = frozenset()


class GroupsError(Exception):
    """Raised if the ranks of a call's tensors don't fit their groups, or there is no axis of the chosen number.

    Attributes:
        tensor: the tensor that doesn't fit, or None; then the text says all.
    """

    def __init__(self, tensor: TensorParam | None, text: str = "") -> None:
        """Name the tensor, or say what is wrong."""
        super().__init__(text)
        self.tensor = tensor


class Grouping:
    """The groups of a signature, and the argument that chooses an axis."""

    def __init__(self, signature: Signature) -> None:
        """Find the groups."""
        self.signature = signature
        self.tensors = signature.tensors + signature.results
        dims = [dim for tensor in self.tensors if tensor.shape for dim in tensor.shape.dims]
        self.names = tuple(dict.fromkeys(dim.name for dim in dims if isinstance(dim, Group)))
        self.flags = tuple(dict.fromkeys(dim.flag for dim in dims if isinstance(dim, KeptAxis)))

    def __bool__(self) -> bool:
        """Return whether the signature has groups, or axes that a bool keeps."""
        return bool(self.names or self.flags)

    @cached_property
    def chosen(self) -> ScalarParam | None:
        """The argument that chooses an axis, if there is one."""
        return next((scalar for scalar in self.signature.scalars if isinstance(scalar.kind, AxisKind)), None)

    @property
    def axis(self) -> str:
        """The name of the chosen axis; empty if there is none."""
        return self.chosen.kind.axis if self.chosen and isinstance(self.chosen.kind, AxisKind) else ""

    @cached_property
    def around(self) -> tuple[str, str] | None:
        """The groups before and after the chosen axis; None if there is no ``[*A, D, *B]``."""
        for tensor in self.tensors if self.chosen else ():
            dims = tensor.shape.dims if tensor.shape else ()
            first, *middle, last = [*dims, None, None][: max(3, len(dims))]
            if isinstance(first, Group) and isinstance(last, Group) and middle == [Axis(self.axis)]:
                return first.name, last.name
        return None

    @cached_property
    def deciding(self) -> tuple[str, ...]:
        """The scalars that decide on ranks, which kernels don't see: the chosen axis's number, then the bools."""
        return (*([self.chosen.name] if self.chosen else []), *self.flags)

    def has(self, tensor: TensorParam) -> bool:
        """Return whether the tensor has a group, or an axis that a bool keeps."""
        return tensor.shape is not None and any(isinstance(dim, Group | KeptAxis) for dim in tensor.shape.dims)

    def surrounds(self, tensor: TensorParam) -> bool:
        """Return whether the tensor has the groups on both sides of the chosen axis, and no others."""
        return self.around is not None and _groups(tensor) == [*self.around]

    def slot(self, tensor: TensorParam) -> str:
        """Return the axis without which a 0-dim tensor fits: of ``[*A, E, *B]`` it is E; empty if there is none.

        One that always has the size 1 stands for the chosen axis.
        """
        dims = tensor.shape.dims if tensor.shape else ()
        if not (
            self.surrounds(tensor) and len(dims) == 3 and isinstance(dims[0], Group) and isinstance(dims[2], Group)
        ):
            return ""
        if isinstance(dims[1], KeptAxis) or dims[1] == Constant(1):
            return self.axis
        return dims[1].name if isinstance(dims[1], Axis) else ""

    def extents(self, tensor: TensorParam, ranks: Mapping[str, int], groups: Groups) -> list[int]:
        """Return the number of the tensor's axes for each that it is written with; that of an unknown group is 0."""
        slot, extents = self.slot(tensor), list[int]()
        for place, dim in enumerate(tensor.shape.dims if tensor.shape else ()):
            if isinstance(dim, Group):
                extents.append(ranks.get(dim.name, 0))
            elif slot in groups.absent and place == 1:
                extents.append(0)
            else:
                extents.append(int(groups.flags[dim.flag]) if isinstance(dim, KeptAxis) else 1)
        return extents

    def solve(self, present: Shaped, scalars: Mapping[str, Any]) -> tuple[dict[str, int], Groups]:
        """Return the rank of each group in a call, and its groups, without their sizes.

        Args:
            present: the tensors of the call.
            scalars: its scalars, by name.

        Raises:
            GroupsError: there is no axis of the chosen number, or a tensor has another rank.
        """
        flags = {flag: bool(scalars[flag]) for flag in self.flags}
        ranks, groups = dict[str, int](), Groups({}, flags)
        if self.chosen and self.around:
            ranks, groups = self._around(present, flags, int(scalars[self.chosen.name]))
        pending = [(tensor, shape) for tensor, shape in present if self.has(tensor)]
        while True:
            solved = False
            for tensor, shape in pending:
                unknown = [name for name in _groups(tensor) if name not in ranks]
                if len(unknown) == 1:
                    ranks[unknown[0]] = len(shape) - sum(self.extents(tensor, ranks, groups))
                    solved = True
            if not solved:
                break
        for tensor, shape in pending:
            negative = any(ranks.get(name, 0) < 0 for name in _groups(tensor))
            if negative or sum(self.extents(tensor, ranks, groups)) != len(shape):
                raise GroupsError(tensor)
        return ranks, groups

    def _around(self, present: Shaped, flags: Mapping[str, bool], number: int) -> tuple[dict[str, int], Groups]:
        """Return the ranks of the groups around the chosen axis, and the axes that 0-dim tensors lack."""
        assert self.chosen is not None  # noqa: S101 - called for signatures that have one
        assert self.around is not None  # noqa: S101
        tensor, shape = next((t, s) for t, s in present if self.surrounds(t))
        plain = sum(self.extents(tensor, {}, Groups({}, flags)))
        lacks = not shape and plain == 1 and bool(self.slot(tensor))
        count = 1 if lacks else len(shape) - plain + 1
        if count < 1:
            raise GroupsError(tensor)
        if not -count <= number < count:
            raise GroupsError(
                None,
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {number}): "
                f"{self.chosen.name} is the axis {self.axis} of {tensor.name}, which has {_axes(len(shape))}",
            )
        before = number % count
        absent = {self.slot(tensor)} if lacks else set()
        if count == 1:  # each says for itself what it lacks, but for an axis that the first one has
            told = self.slot(tensor) if plain else ""
            others = [(t, self.slot(t)) for t, s in present if not s]
            absent |= {
                slot
                for each, slot in others
                if slot not in ("", told) and any(self.extents(each, {}, Groups({}, flags)))
            }
        return {self.around[0]: before, self.around[1]: count - 1 - before}, Groups({}, flags, frozenset(absent))

    def split(
        self, tensor: TensorParam, shape: Sequence[int], ranks: Mapping[str, int], groups: Groups
    ) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield each axis that the tensor is written with, and its sizes in `shape`: of an absent one, none."""
        start = 0
        for dim, extent in zip(
            tensor.shape.dims if tensor.shape else (), self.extents(tensor, ranks, groups), strict=True
        ):
            yield dim, tuple(shape[start : start + extent])
            start += extent

    def spread(self, tensor: TensorParam, groups: Groups, size: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield the sizes of a tensor of these groups; `size`: returns that of an axis that is none."""
        ranks = {name: len(shape) for name, shape in groups.shapes.items()}
        extents = self.extents(tensor, ranks, groups)
        for dim, extent in zip(tensor.shape.dims if tensor.shape else (), extents, strict=True):
            if isinstance(dim, Group):
                yield from groups.shapes[dim.name]
            elif extent:
                yield 1 if isinstance(dim, KeptAxis) else size(dim)

    def spans(self, tensor: TensorParam, groups: Groups) -> list[tuple[int, bool]]:
        """Return the number of axes that each axis of the notation stands for, and whether the kernel sees it."""
        ranks = {name: len(shape) for name, shape in groups.shapes.items()}
        extents = self.extents(tensor, ranks, groups)
        dims = tensor.shape.dims if tensor.shape else ()
        return [(extent, not isinstance(dim, KeptAxis)) for dim, extent in zip(dims, extents, strict=True)]

    def number(self, groups: Groups) -> int:
        """Return the number of the chosen axis, counted from the first."""
        assert self.around is not None  # noqa: S101 - called for signatures that have one
        return len(groups.shapes[self.around[0]])

    def scalars(self, groups: Groups) -> dict[str, Any]:
        """Return the scalars that make these groups."""
        number = {self.chosen.name: self.number(groups)} if self.chosen else {}
        return {**number, **groups.flags}


def product(sizes: Iterable[Any]) -> Any:
    """Return the product of sizes."""
    return math.prod(sizes)


def _groups(tensor: TensorParam) -> list[str]:
    return [dim.name for dim in tensor.shape.dims if isinstance(dim, Group)] if tensor.shape else []


def _axes(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"
