"""Which sizes: axes as they are written on a command line, and what the others are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, Sample, Signature, bytes_moved, sample_at

LEADING = "..."
"""The name of leading axes: of ``T[..., C]``, of a pointwise operator, of a batched one. They are one axis here."""

_BYTES = 1 << 22
"""What a call moves at most where nobody said how large it is."""
_LARGEST = 1 << 22


def parse_axis(text: str) -> tuple[str, tuple[int, ...]]:
    """An axis and its sizes: ``B=16``, ``S=128,256``, ``N=10:100:10`` (both ends), ``B=1:4096:x2`` (times 2).

    Raises:
        ValueError: it is written in another way.
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    try:
        sizes = tuple(itertools.chain.from_iterable(_range(part) for part in given.split(",")))
    except ValueError:
        sizes = ()
    if not name or not equals or not sizes or min(sizes) < 0:
        raise ValueError(
            f"{text!r} isn't an axis with its sizes\n"
            "  expected:     B=16, S=128,256, N=10:100:10 (from, to, step) or B=1:4096:x2 (each twice the one before)"
        )
    return name, sizes


def _range(text: str) -> Iterator[int]:
    parts = text.split(":")
    if len(parts) == 1:
        yield int(text)
        return
    first, last = int(parts[0]), int(parts[1])
    step = parts[2] if len(parts) == 3 else "1" if len(parts) == 2 else ""
    factor, more = (int(step[1:]), 0) if step.startswith("x") else (1, int(step))
    if factor * max(first, 1) + more <= max(first, 1):
        return  # it would never end
    size = first
    while size <= last:
        yield size
        size = size * factor + more


def grid(sig: Signature, axes: Mapping[str, Sequence[int] | int]) -> list[dict[str, int]]:
    """Every combination of the sizes that are given.

    Raises:
        ArgumentError: the signature has no such axis.
    """
    known = names(sig)
    for name in axes:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ArgumentError(
                f"{sig.name}() has no axis {name!r}; it has: {listed}\n  signature:    {sig.as_written}"
            )
    choices = [(sizes,) if isinstance(sizes, int) else tuple(sizes) for sizes in axes.values()]
    return [dict(zip(axes, each, strict=True)) for each in itertools.product(*choices)]


def names(sig: Signature) -> tuple[str, ...]:
    """What may be given a size: the axes, ``...`` where there are leading ones, and ints among the arguments."""
    leading = (LEADING,) if sig.broadcasts or sig.has_ellipsis else ()
    ints = (scalar.name for scalar in sig.scalars if scalar.kind == "int")
    return tuple(dict.fromkeys((*leading, *sig.axes, *ints)))


def call_at(sig: Signature, sizes: Mapping[str, int], types: Mapping[str, DType]) -> Sample:
    """The call of those sizes; axes that aren't named are all as large as the largest power of two that suits.

    That is: one that satisfies the signature, and with which a call moves no more than 4 MiB.

    Raises:
        ArgumentError: no call of those sizes satisfies the signature.
    """
    open_axes = [name for name in (LEADING, *sig.axes) if name in names(sig) and name not in sizes]
    if not open_axes:
        return _sample(sig, sizes, types)
    problem: ArgumentError | None = None
    size = _LARGEST
    while size:
        try:
            found = _sample(sig, {**sizes, **dict.fromkeys(open_axes, size)}, types)
            if size == 1 or bytes_moved(sig, found.binding).total <= _BYTES:
                return found
        except ArgumentError as error:
            problem = error
        size //= 2
    likely = " ".join(f"--axis {name}=..." for name in open_axes)
    raise ArgumentError(f"{problem}\n  likely fix:   say which sizes suit: {likely}") from problem


def least_call(sig: Signature, sizes: Mapping[str, int], types: Mapping[str, DType]) -> Sample | None:
    """A call that has next to nothing to do: each axis is 1 where the signature allows it; None if none is found."""
    for size in range(1, 9):
        for kept in ({}, {name: sizes[name] for name in names(sig) if name in sizes and name not in sig.axes}):
            open_axes = [name for name in (LEADING, *sig.axes) if name in names(sig) and name not in kept]
            try:
                return _sample(sig, {**dict.fromkeys(open_axes, size), **kept}, types)
            except ArgumentError:
                continue
    return None


def _sample(sig: Signature, sizes: Mapping[str, int], types: Mapping[str, DType]) -> Sample:
    axes = {name: sizes[name] for name in sig.axes if name in sizes}
    leading = (sizes[LEADING],) if LEADING in sizes else None
    scalars = {name: sizes[name] for name in sizes if name not in sig.axes and name != LEADING}
    return sample_at(sig, Binding(axes, leading, types), scalars=scalars)
