"""Sharding strategies for DTensor: those that follow from a signature, and what a user's means for the recorded form.

Along independent axes, and the leading axes of pointwise and batched operators, arguments and results are sharded. A
result that lacks such an axis is a partial sum along it, an argument that lacks it is replicated. All other calls
replicate everything.

A user's strategy for an operator, as from `register_sharding`, says nothing of its residuals. Their placements follow
from the names of the axes: along a dimension of the device mesh, a residual is sharded at the axis at which inputs and
outputs are. A choice that leaves a residual undecided isn't offered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opwright.errors import UnsupportedError
from opwright.log import logger
from opwright.runtime.torch_internals import OpOverload, schema_of, sharding_strategies
from opwright.signature import Signature, TensorParam
from opwright.signature.clauses.independent import axis_problem, slices
from opwright.signature.names import operator_of, recorded_attribute_of

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
        if _DTENSOR in sys.modules:
            known = sharding_strategies()
            if op is not public and public in known and not _has_own(public):
                if op not in known or _has_own(op):
                    known[op] = lambda schema: _extended(known[public], schema, public, signature)
            else:
                _provide(op, signature, axes, residuals=op is not public)
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
        f"{signature.name}(): a sharding strategy is registered for it, but while a gradient is recorded it also "
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


Strategy = Callable[[Any], Any]
Choice = tuple[list[Any], list[Any]]
"""Placements of the results, and of the arguments, along one dimension of a device mesh."""

_OWN: dict[OpOverload, Strategy] = {}
"""The strategies that were made here; another one for the same operator is its user's."""


def _has_own(op: OpOverload) -> bool:
    """Return whether the operator's strategy follows from its signature."""
    return sharding_strategies().get(op) is _OWN.get(op, op)


def _provide(op: OpOverload, signature: Signature, axes: Sequence[str], *, residuals: bool) -> None:
    """Give an operator the strategy of its signature, unless it has one.

    Args:
        op: the operator.
        signature: its signature.
        axes: axes whose global sizes its schema takes: they can't be sharded.
        residuals: whether it returns the residuals, too.
    """
    from torch.distributed.tensor.experimental import register_sharding

    known = sharding_strategies()
    if op in known or signature.lists or signature.is_factory:
        return
    results = signature.results if residuals else signature.outputs
    register_sharding(op)(_Choices(op, signature, frozenset(axes), results))
    if signature.mutated:
        known[op] = _in_place(known[op], signature)
    _OWN[op] = known[op]


class _Given(NamedTuple):
    """An argument of a call: its name, and the specification of a DTensor, or a value."""

    name: str
    value: Any

    @property
    def is_tensor(self) -> bool:
        """Whether it is a DTensor."""
        return hasattr(self.value, "placements")


class _Choices:
    """The acceptable placements of a call's arguments and results, as `register_sharding` takes them."""

    def __init__(
        self, op: OpOverload, signature: Signature, axes: frozenset[str], results: Sequence[TensorParam]
    ) -> None:
        self._signature, self._axes, self._results = signature, axes, results
        self._names = [argument.name for argument in schema_of(op).arguments]
        self._told = False

    def __call__(self, *args: Any, **kwargs: Any) -> list[Choice]:
        """Return the choices for one dimension of a mesh."""
        from torch.distributed.tensor import Replicate

        if self._signature.generator:
            raise UnsupportedError(
                f"{self._signature.name}(): it draws random numbers, and each rank would draw its own for its part\n"
                "  likely fix: draw them by a function of PyTorch's that knows DTensors, and pass them as an argument"
            )
        given = [_Given(*pair) for pair in (*zip(self._names, args, strict=False), *kwargs.items())]
        outputs = self._outputs(given)
        choices = [([o and Replicate() for o in outputs], [Replicate() if g.is_tensor else None for g in given])]
        choices += [self._along(each, given, outputs) for each in self._places(given)]
        if len(choices) == 1 and any(not p.is_replicate() for g in given if g.is_tensor for p in g.value.placements):
            self._tell()
        return choices

    def _outputs(self, given: Sequence[_Given]) -> list[TensorParam | None]:
        """Return the results; None for those that this call doesn't return."""
        values = {each.name: each.value for each in given}
        mask, absent = values.get("output_mask"), self._signature.absent(values)
        wanted = [mask is None or i >= len(mask) or mask[i] for i in range(len(self._results))]
        return [r if w and r.name not in absent else None for r, w in zip(self._results, wanted, strict=True)]

    def _leading(self, given: Sequence[_Given]) -> int:
        """Return the number of leading axes: ``...``, or those that are looped over."""
        params = {tensor.name: tensor for tensor in self._signature.tensors}
        tensors = [(params[g.name], g.value) for g in given if g.is_tensor]
        counts = [len(value.shape) - len(p.dims) for p, value in tensors if self._signature.has_leading(p)]
        return max(counts, default=0)

    def _places(self, given: Sequence[_Given]) -> Iterator[Mapping[str, int]]:
        """Yield where an axis is in each tensor that has it, inputs and results by name, counted from the last."""
        inputs, results = self._signature.tensors, self._signature.results
        for each in slices(self._signature):
            if each.axis not in self._axes:
                named = zip((*inputs, *results), (*each.inputs, *each.results), strict=True)
                yield {tensor.name: place for tensor, place in named if place}
        if not self._signature.broadcasts:
            return
        params, values = {tensor.name: tensor for tensor in inputs}, {g.name: g.value for g in given if g.is_tensor}
        for number in range(1, self._leading(given) + 1):
            every = {t.name: len(t.dims) + number for t in results}
            for name, value in values.items():
                place = len(params[name].dims) + number
                if place <= len(value.shape) and value.shape[-place] != 1:
                    every[name] = place
            yield every

    def _along(
        self, places: Mapping[str, int], given: Sequence[_Given], outputs: Sequence[TensorParam | None]
    ) -> Choice:
        from torch.distributed.tensor import Partial, Replicate, Shard

        leading, results, arguments = self._leading(given), list[Any](), list[Any]()
        for output in outputs:
            if output is None:
                results.append(None)
            elif output.name not in places:
                results.append(Partial("sum"))
            else:
                rank = len(output.dims) + (leading if self._signature.has_leading(output) else 0)
                results.append(Shard(rank - places[output.name]))
        for each in given:
            if not each.is_tensor:
                arguments.append(None)
            elif each.name in places:
                arguments.append(Shard(len(each.value.shape) - places[each.name]))
            else:
                arguments.append(Replicate())
        return results, arguments

    def _tell(self) -> None:
        """Say once, in the log, that everything is replicated, and which word would spare that."""
        if self._told:
            return
        self._told = True
        axes = [axis for axis in self._signature.free_axes if axis_problem(self._signature, axis) is None]
        word = f"; if its slices are computed each alone, `independent {', '.join(axes)}` spares it" if axes else ""
        logger.info("%s: DTensor gathers its arguments on every rank%s", self._signature.name, word)


def _in_place(strategy: Strategy, signature: Signature) -> Strategy:
    """Return a strategy whose choices leave what is overwritten where it is: a copy would be overwritten instead."""
    names = [param.name for param in signature.inputs]

    def kept(schema: Any) -> Any:
        found = strategy(schema)
        values = dict(zip(names, schema.args_schema, strict=False)) | schema.kwargs_schema
        tensors = [name for name, value in values.items() if isinstance(value, type(found))]
        written = [(tensors.index(tensor.name), tensor.name) for tensor in signature.mutated if tensor.name in tensors]
        before = {name: values[name].strategies[0].output_spec.placements for _, name in written}
        choices = [
            choice
            for choice in found.strategies
            if all(choice.input_specs[place].placements == before[name] for place, name in written)
        ]
        if choices:
            return type(found)(choices)
        listed = ", ".join(f"{name} with {placements}" for name, placements in before.items())
        raise UnsupportedError(
            f"{signature.name}(): it overwrites {listed}, and can't be called for such parts: to gather them would "
            f"leave the parts as they are\n  signature:  {signature}\n"
            f"  likely fix: redistribute it to Replicate() before, or say `independent` of the axis that is sharded"
        )

    return kept
