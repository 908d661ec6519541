"""What a signature says, as values. :func:`opwright.signature.parse` makes and judges them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

from opwright.signature.dtypes import BY_NAME, DEFAULT_TYPES, DType
from opwright.signature.expr import Expr, determined
from opwright.signature.record import record

ELLIPSIS = "..."
"""In a launch, the axis by this name is the number of elements of the leading axes."""

OLD = "old_"
"""How the residual begins that keeps the value of an argument that a pointwise operator overwrites."""


@record
class TypeRef:
    """An element type as written: ``f32`` (dtype), ``T`` (var), or ``acc(T)`` (acc); ``name`` is f32 or T."""

    kind: Literal["dtype", "var", "acc"]
    name: str

    def resolve(self, types: Mapping[str, DType]) -> DType:
        """The element type meant, given those of the type variables; KeyError names a missing one."""
        if self.kind == "dtype":
            return BY_NAME[self.name]
        return types[self.name].accumulate if self.kind == "acc" else types[self.name]

    def __str__(self) -> str:
        """The notation."""
        return f"acc({self.name})" if self.kind == "acc" else self.name


@record
class DataAxis:
    """``?K`` or ``?K<=bound``: an output's axis whose length the kernel decides."""

    name: str
    bound: Expr | None = None

    def __str__(self) -> str:
        """The notation."""
        return f"?{self.name}" if self.bound is None else f"?{self.name}<={self.bound}"


@record
class Shape:
    """What stands in the brackets: perhaps ``...``, then axes."""

    ellipsis: bool
    dims: tuple[Expr | DataAxis, ...]

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The axes whose length the inputs decide."""
        return tuple(dim for dim in self.dims if isinstance(dim, Expr))

    def __str__(self) -> str:
        """The notation, with brackets."""
        return f"[{', '.join([*(['...'] if self.ellipsis else []), *map(str, self.dims)])}]"


@record
class TensorParam:
    """A tensor argument or result. ``shape`` is None for a pointwise one (a bare ``T``)."""

    name: str
    type: TypeRef
    shape: Shape | None
    optional: bool = False
    mutated: bool = False
    index_range: tuple[Expr, Expr] | None = None

    @property
    def dims(self) -> tuple[Expr | DataAxis, ...]:
        """The written axes; none when pointwise."""
        return self.shape.dims if self.shape else ()

    @property
    def has_ellipsis(self) -> bool:
        """Whether it has leading axes ``...``."""
        return self.shape is not None and self.shape.ellipsis

    def __str__(self) -> str:
        """The notation."""
        marks = "?" * self.optional + "!" * self.mutated
        span = f" in [{self.index_range[0]}, {self.index_range[1]})" if self.index_range else ""
        return f"{self.name}: {self.type}{self.shape or ''}{marks}{span}"


@record
class ScalarParam:
    """A scalar argument; an int default for a float one is kept as float."""

    name: str
    kind: Literal["float", "int", "bool"]
    default: float | int | bool | None = None

    def __str__(self) -> str:
        """The notation."""
        return f"{self.name}: {self.kind}" + ("" if self.default is None else f" = {self.default!r}")


@record
class GeneratorParam:
    """The default random generator; the kernel makes ``draws`` draws an element."""

    name: str
    draws: Expr

    def __str__(self) -> str:
        """The notation."""
        return f"{self.name}: generator({self.draws})"


Param = TensorParam | ScalarParam | GeneratorParam


@record
class Launch:
    """How a ``__global__`` kernel is launched: as many threads as `over` says along x, y, z, in blocks of `threads`.

    In `over` and `shared` stand axes, arguments that are ints, and ``...`` for the number of elements of those axes.
    A block has one thread along an axis for which `threads` says none; `shared` is its dynamic shared memory, in bytes.
    """

    over: tuple[Expr, ...]
    threads: tuple[int, ...]
    shared: Expr | None = None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """Every expression, in written order."""
        return self.over if self.shared is None else (*self.over, self.shared)

    def __str__(self) -> str:
        """The notation."""
        shared = "" if self.shared is None else f", shared {self.shared}"
        return f"launch over {', '.join(map(str, self.over))}, threads {', '.join(map(str, self.threads))}{shared}"


@record
class Signature:
    """A whole signature; ``parse(str(signature)) == signature``."""

    name: str
    inputs: tuple[Param, ...]
    outputs: tuple[TensorParam, ...] = ()
    residuals: tuple[TensorParam, ...] = ()
    where: tuple[tuple[str, tuple[DType, ...]], ...] = ()
    batched: bool = False
    autocast: DType | None = None
    launch: Launch | None = None

    @cached_property
    def tensors(self) -> tuple[TensorParam, ...]:
        """The input tensors."""
        return tuple(param for param in self.inputs if isinstance(param, TensorParam))

    @cached_property
    def results(self) -> tuple[TensorParam, ...]:
        """The outputs, then the residuals."""
        return self.outputs + self.residuals

    @cached_property
    def scalars(self) -> tuple[ScalarParam, ...]:
        """The scalar inputs."""
        return tuple(param for param in self.inputs if isinstance(param, ScalarParam))

    @cached_property
    def generator(self) -> GeneratorParam | None:
        """The random generator, where it takes one."""
        return next((param for param in self.inputs if isinstance(param, GeneratorParam)), None)

    @cached_property
    def mutated(self) -> tuple[TensorParam, ...]:
        """The input tensors that the kernel overwrites."""
        return tuple(tensor for tensor in self.tensors if tensor.mutated)

    @cached_property
    def written(self) -> tuple[TensorParam, ...]:
        """Every tensor that has a new value after a call: the results, then the mutated inputs."""
        return self.results + self.mutated

    @property
    def is_factory(self) -> bool:
        """Whether no input is a tensor: then it takes ``device=``, and ``dtype=`` for :attr:`chosen_type`."""
        return not self.tensors

    @cached_property
    def chosen_type(self) -> str | None:
        """The type variable of a factory, which ``dtype=`` chooses."""
        return self.type_variables[0] if self.is_factory and self.type_variables else None

    @property
    def is_backward(self) -> bool:
        """Whether its name makes it another operator's backward."""
        return self.name.endswith("_backward")

    @cached_property
    def pointwise(self) -> bool:
        """Whether the kernel is written for one element (bare types)."""
        return any(tensor.shape is None for tensor in self.tensors + self.results)

    @property
    def as_written(self) -> Signature:
        """As its author wrote it: without the residuals that keep what a pointwise operator overwrites."""
        kept = {OLD + tensor.name for tensor in self.mutated} if self.pointwise else set()
        return self.replaced(residuals=tuple(r for r in self.residuals if r.name not in kept)) if kept else self

    @property
    def operator(self) -> Signature:
        """What is the operator's alone: without how one of its kernels is launched."""
        return self if self.launch is None else self.replaced(launch=None)

    @property
    def broadcasts(self) -> bool:
        """Whether Opwright loops over leading axes, which broadcast: it is pointwise, or batched."""
        return self.pointwise or self.batched

    def has_leading(self, tensor: TensorParam) -> bool:
        """Whether the tensor has leading axes: ``...``, or those that Opwright loops over."""
        return tensor.has_ellipsis or self.broadcasts

    @cached_property
    def has_ellipsis(self) -> bool:
        """Whether any tensor has leading axes ``...``."""
        return any(tensor.has_ellipsis for tensor in self.tensors + self.results)

    @cached_property
    def type_variables(self) -> tuple[str, ...]:
        """The type variables in use, in order."""
        return _unique(t.type.name for t in self.tensors + self.results if t.type.kind != "dtype")

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Every axis but the kernel-decided ones, in order of appearance."""
        return _unique(itertools.chain.from_iterable(expr.names() for expr in self._exprs()))

    @cached_property
    def data_axes(self) -> tuple[str, ...]:
        """The axes whose length the kernel decides, in order."""
        return _unique(dim.name for t in self.results for dim in t.dims if isinstance(dim, DataAxis))

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The axes that have the name of an int argument, whose value is their size; in the arguments' order."""
        return tuple(scalar.name for scalar in self.scalars if scalar.kind == "int" and scalar.name in self.axes)

    @cached_property
    def bound_by_required(self) -> tuple[str, ...]:
        """The axes that the inputs which can't be left out determine; a backward gets others from its forward."""
        exprs = [expr for t in self.tensors if t.shape and not t.optional for expr in t.shape.exprs]
        known = determined(exprs, self.sizes)
        return tuple(axis for axis in self.axes if axis in known)

    @property
    def bound_axes(self) -> tuple[str, ...]:
        """The same as :attr:`bound_by_required`."""
        return self.bound_by_required

    @cached_property
    def bound_ellipsis(self) -> bool:
        """Whether an input that can't be left out determines ``...``."""
        return any(t.has_ellipsis and not t.optional for t in self.tensors)

    @cached_property
    def bound_types(self) -> tuple[str, ...]:
        """The type variables that the inputs which can't be left out determine."""
        return _unique(t.type.name for t in self.tensors if t.type.kind == "var" and not t.optional)

    def allowed(self, variable: str) -> tuple[DType, ...]:
        """The element types that a type variable may stand for."""
        return dict(self.where).get(variable, DEFAULT_TYPES)

    def instances(self) -> list[dict[str, DType]]:
        """Every combination of element types that a kernel may be built for; one empty one without variables."""
        variables = self.type_variables
        return [dict(zip(variables, types, strict=True)) for types in itertools.product(*map(self.allowed, variables))]

    def replaced(self, **fields: Any) -> Signature:
        """The signature with other values for some of its fields."""
        names = ("name", "inputs", "outputs", "residuals", "where", "batched", "autocast", "launch")
        return Signature(**{**{name: getattr(self, name) for name in names}, **fields})

    def _exprs(self) -> Iterator[Expr]:
        for tensor in self.tensors + self.results:
            for dim in tensor.dims:
                if isinstance(dim, Expr):
                    yield dim
                elif dim.bound is not None:
                    yield dim.bound
            yield from tensor.index_range or ()
        if self.generator:
            yield self.generator.draws

    def __str__(self) -> str:
        """The notation in its canonical form, on one line."""
        text = f"{self.name}({', '.join(map(str, self.inputs))})"
        if self.results:
            residuals = "; " + ", ".join(map(str, self.residuals)) if self.residuals else ""
            text += f" -> ({', '.join(map(str, self.outputs))}{residuals})"
        if self.where:
            text += " where " + ", ".join(f"{name} in ({', '.join(map(str, types))})" for name, types in self.where)
        if self.batched:
            text += " batched"
        if self.autocast is not None:
            text += f" autocast: {self.autocast}"
        return text if self.launch is None else f"{text} {self.launch}"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
