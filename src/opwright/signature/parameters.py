"""The parameters of a signature: tensors, scalars and the random generator."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from opwright.record import record
from opwright.signature.clauses.conditions import Condition
from opwright.signature.domains import Domain
from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.expr import DataAxis, Expr, KeptAxis, Shape
from opwright.signature.scalar_kinds.lists import FixedList
from opwright.signature.scalars import ScalarKind, Value


@record
class TypeRef:
    """An element type as written: ``f32`` (dtype), ``T`` (var), or ``acc(T)`` (acc); ``name`` is f32 or T."""

    kind: Literal["dtype", "var", "acc"]
    name: str

    def resolve(self, types: Mapping[str, DType]) -> DType:
        """Return the element type; ``types`` are those of the type variables. Raise KeyError if one is missing."""
        if self.kind == "dtype":
            return BY_NAME[self.name]
        return types[self.name].accumulate if self.kind == "acc" else types[self.name]

    def __str__(self) -> str:
        """Return the notation."""
        return f"acc({self.name})" if self.kind == "acc" else self.name


@record
class TensorParam:
    """A tensor argument or result, a list of them, or a count, which is a tensor without axes to a kernel."""

    name: str
    type: TypeRef
    shape: Shape | None
    optional: bool = False
    mutated: bool = False
    domain: Domain | None = None
    condition: Condition | None = None
    is_count: bool = False
    listed: bool = False

    @cached_property
    def dims(self) -> tuple[Expr | DataAxis, ...]:
        """The axes in the brackets as a kernel sees them: a group is one. Empty for a pointwise operator."""
        return tuple(dim for dim in self.shape.dims if not isinstance(dim, KeptAxis)) if self.shape else ()

    @property
    def form(self) -> str:
        """The element type and the shape in the notation: ``T[N]``, ``list[T[each N]]``."""
        return f"list[{self.type}{self.shape}]" if self.listed else f"{self.type}{self.shape or ''}"

    @property
    def has_ellipsis(self) -> bool:
        """Whether the tensor has leading axes ``...``."""
        return self.shape is not None and self.shape.ellipsis

    def returned_as(self, other: TensorParam) -> TensorParam:
        """Return the same result as one that is returned on the condition of another one, if that has one."""
        return self if other.condition is None else self.with_condition(other.condition)

    def with_condition(self, condition: Condition) -> TensorParam:
        """Return the same result as one that is returned on a condition only."""
        return TensorParam(self.name, self.type, self.shape, True, self.mutated, self.domain, condition)

    def __str__(self) -> str:
        """Return the notation."""
        if self.is_count:
            return f"{self.name}: int"
        marks = "?" * self.optional + "!" * self.mutated
        condition = "" if self.condition is None else f" {self.condition}"
        return f"{self.name}: {self.form}{marks}{_in(self.domain)}{condition}"


@record
class ScalarParam:
    """A scalar argument; an int default of a float argument is stored as float."""

    name: str
    kind: ScalarKind
    default: Value | None = None
    domain: Domain | None = None

    @property
    def has_default(self) -> bool:
        """Whether the argument can be left out, if all that follow can: an optional one is None then."""
        return self.default is not None or self.kind.is_optional

    @property
    def size_names(self) -> list[str]:
        """The names by which expressions refer to the argument: its own if it is an int, ``pad[0]`` of a list."""
        if isinstance(self.kind, FixedList) and self.kind.base.is_size:
            return [f"{self.name}[{place}]" for place in range(self.kind.count)]
        return [self.name] * self.kind.is_size

    def __str__(self) -> str:
        """Return the notation."""
        default = "" if self.default is None else f" = {self.kind.format(self.default)}"
        return f"{self.name}: {self.kind}{_in(self.domain)}{default}"


@record
class GeneratorParam:
    """The random generator argument; the kernel makes ``draws`` draws per element."""

    name: str
    draws: Expr

    def __str__(self) -> str:
        """Return the notation."""
        return f"{self.name}: generator({self.draws})"


Param = TensorParam | ScalarParam | GeneratorParam


def _in(domain: Domain | None) -> str:
    return "" if domain is None else f" in {domain}"
