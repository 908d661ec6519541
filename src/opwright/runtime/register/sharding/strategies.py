"""Sharding strategies for DTensor that follow from a signature: along axes whose slices are computed each alone.

These are independent axes, and the leading axes of pointwise and batched operators. Along one of them a result that
lacks the axis is a partial sum, and an argument that lacks it is replicated. All other calls replicate everything.

An axis whose size only the forward knows is an int of the backward's, the global size. Where an argument is sharded
along it, which an optional one can be, the kernel gets the local size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opwright.errors import UnsupportedError
from opwright.log import logger
from opwright.runtime.register.sharding.global_sizes import localise
from opwright.runtime.register.sharding.refusals import refuse
from opwright.runtime.torch_internals import OpOverload, schema_of, sharding_tables
from opwright.signature import Signature, TensorParam
from opwright.signature.clauses.independent import axis_problem, slices

Strategy = Callable[[Any], Any]
Choice = tuple[list[Any], list[Any]]
"""Placements of the results, and of the arguments, along one dimension of a device mesh."""

_OWN: dict[OpOverload, Strategy] = {}
"""The strategies that were made here; another one for the same operator is its user's."""


def has_own(op: OpOverload) -> bool:
    """Return whether the operator's strategy follows from its signature."""
    return sharding_tables().strategies.get(op) is _OWN.get(op, op)


def provide(op: OpOverload, signature: Signature, axes: Sequence[str], *, residuals: bool) -> None:
    """Give an operator the strategy of its signature, unless it has one.

    Args:
        op: the operator.
        signature: its signature.
        axes: axes whose global sizes its schema takes.
        residuals: whether it returns the residuals, too.
    """
    from torch.distributed.tensor.experimental import register_sharding

    known = sharding_tables().strategies
    if op in known or signature.lists or signature.is_factory:
        return
    results = signature.results if residuals else signature.outputs
    if not residuals and signature.returned:
        results = tuple(tensor for name in signature.returned for tensor in signature.tensors if tensor.name == name)
    local = not axes or localise(op, signature, axes)
    register_sharding(op)(_Choices(op, signature, frozenset(() if local else axes), results))
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
        """Note what an operator returns; `axes`: those that can't be sharded."""
        self._op, self._signature, self._axes, self._results = op, signature, axes, results
        self._names = [argument.name for argument in schema_of(op).arguments]
        self._told = False

    def __call__(self, *args: Any, **kwargs: Any) -> list[Choice]:
        """Return the choices for one dimension of a mesh."""
        from torch.distributed.tensor import Replicate

        refuse(self._signature, self._op)
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
        params, values = {tensor.name: tensor for tensor in inputs}, {g.name: g.value for g in given if g.is_tensor}
        for each in slices(self._signature):
            named = zip((*inputs, *results), (*each.inputs, *each.results), strict=True)
            places = {tensor.name: place for tensor, place in named if place}
            # Without an argument that has the axis, nothing tells that somebody shards it.
            if each.axis not in self._axes and any(name in values for name in places):
                yield places
        if not self._signature.broadcasts:
            return
        for number in range(1, self._leading(given) + 1):
            every = {t.name: len(t.dims) + number for t in results}
            for name, value in values.items():
                place = len(params[name].dims) + number
                if place <= len(value.shape) and value.shape[-place] != 1:
                    every[name] = place
            if any(name in values for name in every):
                yield every

    def _along(
        self, places: Mapping[str, int], given: Sequence[_Given], outputs: Sequence[TensorParam | None]
    ) -> Choice:
        from torch.distributed.tensor import Partial, Replicate, Shard

        leading, results, arguments = self._leading(given), list[Any](), list[Any]()
        overwritten = {tensor.name for tensor in self._signature.mutated}
        for output in outputs:
            if output is None:
                results.append(None)
            elif output.name not in places:
                results.append(Replicate() if output.name in overwritten else Partial("sum"))
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
        """Return the choices for a call that move no argument that is overwritten; refuse it if there are none."""
        values = dict(zip(names, schema.args_schema, strict=False)) | schema.kwargs_schema
        tensors = [name for name, value in values.items() if hasattr(value, "strategies")]
        written = [(tensors.index(tensor.name), tensor.name) for tensor in signature.mutated if tensor.name in tensors]
        before = {name: values[name].strategies[0].output_spec.placements for _, name in written}
        listed = ", ".join(f"{name} with {placements}" for name, placements in before.items())
        refusal = UnsupportedError(
            f"{signature.shown_name}(): it overwrites {listed}, and can't be called for such parts: to gather "
            f"them would leave the parts as they are\n  signature:  {signature}\n"
            f"  likely fix: redistribute it to Replicate() before, or say `independent` of the axis that is sharded"
        )
        try:
            found = strategy(schema)
        except RuntimeError as error:
            if _REFUSED_BY_DTENSOR in str(error):  # of names that end in _
                raise refusal from None
            raise
        choices = [
            choice
            for choice in found.strategies
            if all(choice.input_specs[place].placements == before[name] for place, name in written)
        ]
        if not choices:
            raise refusal
        return type(found)(choices)

    return kept


_REFUSED_BY_DTENSOR = "in-place operations that require placement changes"
