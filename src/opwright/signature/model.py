"""The classes of a parsed signature. :func:`opwright.signature.parse` builds and validates them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from opwright.record import record
from opwright.signature.chosen.groups import Grouping
from opwright.signature.chosen.kinds import DeviceKind, DtypeKind
from opwright.signature.clauses.combinations import Combinations
from opwright.signature.clauses.conditions import Condition
from opwright.signature.clauses.launch import Launch
from opwright.signature.dtypes import DEFAULT_TYPES, DType
from opwright.signature.expr import Axis, DataAxis, Expr, GivenAxis, NamedSize, determined
from opwright.signature.names import is_backward, without_tag
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam
from opwright.signature.scalar_kinds.lists import FixedList

ELLIPSIS = "..."
"""In a launch and in ``flops:``, an axis with this name stands for the number of elements of the leading axes."""

OLD = "old_"
"""Name prefix of the residuals that keep the old values of arguments that a pointwise operator overwrites."""


@record
class Signature:
    """A whole signature; ``parse(str(signature)) == signature``, but for the name of an alternative."""

    name: str
    inputs: tuple[Param, ...]
    outputs: tuple[TensorParam, ...] = ()
    residuals: tuple[TensorParam, ...] = ()
    where: tuple[tuple[str, tuple[DType, ...]], ...] = ()
    batched: bool = False
    autocast: DType | None = None
    flops: Expr | None = None
    launch: Launch | None = None
    named_sizes: tuple[NamedSize, ...] = ()
    combinations: tuple[Combinations, ...] = ()
    derived: bool = False
    independent: tuple[str, ...] = ()  # the axes along which slices are computed each alone
    listed: bool = False  # whether the outputs are returned in a list, ``-> [y: T[N]]``
    returned: tuple[str, ...] = ()
    """The overwritten inputs that are returned, ``-> (x)``; then there are no outputs."""
    variants: tuple[str, ...] = ()
    given: tuple[str, ...] = ()  # of a variant ``f.out``, the inputs for the results, which are given by name
    alternative: str = ""
    """Of one of several signatures with one name: the part of `name` that no author wrote (alternatives.py)."""

    @cached_property
    def tensors(self) -> tuple[TensorParam, ...]:
        """The input tensors."""
        return tuple(param for param in self.inputs if isinstance(param, TensorParam))

    @cached_property
    def results(self) -> tuple[TensorParam, ...]:
        """The outputs, then the residuals."""
        return self.outputs + self.residuals

    @cached_property
    def lists(self) -> tuple[TensorParam, ...]:
        """The arguments and results that are lists of tensors."""
        return tuple(tensor for tensor in self.tensors + self.results if tensor.listed)

    @cached_property
    def scalars(self) -> tuple[ScalarParam, ...]:
        """The scalar inputs."""
        return tuple(param for param in self.inputs if isinstance(param, ScalarParam))

    @cached_property
    def grouping(self) -> Grouping:
        """The groups of axes, ``*A``, and the argument that chooses an axis."""
        return Grouping(self)

    @cached_property
    def generator(self) -> GeneratorParam | None:
        """The random generator argument, or None."""
        return next((param for param in self.inputs if isinstance(param, GeneratorParam)), None)

    @cached_property
    def mutated(self) -> tuple[TensorParam, ...]:
        """The input tensors that the kernel overwrites."""
        return tuple(tensor for tensor in self.tensors if tensor.mutated)

    @cached_property
    def written(self) -> tuple[TensorParam, ...]:
        """All tensors that the kernel writes: the results, then the mutated inputs."""
        return self.results + self.mutated

    @property
    def is_factory(self) -> bool:
        """Whether no input is a tensor. Such an operator takes ``device=``, and ``dtype=`` for :attr:`chosen_type`."""
        return not self.tensors

    @cached_property
    def chosen_type(self) -> str | None:
        """The type variable of a factory, chosen by ``dtype=``; None if there is none, or an argument chooses it."""
        unknown = [name for name in self.type_variables if name not in self.bound_types]
        return unknown[0] if self.is_factory and unknown else None

    @cached_property
    def dtypes(self) -> Mapping[str, ScalarParam]:
        """The arguments that are element types, each by the type variable that it binds."""
        return {scalar.kind.variable: scalar for scalar in self.scalars if isinstance(scalar.kind, DtypeKind)}

    @cached_property
    def device(self) -> ScalarParam | None:
        """The argument that is a device; None if there is none."""
        return next((scalar for scalar in self.scalars if isinstance(scalar.kind, DeviceKind)), None)

    @property
    def is_backward(self) -> bool:
        """Whether the operator is another operator's backward, according to its name."""
        return is_backward(self.name)

    @property
    def skippable(self) -> tuple[TensorParam, ...]:
        """The results that a call may leave out: optional ones, residuals, and a backward's gradients if several."""
        if self.is_backward and len(self.outputs) > 1:
            return self.results
        return tuple(output for output in self.outputs if output.condition) + self.residuals

    @cached_property
    def counts(self) -> tuple[TensorParam, ...]:
        """The results that are counts."""
        return tuple(output for output in self.outputs if output.is_count)

    def absent(self, values: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of the optional results that a call doesn't return; `values`: its arguments by name."""
        conditional = [(result.name, result.condition) for result in self.results if result.condition]
        return frozenset(name for name, condition in conditional if not condition.holds(values.get(condition.name)))

    def decided_by(self, condition: Condition) -> tuple[int, int]:
        """Return the slot of the scalar that decides on a result, and the value with which the condition holds."""
        kind = next(scalar.kind for scalar in self.scalars if scalar.name == condition.name)
        slot = self.slot(condition.name) + len(kind.members) - 1  # of an optional scalar: whether it is given
        return slot, 1 if condition.word is None else kind.choices.index(condition.word)

    @cached_property
    def pointwise(self) -> bool:
        """Whether the operator is pointwise: its kernel computes one element (bare types)."""
        return any(tensor.shape is None for tensor in self.tensors + self.results)

    @property
    def as_written(self) -> Signature:
        """The signature as its author wrote it, without the residuals that Opwright adds to keep overwritten values."""
        changed: tuple[Param, ...] = (*self.mutated, *((self.generator,) if self.generator else ()))
        kept = {OLD + param.name for param in changed}
        kept = kept if self.pointwise or self.derived else set()
        return self.replaced(residuals=tuple(r for r in self.residuals if r.name not in kept)) if kept else self

    @property
    def shown_name(self) -> str:
        """The name as the author wrote it."""
        return without_tag(self.name, self.alternative)

    @property
    def operator(self) -> Signature:
        """The operator's signature, without the launch of one of its kernels."""
        return self if self.launch is None else self.replaced(launch=None)

    @property
    def broadcasts(self) -> bool:
        """Whether Opwright loops over leading axes, which broadcast (pointwise and batched operators)."""
        return self.pointwise or self.batched

    def has_leading(self, tensor: TensorParam) -> bool:
        """Return whether the tensor has leading axes: ``...``, or axes that Opwright loops over."""
        return tensor.has_ellipsis or self.broadcasts

    @cached_property
    def has_ellipsis(self) -> bool:
        """Whether any tensor has leading axes ``...``."""
        return any(tensor.has_ellipsis for tensor in self.tensors + self.results)

    @cached_property
    def type_variables(self) -> tuple[str, ...]:
        """The type variables in use, in order of appearance."""
        return _unique(t.type.name for t in self.tensors + self.results if t.type.kind != "dtype")

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """All axes except those whose length the kernel decides, in order of appearance; named sizes are axes."""
        own = _unique(itertools.chain.from_iterable(expr.names() for expr in self._exprs()))
        scalars = {*self.ints, *(scalar.name for scalar in self.scalars)}
        return _unique([*own, *(name for name in self._names_in_domains() if name not in scalars)])

    @cached_property
    def computed(self) -> Mapping[str, Expr]:
        """The named sizes, which are axes too, with what each is computed from."""
        return {size.name: size.expr for size in self.named_sizes}

    @cached_property
    def free_axes(self) -> tuple[str, ...]:
        """The axes that aren't named sizes."""
        return tuple(axis for axis in self.axes if axis not in self.computed)

    def parts(self, name: str) -> frozenset[str]:
        """Return the axes and ints from which a named size is computed, also through others; of any other, itself."""
        if name not in self.computed:
            return frozenset((name,))
        return frozenset().union(*map(self.parts, self.computed[name].axes))

    @cached_property
    def data_axes(self) -> tuple[str, ...]:
        """The axes whose length the kernel decides, in order of appearance."""
        return _unique(dim.name for t in self.results for dim in t.dims if isinstance(dim, DataAxis))

    @cached_property
    def optional_sizes(self) -> Mapping[str, str]:
        """The axes that an optional int decides, ``?S = size``, each with that argument's name."""
        dims = [dim for t in self.results for dim in t.dims if isinstance(dim, DataAxis)]
        return {dim.name: dim.given for dim in dims if dim.given}

    def given_sizes(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Return those of the :attr:`optional_sizes` that a call decides; `values`: its scalars by name."""
        pairs = self.optional_sizes.items()
        return {axis: values[name] for axis, name in pairs if values.get(name) is not None}

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The axes named like an int argument, whose value is the axis's size; in the order of the arguments."""
        return tuple(name for name in self.ints if name in self.axes)

    @cached_property
    def ints(self) -> tuple[str, ...]:
        """The int arguments, in order, and the elements of lists of ints: ``stride[0]``."""
        return tuple(name for scalar in self.scalars for name in scalar.size_names)

    def with_elements(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of scalars, and those of the elements of lists of a fixed length: ``stride[0]``."""
        lists = [s for s in self.scalars if isinstance(s.kind, FixedList) and values.get(s.name) is not None]
        return {**values, **{name: value for s in lists for name, value in s.kind.each(s.name, values[s.name])}}

    @cached_property
    def ints_in_domains(self) -> tuple[str, ...]:
        """The ints that aren't sizes, and stand in the domain of another scalar; in the order of the arguments."""
        used = set(self._names_in_domains())
        return tuple(name for name in self.ints if name in used and name not in self.sizes)

    @cached_property
    def bound_by_required(self) -> tuple[str, ...]:
        """The axes that the required inputs determine; a backward gets its other axes from its forward."""
        exprs = [expr for t in self.tensors if t.shape and not t.optional for expr in t.shape.exprs]
        known = determined(exprs, self.sizes, self.named_sizes)
        return tuple(axis for axis in self.axes if axis in known)

    @cached_property
    def bound_ellipsis(self) -> bool:
        """Whether a required input determines ``...``."""
        return any(t.has_ellipsis and not t.optional for t in self.tensors)

    @cached_property
    def bound_types(self) -> tuple[str, ...]:
        """The type variables that the required inputs determine, also through combinations."""
        told = _unique([*self.dtypes, *(t.type.name for t in self.tensors if t.type.kind == "var" and not t.optional)])
        return _unique([*told, *(v for each in self.combinations for v in each.determined_by(told))])

    def slot(self, scalar: str) -> int:
        """Return the index of a scalar's first value, or a list's element's, among those that a kernel is given."""
        name, _, place = scalar.partition("[")
        names = [param.name for param in self.scalars for _ in param.kind.members]
        return names.index(name) + int(place.rstrip("]") or 0)

    def allowed(self, variable: str) -> tuple[DType, ...]:
        """Return the element types that a type variable may stand for."""
        combined = {v: each.types_of(v) for each in self.combinations for v in each.variables}
        return {**dict(self.where), **combined}.get(variable, DEFAULT_TYPES)

    def types_of(
        self, variables: Collection[str]
    ) -> tuple[tuple[tuple[str, tuple[DType, ...]], ...], tuple[Combinations, ...]]:
        """Return `where` and `combinations` of some of the type variables."""
        where = [(name, types) for name, types in self.where if name in variables]
        several: list[Combinations] = []
        for part in (each.restricted(variables) for each in self.combinations):
            if len(part.variables) > 1 and len(part.choices) > 1:
                several.append(part)
            else:
                where += [(name, part.types_of(name)) for name in part.variables]
        return tuple(where), tuple(several)

    def exists(self, types: Mapping[str, DType]) -> bool:
        """Return whether kernels exist for these element types of type variables, which may be some of them."""
        return all(dtype in self.allowed(v) for v, dtype in types.items()) and all(
            each.fitting(types) for each in self.combinations
        )

    def element_types(self, tensor: TensorParam) -> tuple[DType, ...]:
        """Return the element types that a tensor may have."""
        if tensor.type.kind == "dtype":
            return (tensor.type.resolve({}),)
        return tuple(tensor.type.resolve({tensor.type.name: dtype}) for dtype in self.allowed(tensor.type.name))

    def instances(self) -> list[dict[str, DType]]:
        """Return all combinations of element types for kernel instances; ``[{}]`` if there are no type variables."""
        variables = self.type_variables
        every = (dict(zip(variables, types, strict=True)) for types in itertools.product(*map(self.allowed, variables)))
        return [types for types in every if all(each.fitting(types) for each in self.combinations)]

    def selects(self, types: Mapping[str, DType], chosen: Collection[str]) -> bool:
        """Return whether a choice of element types, by PyTorch's names, asks for the instance of these element types.

        A variable whose type follows from those of others needn't be chosen.
        """
        told = [variable for variable, dtype in types.items() if dtype.torch_name in chosen]
        told += [variable for each in self.combinations for variable in each.determined_by(told)]
        return types.keys() <= {*told}

    def replaced(self, **fields: Any) -> Signature:
        """Return a copy of the signature with some fields replaced."""
        return Signature(**{**{name: getattr(self, name) for name in Signature.__annotations__}, **fields})

    def _exprs(self) -> Iterator[Expr]:
        for tensor in self.tensors + self.results:
            for dim in tensor.dims:
                if isinstance(dim, Expr):
                    yield dim
                elif dim.limit is not None:
                    yield dim.limit
            yield from (e for e in (tensor.domain.exprs if tensor.domain else ()) if not isinstance(e, GivenAxis))
        if self.generator:
            yield self.generator.draws
        for size in self.named_sizes:
            yield Axis(size.name)
            yield size.expr

    def _names_in_domains(self) -> Iterator[str]:
        for scalar in self.scalars:
            yield from scalar.domain.names if scalar.domain else ()

    def __str__(self) -> str:
        """Return the notation in its canonical form, on one line."""
        text = f"{self.shown_name}({', '.join(map(str, self.inputs))})"
        if self.results or self.returned:
            residuals = "; " + ", ".join(map(str, self.residuals)) if self.residuals else ""
            results = ", ".join([*map(str, self.outputs), *self.returned]) + residuals
            text += f" -> [{results}]" if self.listed else f" -> ({results})"
        clauses = [f"{name} in ({', '.join(map(str, types))})" for name, types in self.where]
        clauses += map(str, self.combinations + self.named_sizes)
        text += " where " * bool(clauses) + ", ".join(clauses)
        text += " batched" * self.batched
        text += f" independent {', '.join(self.independent)}" * bool(self.independent) + " derived" * self.derived
        if self.autocast is not None:
            text += f" autocast: {self.autocast}"
        if self.flops is not None:
            text += f" flops: {self.flops}"
        if self.variants:
            text += f" variants: {', '.join(self.variants)}"
        return text if self.launch is None else f"{text} {self.launch}"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
