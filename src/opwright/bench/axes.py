"""Which sizes: axes as they are written on a command line, and what the others are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from opwright.bench.refusal import RequestError
from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, Sample, Signature, bytes_moved, sample_at

Size = int | float
"""An axis' length; of a scalar argument, its value."""

LEADING = "..."
"""The name of leading axes: of ``T[..., C]``, of a pointwise operator, of a batched one. They are one axis here."""

_BYTES = 1 << 22
"""What a call moves at most where nobody said how large it is."""
_LARGEST = 1 << 22
_LEAST = range(1, 9)


def parse_axis(text: str) -> tuple[str, tuple[Size, ...]]:
    """An axis and its sizes: ``B=16``, ``S=128,256``, ``N=10:100:10`` (both ends), ``B=1:4096:x2`` (times 2).

    A scalar argument is written like one; its values may be negative.

    Raises:
        ValueError: it is written in another way.
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    parts = given.split(",")
    if any(_stays_at_zero(part) for part in parts):
        raise ValueError(f"{text!r}: a range by a factor has to begin above 0, as in B=1:4096:x2")
    try:
        sizes = tuple(itertools.chain.from_iterable(_range(part) for part in parts))
    except ValueError:
        sizes = ()
    if not name or not equals or not sizes or not all(math.isfinite(size) for size in sizes):
        raise ValueError(
            f"{text!r} isn't an axis with its sizes\n"
            "  expected:     B=16, S=128,256, N=10:100:10 (from, to, step) or B=1:4096:x2 (each twice the one before)"
        )
    return name, sizes


def _stays_at_zero(text: str) -> bool:
    """Whether it is a range by a factor whose first number no factor makes larger."""
    parts = [part.strip() for part in text.split(":")]
    return parts[-1].startswith("x") and parts[0].lstrip("-").isdigit() and int(parts[0]) <= 0


def _range(text: str) -> Iterator[Size]:
    parts = text.split(":")
    if len(parts) == 1:
        yield float(text) if "." in text or "e" in text else int(text)
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


def check_names(signatures: Sequence[Signature], axes: Mapping[str, object]) -> None:
    """Whether each axis is one of an operator of the file.

    Raises:
        RequestError: one isn't.
    """
    known = dict.fromkeys(name for sig in signatures for name in names(sig))
    for name in axes:
        if name not in known:
            listed = ", ".join(known) or "none"
            written = "\n".join(f"  signature:    {sig.as_written}" for sig in signatures)
            of = ", ".join(dict.fromkeys(f"{sig.name}()" for sig in signatures))
            raise RequestError(f"{of} has no axis {name!r}; it has: {listed}\n{written}")


def grid(sig: Signature, axes: Mapping[str, Sequence[Size] | Size]) -> list[dict[str, Size]]:
    """Every combination of the sizes that are given for axes of this operator."""
    own = {name: given for name, given in axes.items() if name in names(sig)}
    choices = [(sizes,) if isinstance(sizes, (int, float)) else tuple(sizes) for sizes in own.values()]
    return [dict(zip(own, each, strict=True)) for each in itertools.product(*choices)]


def names(sig: Signature) -> tuple[str, ...]:
    """What may be given a size: the axes, ``...`` where there are leading ones, and the scalar arguments."""
    leading = (LEADING,) if sig.broadcasts or sig.has_ellipsis else ()
    return tuple(dict.fromkeys((*leading, *sig.axes, *(scalar.name for scalar in sig.scalars))))


def call_at(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample:
    """The call of those sizes; axes that aren't named are all as large as the largest power of two that suits.

    That is: one that satisfies the signature, and with which a call moves no more than 4 MiB.

    Raises:
        RequestError: a size is no length, or an int argument's value no integer.
        ArgumentError: no call of those sizes satisfies the signature.
    """
    _check_integers(sig, sizes)
    open_axes = [name for name in _lengths(sig) if name not in sizes]
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


def least_call(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample | None:
    """A call that has next to nothing to do: each axis is 1 where the signature allows it; None if none is found."""
    scalars = {name: size for name, size in sizes.items() if name not in _lengths(sig)}
    for size in _LEAST:
        try:
            return _sample(sig, {**dict.fromkeys(_lengths(sig), size), **scalars}, types)
        except ArgumentError:  # noqa: PERF203
            continue
    return None


def _lengths(sig: Signature) -> list[str]:
    """What has a length: not the scalars."""
    return [name for name in names(sig) if name == LEADING or name in sig.axes]


def _check_integers(sig: Signature, sizes: Mapping[str, Size]) -> None:
    counts = dict.fromkeys((scalar.name for scalar in sig.scalars if scalar.kind == "int"), "an int argument")
    lengths = dict.fromkeys(_lengths(sig), "an axis")
    for name, size in sizes.items():
        what = {**counts, **lengths}.get(name)
        if what and (not math.isfinite(size) or size != int(size)):
            raise RequestError(f"{sig.name}(): {name} is {size}, expected an integer: it is {what}")
        if name in lengths and size < 0:
            raise RequestError(f"{sig.name}(): {name} is {size}, expected 0 or more: it is {what}")


def _sample(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample:
    axes = {name: int(sizes[name]) for name in sig.axes if name in sizes}
    leading = (int(sizes[LEADING]),) if LEADING in sizes else None
    scalars = {scalar.name: sizes[scalar.name] for scalar in sig.scalars if scalar.name in sizes}
    return sample_at(sig, Binding(axes, leading, types), scalars=scalars)
