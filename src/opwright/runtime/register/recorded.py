"""One identity for an operator and its recorded form, the overload that returns the residuals, too.

While a gradient is recorded, the recorded form runs in the operator's place. Both are overloads of one packet, so what
PyTorch knows by the packet (formulas of its FLOP counter, names in profiles) holds for both. What it knows by the
overload is passed on here: policies of selective checkpointing, and sharding strategies, as from `register_sharding`.

A strategy for the operator says nothing of its residuals. Their placements follow from the names of the axes: along a
dimension of the device mesh, a residual is sharded at the axis at which inputs and outputs are. A choice that leaves a
residual undecided isn't offered.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.checkpoint import create_selective_checkpoint_contexts

from opwright.errors import UnsupportedError
from opwright.runtime.register.sharding.cache import compare_arguments
from opwright.runtime.register.sharding.strategies import has_own, provide
from opwright.runtime.torch_internals import OpOverload, sharding_tables, wrap_policy
from opwright.signature import Signature, TensorParam
from opwright.signature.names import operator_of, recorded_attribute_of

_PUBLIC: dict[OpOverload, OpOverload] = {}
"""The operator that each recorded form belongs to."""


def share_policies(recorded: OpOverload, public: OpOverload, library: torch.library.Library) -> None:
    """Make selective checkpointing do with a recorded form what its policy says of the operator."""
    _PUBLIC[recorded] = public
    for mode in _checkpoint_modes():
        torch.library.register_torch_dispatch(recorded, mode, _by_policy_of_public, lib=library)


@functools.cache
def _checkpoint_modes() -> Sequence[type]:
    """Return the classes of the modes that are active in the forward and in the recomputation."""
    return tuple(map(type, create_selective_checkpoint_contexts([])))


def _by_policy_of_public(mode: Any, recorded: OpOverload, types: Any, args: Any, kwargs: Any) -> Any:
    wrap_policy(mode, _PolicyOfPublic)
    return mode.__torch_dispatch__(recorded, types, args, kwargs)


class _PolicyOfPublic:
    """A checkpointing policy that is asked about the operator instead of its recorded form."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self._policy = policy

    def __call__(self, context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return self._policy(context, _PUBLIC.get(op, op), *args, **kwargs)


_DTENSOR = "torch.distributed.tensor"
Axis = str | int
"""An axis as it is written, or for a leading one its place among them, counted from the last, which is 0."""


def with_sharding(
    rule: Callable[..., Any], op: OpOverload, public: OpOverload, signature: Signature, axes: Sequence[str]
) -> Callable[..., Any]:
    """Return the fake kernel `rule` of an operator or its recorded form, which first sees to its sharding strategy.

    DTensor looks for a strategy after it has asked the fake kernel for the results' shapes. A strategy of the user's
    for the operator holds for the recorded form, too; without one, both have those of the signature.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        """See to the sharding strategy where DTensor is in use, then return what `rule` does."""
        if _DTENSOR in sys.modules:
            known = sharding_tables().strategies
            if op is not public and public in known and not has_own(public):
                if op not in known or has_own(op):
                    known[op] = lambda schema: _extended(known[public], schema, public, signature)
            else:
                provide(op, signature, axes, residuals=op is not public)
            compare_arguments(op, signature)
        return rule(*args, **kwargs)

    return kernel


def _extended(strategy: Callable[[Any], Any], schema: Any, public: OpOverload, signature: Signature) -> Any:
    """Return the strategy for a call of the recorded form: the operator's, with placements for the residuals."""
    of_public = type(schema)(public, schema.args_schema, schema.kwargs_schema, schema_info=schema.schema_info)
    found = strategy(of_public)
    given = [
        (param, len(value.shape))
        for param, value in zip(signature.inputs, schema.args_schema, strict=False)
        if isinstance(param, TensorParam) and isinstance(value, type(found))
    ]
    choices = []
    for choice in found.strategies:
        outputs = choice.output_specs if isinstance(choice.output_specs, tuple) else (choice.output_specs,)
        placements = _Residuals(signature, given, (*(choice.input_specs or ()), *outputs)).placements()
        if None not in placements:
            spec = type(choice.input_specs[0])
            choice.output_specs = (*outputs, *(spec(choice.mesh, each) for each in placements))
            choices.append(choice)
    if choices:
        return type(found)(choices)
    name = f"torch.ops.{public.namespace}.{operator_of(signature.name)}.{recorded_attribute_of(signature.name)}"
    listed = ", ".join(residual.name for residual in signature.residuals)
    raise UnsupportedError(
        f"{signature.shown_name}(): a sharding strategy is registered for it, but while a gradient is recorded it also "
        f"returns {listed}, whose placement doesn't follow from the axes\n"
        f"  signature:  {signature.as_written}\n"
        f"  likely fix: accept Replicate() for all tensors, too, or give "
        f"register_sharding({name}) a placement for each result and residual"
    )


class _Residuals:
    """The placements of residuals in one choice of placements for inputs and outputs."""

    def __init__(self, signature: Signature, given: Sequence[tuple[TensorParam, int]], specs: Sequence[Any]) -> None:
        """Note the axes; `given`: the tensors that a call has, with their ranks; `specs`: theirs, then the outputs'."""
        self._signature, self._specs = signature, specs
        leading = [rank - len(param.dims) for param, rank in given]
        self._leading = max(leading, default=0)
        self._axes = [_axes(param, count) for (param, _), count in zip(given, leading, strict=True)]
        self._axes += [self._result(param) for param in signature.outputs]

    def placements(self) -> list[tuple[Any, ...] | None]:
        """Return the placement of each residual along the mesh's dimensions; None if one of them is undecided."""
        sharded = [self._sharded(dimension) for dimension in range(len(self._specs[0].placements))]
        placements = []
        for residual in self._signature.residuals:
            axes = self._result(residual)
            along = [None if labels is None else _placement(axes, labels) for labels in sharded]
            placements.append(None if None in along else tuple(along))
        return placements

    def _result(self, param: TensorParam) -> list[Axis]:
        return _axes(param, self._leading if self._signature.has_leading(param) else 0)

    def _sharded(self, dimension: int) -> set[Axis] | None:
        """Return the axes that a dimension of the mesh shards, or None if it does anything else."""
        from torch.distributed.tensor import Replicate, Shard

        sharded: set[Axis] = set()
        for axes, spec in zip(self._axes, self._specs, strict=True):
            if spec is None:  # of an optional result, or a count
                continue
            placement = spec.placements[dimension]
            if type(placement) is Shard and not self._signature.grouping:  # which axes its groups are, nobody says here
                sharded.add(axes[placement.dim])
            elif not isinstance(placement, Replicate):  # a partial sum, or a part of a shard
                return None
        return sharded


def _placement(axes: Sequence[Axis], sharded: set[Axis]) -> Any:
    """Return the placement of a residual with these axes along a dimension of the mesh; None if undecided."""
    from torch.distributed.tensor import Replicate, Shard

    places = [i for i, axis in enumerate(axes) if axis in sharded]
    if not sharded:
        return Replicate()
    return Shard(places[0]) if len(places) == len(sharded) == 1 else None


def _axes(param: TensorParam, leading: int) -> list[Axis]:
    """Return a tensor's axes; `leading`: how many axes stand before those in brackets."""
    return [*reversed(range(leading)), *map(str, param.dims)]
