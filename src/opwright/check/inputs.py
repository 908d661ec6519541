"""Calls drawn from a signature: sizes, layouts, element types and values; hypothesis makes a failing one small."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

from opwright.errors import ArgumentError
from opwright.signature import DType, Sample, Signature, TensorSample, sample

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Values = Literal["uniform", "wide", "special"]
Arguments = dict[str, Any]
"""A call's tensors and scalars by name, in the signature's order; None for an optional tensor that is left out."""

_SPECIAL = ((0.0, -0.0, 1.0, -1.0), (float("inf"), float("-inf")), (float("nan"),))
_SPECIAL_SHARE = 0.25
_WIDE = 8.0
_ATTEMPTS = 20
"""Choices of sizes for one call; hypothesis draws another call where none of them fits."""


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        sample: shapes, layouts, element types, ranges, scalars.
        seed: of the elements' values.
        values: ``"wide"``: what is floating lies in a range eight times as wide, where functions have other branches;
            ``"special"``: a quarter of what is floating is zeros, infinities, NaN, the largest and least numbers, those
            whose exponential overflows; all of them, or those of one kind.
        unaligned: whether elements lie at odd addresses; on the CPU alone.
        device: whose tensors they are.
    """

    sample: Sample
    seed: int = 0
    values: Values = "uniform"
    unaligned: bool = False
    device: str = "cpu"

    def arguments(self, dtype: torch.dtype | None = None) -> Arguments:
        """New tensors with the case's values; a second call gives equal ones.

        Args:
            dtype: of floating tensors, in place of their own: the values are the same, rounded to their own first.
        """
        generator = torch.Generator().manual_seed(self.seed)
        tensors = {
            name: None if made is None else self._tensor(made, generator, dtype)
            for name, made in self.sample.tensors.items()
        }
        return {**tensors, **self.sample.scalars}

    def _tensor(self, made: TensorSample, generator: torch.Generator, dtype: torch.dtype | None) -> torch.Tensor:
        numbers = [float(value) for value in self.sample.scalars.values() if not isinstance(value, bool)]
        storage = stored(made, generator, self.values, numbers)
        if dtype is not None and made.dtype.is_floating:
            storage = storage.to(dtype)
        if self.device != "cpu":
            storage = storage.to(self.device)
        elif self.unaligned:
            storage = at_odd_address(storage)
        return storage.as_strided(made.shape, made.strides, made.offset)


def stored(
    made: TensorSample, generator: torch.Generator, values: Values = "uniform", numbers: Sequence[float] = ()
) -> torch.Tensor:
    """A tensor's storage, filled from its range; special values are `numbers`, too: functions often change there."""
    drawn = torch.rand(made.storage_size, generator=generator, dtype=torch.float64) * (made.high - made.low) + made.low
    dtype: torch.dtype = getattr(torch, made.dtype.torch_name)
    if made.dtype.is_integer or made.dtype is DType.BOOL:
        return drawn.floor().to(dtype)
    if values == "wide":
        drawn *= _WIDE
    if values == "special":
        table = _specials(torch.finfo(dtype), generator, numbers)
        chosen = table[torch.randint(len(table), (made.storage_size,), generator=generator)]
        is_special = torch.rand(made.storage_size, generator=generator) < _SPECIAL_SHARE
        drawn = torch.where(is_special, chosen, drawn)
    return drawn.to(dtype)


def _specials(info: torch.finfo, generator: torch.Generator, numbers: Sequence[float]) -> torch.Tensor:
    """Zeros and ones, infinities, NaN, extremes, or `numbers`; or all of them, which hides the one behind the other."""
    exponent = 2 * math.log(info.max)  # its exponential overflows, and it is far from doing so itself
    kinds = [*_SPECIAL, (info.max, info.min, info.tiny, info.eps), (exponent, -exponent)]
    kinds += [tuple(numbers)] if numbers else []
    chosen = int(torch.randint(2 * len(kinds), (), generator=generator))
    every = [value for kind in (kinds[chosen : chosen + 1] or kinds) for value in kind]
    return torch.tensor(every, dtype=torch.float64)


def at_odd_address(storage: torch.Tensor) -> torch.Tensor:
    """The same elements one byte off, where their type has more than one."""
    if not storage.numel() or storage.element_size() == 1:
        return storage
    space = bytearray(storage.nbytes + 2)
    base = torch.frombuffer(space, dtype=torch.uint8).data_ptr()
    moved = torch.frombuffer(space, dtype=storage.dtype, offset=1 + base % 2, count=storage.numel())
    return moved.copy_(storage)


def copied(value: Any) -> Any:
    """A tensor's copy; anything else as it is."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def all_copied(arguments: Arguments) -> Arguments:
    """A call's arguments, of which what is overwritten is nobody else's."""
    return {name: copied(value) for name, value in arguments.items()}


def most_elements(arguments: Arguments) -> int:
    """How many elements a call's largest tensor has."""
    return max((value.numel() for value in arguments.values() if isinstance(value, torch.Tensor)), default=0)


def most_equal(arguments: Arguments) -> int:
    """How many numbers are the same, at most, along the axes on which a floating tensor doesn't change.

    Those are expanded ones, mostly; a copy of such a tensor has no strides that would say so.
    """
    tensors = [
        value.detach() for value in arguments.values() if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
    return max((math.prod(_constant(value)) for value in tensors), default=1)


def most_collected(arguments: Arguments) -> int:
    """How often the most frequent whole number of a tensor is in it: an index, whose element may get as many terms."""
    tensors = [value.detach() for value in arguments.values() if isinstance(value, torch.Tensor) and value.numel()]
    whole = [value for value in tensors if not value.is_floating_point() and value.dtype != torch.bool]
    return max((int(value.unique(return_counts=True)[1].max()) for value in whole if not value.is_complex()), default=1)


def _constant(value: torch.Tensor) -> list[int]:
    """The lengths of the axes along which a tensor doesn't change."""
    return [n for axis, n in enumerate(value.shape) if n > 1 and bool((value == value.narrow(axis, 0, 1)).all())]


def positional(signature: Signature, arguments: Mapping[str, Any]) -> list[Any]:
    """The arguments in the signature's order, None for a generator."""
    return [arguments.get(param.name) for param in signature.inputs]


def cases(
    signature: Signature,
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
    """A hypothesis strategy for calls that fit the signature.

    Args:
        signature: the operator's.
        types: what type variables stand for; those that are left out are drawn.
        sizes: what axes are drawn from; the first ones are the simplest.
        max_numel: no tensor has more elements.
        contiguous: row-major tensors only.
        values: kinds of values to draw from, the simplest first.
        unaligned: whether some calls have elements at odd addresses.
        before: called before each draw; what it raises ends the search.
        device: whose tensors they are.
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
            return sample(signature, rng, **options)
        except ArgumentError:  # the simplest sizes need not fit, and hypothesis begins with those
            reject()

    return st.builds(
        Case,
        st.randoms(use_true_random=False).map(draw),
        st.integers(0, 2**16),
        st.sampled_from(list(values)),
        st.booleans() if unaligned and device == "cpu" else st.just(value=False),
        st.just(device),
    )
