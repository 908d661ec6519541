"""Sizes that a forward gives its backward, along axes that are sharded: the global ones are made local.

They are ints of the backward's schema, which DTensor passes on as they are. An argument that has such an axis may be
absent, so its size alone isn't enough; where it is there, its placement tells how the axis is sharded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from opwright.runtime.torch_internals import OpOverload, schema_of, sharding_tables
from opwright.signature import Signature
from opwright.signature.clauses.independent import slices_along
from opwright.signature.names import axis_argument
from opwright.signature.scalar_kinds.lists import AnyList


class Axis(NamedTuple):
    """An axis whose size an operator's schema takes.

    `places`: by argument, which axis of it this is, counted from the last, which is 1.
    """

    name: str
    places: Mapping[str, int]


def localise(op: OpOverload, signature: Signature, axes: Sequence[str]) -> bool:
    """Make DTensor call an operator with the local sizes of axes; return whether that is possible."""
    table = sharding_tables().local_sizes
    if table is None or any(isinstance(scalar.kind, AnyList) for scalar in signature.scalars):
        return False  # of lists, DTensor passes on each element as an argument
    places = [slices_along(signature, axis).inputs for axis in axes]
    names = [tensor.name for tensor in signature.tensors]
    known = [{name: place for name, place in zip(names, each, strict=True) if place} for each in places]
    table[op] = _Local(op, [Axis(*pair) for pair in zip(axes, known, strict=True)])
    return True


class _Local:
    """Replaces the global sizes in the arguments of a call, of which the specifications of DTensors are given."""

    def __init__(self, op: OpOverload, axes: Sequence[Axis]) -> None:
        self._names = [argument.name for argument in schema_of(op).arguments]
        self._axes = axes

    def __call__(self, _: Sequence[Any], schema: Any) -> Any:
        """Return the schema of a call, in which tensors have the placements that they will have, with local sizes."""
        arguments = list(schema.args_schema)
        given = dict(zip(self._names, arguments, strict=False))
        for axis in self._axes:
            place = self._names.index(axis_argument(axis.name))
            arguments[place] = next(self._sizes(axis, given), arguments[place])
        return type(schema)(schema.op, tuple(arguments), schema.kwargs_schema, schema_info=schema.schema_info)

    def _sizes(self, axis: Axis, given: Mapping[str, Any]) -> Iterator[Any]:
        for name, place in axis.places.items():
            if hasattr(given.get(name), "placements"):
                yield local_size(given[name], len(given[name].shape) - place)


def local_size(spec: Any, dim: int) -> Any:
    """Return how long a DTensor's axis `dim` is on this rank, as `torch.chunk` divides it along each mesh dimension."""
    from torch.distributed.tensor import Shard

    size = spec.shape[dim]
    for along, placement in enumerate(spec.placements):
        if isinstance(placement, Shard) and placement.dim == dim:
            count, rank = spec.mesh.size(along), spec.mesh.get_local_rank(along)
            chunk = (size + count - 1) // count
            size = torch.sym_max(torch.sym_min(size - chunk * rank, chunk), 0)
    return size
