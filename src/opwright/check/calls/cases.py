"""Calls drawn from a signature: sizes, layouts, element types and values. hypothesis shrinks a failing call."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import torch

from opwright.errors import ArgumentError
from opwright.signature import DType, Sample, Signature, TensorSample
from opwright.signature.domains import Interval

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def torch_dtype(dtype: DType) -> torch.dtype:
    """Return PyTorch's element type for a signature's element type."""
    made: torch.dtype = getattr(torch, dtype.torch_name)
    return made


Values = Literal["uniform", "wide", "special", "ones", "infinities", "nan", "extremes", "denormals", "overflowing"]
Arguments = dict[str, Any]
"""A call's tensors and scalars by name, in the signature's order; None for an omitted optional tensor."""

_SPECIAL_SHARE = 0.25
_ONE_KIND_SHARE = 1 / 3
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, are spread evenly, and repeat with no axis."""
_WIDE = 8.0
_WIDE_POSITIONS = (0.001, 0.01, 0.99, 0.999)
"""Between the ends of a domain."""
SMALL_SIZES = (2, 1, 3, 0, 5, 8, 17)
LARGE_SIZES = (8209, 1031, 257, 64, 33, 5, 2)
"""Small sizes are included, so that tensors of many axes are drawn, too."""
PAIRS = torch_dtype(DType.F4X2)
"""The element type whose elements PyTorch converts to no number."""
_ATTEMPTS = 20
"""Choices of sizes tried for one call; if none of them fits, hypothesis draws another call."""


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        sample: shapes, layouts, element types, ranges and scalars.
        seed: seed of the elements' values.
        values: ``"wide"``: the range of floating tensors is eight times as wide, which reaches other branches of
            functions. ``"special"``: a quarter of the floating elements are zeros, infinities, NaN, the largest and
            smallest numbers, or numbers whose exponential overflows: all of these kinds, or one of them. The name of a
            kind: the first and a third of all floating elements are of that kind.
        unaligned: whether elements are at odd addresses (CPU only).
        device: the device of the tensors.
    """

    sample: Sample
    seed: int = 0
    values: Values = "uniform"
    unaligned: bool = False
    device: str = "cpu"

    @property
    def types(self) -> Mapping[str, DType]:
        """The element types of the type variables."""
        return self.sample.binding.types

    def arguments(self, dtype: torch.dtype | None = None) -> Arguments:
        """Build new tensors with the case's values; a second call returns equal tensors.

        Args:
            dtype: element type of floating tensors, instead of their own. Values are rounded to their own type first,
                so they are the same.
        """
        generator = torch.Generator().manual_seed(self.seed)
        tensors = {
            name: None if made is None else self._tensor(name, made, generator, dtype)
            for name, made in self.sample.tensors.items()
        }
        scalars = {n: torch_dtype(v) if isinstance(v, DType) else v for n, v in self.sample.scalars.items()}
        return {**tensors, **scalars}

    def _tensor(
        self, name: str, made: TensorSample, generator: torch.Generator, dtype: torch.dtype | None
    ) -> torch.Tensor:
        numbers = [float(value) for value in self.sample.scalars.values() if type(value) in (int, float)]
        storage = draw_storage(made, generator, self.values, numbers)
        if self.sample.values and self.values == "uniform":  # row-major: the storage has the tensor's elements
            storage = self.sample.values[name].detach().to(storage.dtype).flatten()
        if dtype is not None:
            storage = to_dtype(storage, dtype)
        if self.device != "cpu":
            storage = storage.to(self.device)
        elif self.unaligned:
            storage = unaligned_copy(storage)
        return storage.as_strided(made.shape, made.strides, made.offset)


def draw_storage(
    made: TensorSample, generator: torch.Generator, values: Values = "uniform", numbers: Sequence[float] = ()
) -> torch.Tensor:
    """Fill a tensor's storage from its range; special values include `numbers`, at which functions often change."""
    if made.dtype.is_complex:
        parts = draw_storage(made.of_parts(), generator, values, numbers)
        return torch.view_as_complex(parts.reshape(-1, 2)).clone()  # PyTorch can't fake views of real numbers
    drawn = torch.rand(made.storage_size, generator=generator, dtype=torch.float64) * (made.high - made.low) + made.low
    dtype = torch_dtype(made.dtype)
    if made.dtype.is_integer or made.dtype is DType.BOOL:
        return drawn.floor().to(dtype)
    if made.dtype is DType.F4X2:
        return torch.randint(256, drawn.shape, generator=generator).to(torch.uint8).view(dtype)
    if made.interval is not None:
        return _in_interval(drawn, made, made.interval, generator, values, numbers).to(dtype)
    if values == "wide":
        drawn *= _WIDE
    elif values != "uniform":
        table = _specials(torch.finfo(dtype), generator, values, numbers)
        drawn = _some_replaced(drawn, table, generator, values)
    return drawn.to(dtype)


def _in_interval(
    drawn: torch.Tensor,
    made: TensorSample,
    interval: Interval,
    generator: torch.Generator,
    values: Values,
    numbers: Sequence[float],
) -> torch.Tensor:
    """Replace some of the drawn values by special ones; all are in the interval also when they are rounded."""
    dtype = torch_dtype(made.dtype)
    if values != "uniform":
        ends = [end for end in (interval.low, interval.high) if end in interval]
        table = torch.tensor([*map(float, ends), *map(interval.between, _WIDE_POSITIONS)], dtype=torch.float64)
        if values != "wide":
            table = torch.cat([table, _specials(torch.finfo(dtype), generator, values, numbers)])
        drawn = _some_replaced(drawn, table, generator, values)
    rounded = drawn.to(dtype).double()
    low, high = interval.conditions(rounded, whole=False)
    return torch.where(low & high, rounded, interval.between(0.5))


def _some_replaced(
    drawn: torch.Tensor, table: torch.Tensor, generator: torch.Generator, values: Values
) -> torch.Tensor:
    """Replace a quarter of the values by numbers of the table; for one kind of special ones, a third, in turn."""
    if values in ("wide", "special"):
        chosen = table[torch.randint(len(table), drawn.shape, generator=generator)]
        return torch.where(torch.rand(drawn.shape, generator=generator) < _SPECIAL_SHARE, chosen, drawn)
    is_special = torch.arange(len(drawn)) * _GOLDEN % 1 < _ONE_KIND_SHARE
    return torch.where(is_special, table[(is_special.cumsum(0) - 1) % len(table)], drawn)


def special_kinds(info: torch.finfo) -> Mapping[Values, tuple[float, ...]]:
    """Return the special values of an element type, by kind."""
    exponent = 2 * math.log(info.max)  # exp(exponent) overflows; exponent itself is far from overflowing
    smallest = info.smallest_normal * info.eps
    return {
        "ones": (0.0, -0.0, 1.0, -1.0),
        "infinities": (math.inf, -math.inf),
        "nan": (math.nan,),
        "extremes": (info.max, info.min, info.tiny, info.eps),
        "denormals": (smallest, -smallest, info.tiny / 2),
        "overflowing": (exponent, -exponent),
    }


def _specials(info: torch.finfo, generator: torch.Generator, values: Values, numbers: Sequence[float]) -> torch.Tensor:
    """Return the special values of a kind; for ``"special"``, of one kind or all, which may hide one another.

    `numbers` are a further kind.
    """
    kinds = special_kinds(info)
    if (of_kind := kinds.get(values)) is None:
        groups = [*kinds.values(), *([tuple(numbers)] if numbers else [])]
        chosen = int(torch.randint(2 * len(groups), (), generator=generator))
        of_kind = tuple(value for group in (groups[chosen : chosen + 1] or groups) for value in group)
    return torch.tensor(of_kind, dtype=torch.float64)


def unaligned_copy(storage: torch.Tensor) -> torch.Tensor:
    """Copy the elements to an address that is off by one byte, if their type has more than one byte.

    Complex ones stay: PyTorch's own functions crash where those aren't aligned.
    """
    if not storage.numel() or storage.element_size() == 1 or storage.is_complex():
        return storage
    space = bytearray(storage.nbytes + 2)
    base = torch.frombuffer(space, dtype=torch.uint8).data_ptr()
    moved = torch.frombuffer(space, dtype=storage.dtype, offset=1 + base % 2, count=storage.numel())
    return moved.copy_(storage)


def dtype_name(dtype: torch.dtype) -> str:
    """Return an element type's name: ``"float64"``."""
    return str(dtype).removeprefix("torch.")


def describe_tensor(tensor: torch.Tensor) -> str:
    """Return a tensor's element type and shape: ``"float64 of shape (2, 3)"``."""
    return f"{dtype_name(tensor.dtype)} of shape {tuple(tensor.shape)}"


def is_floating(value: object) -> TypeGuard[torch.Tensor]:
    """Return whether `value` is a tensor of floating numbers; pairs of 4-bit floats are bytes to PyTorch."""
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype is not PAIRS


def can_have_gradient(value: object) -> TypeGuard[torch.Tensor]:
    """Return whether `value` is a tensor of complex or floating numbers, other than 8-bit floats."""
    return is_complex(value) or (is_floating(value) and value.element_size() > 1)


def is_complex(value: object) -> TypeGuard[torch.Tensor]:
    """Return whether `value` is a tensor of complex numbers."""
    return isinstance(value, torch.Tensor) and value.is_complex()


def to_dtype(value: Any, dtype: torch.dtype = torch.float64) -> Any:
    """Convert a floating tensor to `dtype`, a complex one to that of such parts; return anything else as it is."""
    if is_complex(value):
        return value.to(dtype.to_complex())
    return value.to(dtype) if is_floating(value) else value


def copy_value(value: Any) -> Any:
    """Copy a tensor; return anything else as it is."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def copy_arguments(arguments: Arguments) -> Arguments:
    """Copy a call's tensors, so that overwriting them changes no other tensor."""
    return {name: copy_value(value) for name, value in arguments.items()}


def contiguous_arguments(arguments: Arguments) -> Arguments:
    """Copy a call's tensors as row-major tensors that share no memory."""
    return {
        name: value.clone(memory_format=torch.contiguous_format) if isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
    }


def are_contiguous(arguments: Arguments) -> bool:
    """Return whether all tensors are row-major and start at the beginning of their memory."""
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    return all(value.is_contiguous() and value.storage_offset() == 0 for value in tensors)


def largest_numel(arguments: Arguments) -> int:
    """Return the number of elements of a call's largest tensor."""
    return max((value.numel() for value in arguments.values() if isinstance(value, torch.Tensor)), default=0)


def most_repeated_values(arguments: Arguments) -> int:
    """Return the largest number of equal elements along the axes on which a floating tensor is constant.

    Values are compared, not strides: such tensors are mostly expanded ones, and a copy of an expanded tensor has
    ordinary strides.
    """
    tensors = [value.detach() for value in arguments.values() if is_floating(value)]
    return max((math.prod(_constant_axes(value)) for value in tensors), default=1)


def most_frequent_index(arguments: Arguments) -> int:
    """Count the most frequent integer of a tensor: as an index, it may collect that many terms in one element."""
    tensors = [value.detach() for value in arguments.values() if isinstance(value, torch.Tensor) and value.numel()]
    whole = [value for value in tensors if not value.is_floating_point() and value.dtype != torch.bool]
    return max((int(value.unique(return_counts=True)[1].max()) for value in whole if not value.is_complex()), default=1)


def _constant_axes(value: torch.Tensor) -> list[int]:
    """Return the lengths of the axes along which a tensor is constant."""
    return [n for axis, n in enumerate(value.shape) if n > 1 and bool((value == value.narrow(axis, 0, 1)).all())]


def types_text(types: Mapping[str, DType]) -> str:
    """Format a choice of element types: ``"T = f32"``."""
    return ", ".join(f"{variable} = {dtype}" for variable, dtype in types.items()) or "the only element types"


def positional(signature: Signature, arguments: Mapping[str, Any]) -> list[Any]:
    """Return the arguments in the signature's order, None for a generator."""
    return [arguments.get(param.name) for param in signature.inputs]


def cases(
    draw_sample: Callable[..., Sample],
    *,
    types: Mapping[str, DType] | None = None,
    sizes: Sequence[int] | None = None,
    max_numel: int = 1 << 12,
    contiguous: bool = False,
    values: Sequence[Values] = ("uniform",),
    unaligned: bool = False,
    before: Callable[[], None] | None = None,
    device: str = "cpu",
) -> SearchStrategy[Case]:
    """Build a hypothesis strategy for calls that fit the signature.

    Args:
        draw_sample: takes a random generator and the options of `opwright.signature.sample`; draws a call.
        types: element types of the type variables; those of other type variables are drawn.
        sizes: sizes to draw for the axes, the simplest first.
        max_numel: maximum number of elements of a tensor.
        contiguous: whether to draw row-major tensors only.
        values: kinds of values to draw from, the simplest first.
        unaligned: whether some calls have elements at odd addresses.
        before: called before each draw; an exception that it raises ends the search.
        device: the device of the tensors.
    """
    from hypothesis import reject
    from hypothesis import strategies as st

    options: dict[str, Any] = {"types": types, "max_numel": max_numel, "contiguous": contiguous, "attempts": _ATTEMPTS}
    if sizes is not None:
        options["sizes"] = tuple(sizes)

    def draw(rng: random.Random) -> Sample:
        if before:
            before()
        try:
            return draw_sample(rng, **options)
        except ArgumentError:  # the simplest sizes, which hypothesis tries first, may not fit
            reject()

    return st.builds(
        Case,
        st.randoms(use_true_random=False).map(draw),
        st.integers(0, 2**16),
        st.sampled_from(list(values)),
        st.booleans() if unaligned and device == "cpu" else st.just(value=False),
        st.just(device),
    )
