"""Alternatives: signatures of one name with one schema, of which each call takes the one that fits its arguments.

Element types and numbers of axes (ranks) decide: a tracer knows them, whatever else it doesn't. Sizes and scalars
don't, nor do arguments that may be absent or lists that may be empty, so at most one alternative fits a call. Each has
a name of its own, an overload's, that says what it is for (``blur.rank1``), and its own backward,
``blur_backward.rank1``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

from opwright.errors import SignatureError
from opwright.record import record
from opwright.signature.dtypes import FLOATING, INTEGER, DType, result_type
from opwright.signature.expr import Group, KeptAxis
from opwright.signature.model import Signature
from opwright.signature.names import backward_of, is_backward, overload_of
from opwright.signature.parameters import TensorParam
from opwright.signature.schema import schema
from opwright.signature.wiring import derivative, inherit

Arrived = Mapping[str, tuple[DType | None, int] | None]
"""The tensors of a call by name: element type (None: one that the notation lacks) and rank; None for an absent one."""

_ANY_RANK = (0, None)


@record
class Requirement:
    """What a tensor has to be for an alternative to be chosen.

    Attributes:
        name: the argument.
        among: the arguments whose types are promoted to the one that counts; several in a pointwise operator only.
        types: the element types that it may have; empty: any.
        defaults: whether integers count as PyTorch's default floating type, as no alternative is for integers.
        ranks: the least and the greatest rank; None: there is no greatest.
    """

    name: str
    among: tuple[str, ...]
    types: tuple[DType, ...]
    defaults: bool
    ranks: tuple[int, int | None]

    def holds(self, arrived: Arrived, default: DType) -> bool:
        """Return whether the tensors of a call fulfil it; `default`: PyTorch's default floating type."""
        least, most = self.ranks
        own = arrived.get(self.name)
        if own is None or own[1] < least or (most is not None and own[1] > most):
            return False
        return not self.types or self._type(arrived, default) in self.types

    def _type(self, arrived: Arrived, default: DType) -> DType | None:
        present = [each for each in map(arrived.get, self.among) if each is not None]
        known = [(dtype, rank) for dtype, rank in present if dtype is not None]
        if len(known) < len(present):
            return None
        dtype = known[0][0] if len(known) == 1 else result_type(known)
        return default if self.defaults and dtype and dtype.category <= INTEGER else dtype

    def __str__(self) -> str:
        """Describe it: ``x of type f32 with 1 axis``."""
        name = self.name if len(self.among) < 2 else f"{', '.join(self.among)} that promote to"
        kind = f"of type {' or '.join(map(str, self.types))}" if len(self.among) < 2 else _listed(self.types)
        return " ".join(filter(None, [name, kind if self.types else "", _axes(self.ranks)]))


def _listed(types: Iterable[DType]) -> str:
    return " or ".join(map(str, types))


def _axes(ranks: tuple[int, int | None]) -> str:
    least, most = ranks
    if ranks == _ANY_RANK:
        return ""
    if most is None:
        return f"with {least} or more axes"
    return f"with {count_axes(least)}" if least == most else f"with {least} to {most} axes"


def count_axes(count: int) -> str:
    """Return a number of axes in words."""
    return "1 axis" if count == 1 else f"{count} axes"


class Alternatives:
    """The alternatives of an operator.

    Attributes:
        name: the operator's name, as its author wrote it.
        signatures: their signatures.
        required: of each, what decides between it and the others.
    """

    def __init__(self, signatures: Sequence[Signature], name: str = "") -> None:
        """Find what decides; `signatures` don't overlap; `name`: that of their variants, if these are chosen."""
        self.name, self.signatures = name or signatures[0].shown_name, tuple(signatures)
        rows = _required(signatures)
        self.required = [tuple(row[i] for row in rows) for i in range(len(signatures))]
        self.deciding = tuple(dict.fromkeys(name for row in rows for each in row for name in each.among))

    def find(self, arrived: Arrived, default: DType) -> int | None:
        """Return the number of the alternative that a call takes; None if none fits."""
        fitting = (i for i, all_of in enumerate(self.required) if all(each.holds(arrived, default) for each in all_of))
        return next(fitting, None)

    def takes(self) -> str:
        """Return a line for each alternative that says what it takes, then its signature; each begins a line."""
        lines = (
            f"\n  {signature.name} takes {self.taken_by(number)}\n    signature:  {signature.as_written}"
            for number, signature in enumerate(self.signatures)
        )
        return "".join(lines)

    def taken_by(self, number: int) -> str:
        """Describe what an alternative takes."""
        return ", ".join(dict.fromkeys(map(str, self.required[number])))


def _required(signatures: Sequence[Signature]) -> list[tuple[Requirement, ...]]:
    """Return, for each argument by which alternatives differ, what each of them requires of it; only what differs."""
    rows = []
    for tensor in filter(_decides, signatures[0].tensors):
        row = [_requirement(signature, tensor.name) for signature in signatures]
        types, ranks = {(each.among, each.types) for each in row}, {each.ranks for each in row}
        floating = all(dtype.category >= FLOATING for each in row for dtype in each.types)
        differing = tuple(
            Requirement(
                each.name,
                each.among if len(types) > 1 else (each.name,),
                each.types if len(types) > 1 else (),
                len(types) > 1 and floating and each.defaults,
                each.ranks if len(ranks) > 1 else _ANY_RANK,
            )
            for each in row
        )
        if len(types) > 1 or len(ranks) > 1:
            rows.append(differing)
    return rows


def _decides(tensor: TensorParam) -> bool:
    return not (tensor.optional or tensor.listed)


def _requirement(signature: Signature, name: str) -> Requirement:
    tensor = next(each for each in signature.tensors if each.name == name)
    promoted = signature.pointwise and tensor.type.kind == "var"
    among = tuple(t.name for t in signature.tensors if t.type == tensor.type) if promoted else (name,)
    any_type = signature.pointwise and tensor.type.kind == "acc"
    types = () if any_type else tuple(dict.fromkeys(signature.element_types(tensor)))
    return Requirement(name, among, types, promoted, _ranks(signature, tensor))


def _ranks(signature: Signature, tensor: TensorParam) -> tuple[int, int | None]:
    if tensor.shape is None:
        return _ANY_RANK
    dims = tensor.shape.dims
    kept, groups = (sum(isinstance(dim, kind) for dim in dims) for kind in (KeptAxis, Group))
    least = 0 if signature.grouping.slot(tensor) else len(dims) - kept - groups
    return least, None if groups or signature.has_leading(tensor) else len(dims) - groups


def _are_apart(first: Signature, second: Signature, name: str) -> bool:
    """Return whether no tensor for the argument `name` is one that both signatures take."""
    pair = _requirement(first, name), _requirement(second, name)
    low, high = sorted((each.ranks for each in pair), key=lambda ranks: ranks[0])
    if low[1] is not None and low[1] < high[0]:
        return True
    if not (pair[0].types and pair[1].types):
        return False
    if pair[0].among == pair[1].among:
        return not {*pair[0].types} & {*pair[1].types}
    return _promotes_apart(pair[0], second) or _promotes_apart(pair[1], first)


def _promotes_apart(promoted: Requirement, other: Signature) -> bool:
    """Return whether the type that arguments are promoted to differs from the one that all of them have in `other`."""
    theirs = [_requirement(other, name) for name in promoted.among]
    types = {each.types if each.among == (each.name,) else () for each in theirs}
    return len(types) == 1 and all(len(each) == 1 and each[0] not in promoted.types for each in types)


def problem(signatures: Sequence[Signature]) -> str:
    """Return why signatures of one name aren't alternatives of one operator; empty if they are."""
    for each in signatures[1:]:
        if schema(each) != schema(signatures[0]):
            return (
                f"{each.name} has several signatures, and their schemas differ, so they aren't alternatives of one "
                f"operator\n  schema:     {schema(each)}\n  the first:  {schema(signatures[0])}\n"
                f"  likely fix: {_named_apart(each.name)}"
            )
        if each.variants != signatures[0].variants:
            return (
                f"{each.name} has several signatures, and not all have the same variants:\n"
                f"  signature:  {each}\n  the first:  {signatures[0]}\n  likely fix: write the same for all of them"
            )
    return overlap(signatures)


def overlap(signatures: Sequence[Signature]) -> str:
    """Return which two of several signatures with one schema take the same arguments; empty if there are none."""
    for first, second in combinations(signatures, 2):
        names = [tensor.name for tensor in first.tensors if _decides(tensor)]
        if not any(_are_apart(first, second, name) for name in names):
            pairs = [(_requirement(first, name), _requirement(second, name)) for name in names]
            return (
                f"{first.shown_name} has two signatures that take the same arguments: {_common(pairs)}\n"
                f"  signature:  {first}\n  signature:  {second}\n"
                "  what decides is the element type or the number of axes of a tensor that is always there; sizes, "
                "scalars, optional tensors and lists don't\n"
                f"  likely fix: {_named_apart(first.shown_name)}"
            )
    return ""


def _named_apart(name: str) -> str:
    return f"make them overloads, as {name}.one and {name}.two, or give one of them another name, as {name}2"


def _common(pairs: Sequence[tuple[Requirement, Requirement]]) -> str:
    """Describe what both take of each argument."""
    texts = []
    for first, second in pairs:
        shared = [dtype for dtype in first.types or second.types if dtype in (second.types or (dtype,))]
        most = [high for _, high in (first.ranks, second.ranks) if high is not None]
        ranks = max(first.ranks[0], second.ranks[0]), min(most) if most else None
        kind = f"of type {_listed(shared)}" if shared else ""
        texts.append(" ".join(filter(None, [first.name, kind, _axes(ranks)])))
    return ", ".join(texts) or "none is a tensor that is always there"


def tags(
    written: Sequence[Signature], several: Collection[str], place: Callable[[Signature], str] = lambda _: ""
) -> dict[Signature, str]:
    """Return, for each alternative and its backwards, its overload's name: ``rank1``.

    Args:
        written: all signatures, in the order of the source.
        several: the names that have several signatures, or one for several alternatives.
        place: returns the beginning of an error of a signature.

    Raises:
        SignatureError: signatures of a name aren't alternatives; a backward belongs to none of them, or two to one.
    """
    found: dict[Signature, str] = {}
    for name in several:
        own = [signature for signature in written if signature.name == name]
        if is_backward(name) and any(backward_of(each.name) == name for each in written):
            continue
        if text := problem(own):
            raise SignatureError(f"{place(own[-1])}{text}")
        level = dict(zip(own, _tags_of(own), strict=True))
        taken = {overload_of(s.name) for s in written if s.name.startswith(f"{name}.")}
        if clash := sorted(taken & {*level.values()}):
            raise SignatureError(
                f"{place(own[0])}{name}.{clash[0]} is what one of the {len(own)} alternatives of {name} is called, and "
                f"there is an overload of that name\n  likely fix: give it another name, as {name}.{clash[0]}_"
            )
        while level:
            found |= level
            backward = backward_of(next(iter(level)).name)
            level = _assigned(level, [each for each in written if each.name == backward], [*written], place)
    for name in several:
        twice = [signature for signature in written if signature.name == name and signature not in found]
        if len(twice) > 1:
            raise SignatureError(
                f"{place(twice[1])}{name} has {len(twice)} signatures, and the operator that it is the backward of "
                "has one\n  likely fix: leave out one of them"
            )
    return found


def _tags_of(signatures: Sequence[Signature]) -> list[str]:
    """Return what the alternatives are for in short: by one argument if that tells them apart, otherwise by all."""
    rows = _required(signatures)
    by_one = (made for made in ([_tag(each) for each in row] for row in rows) if len({*made}) == len(made))
    if (made := next(by_one, None)) is not None:
        return made
    made = ["_".join(f"{row[i].name}_{_tag(row[i])}" for row in rows) for i in range(len(signatures))]
    return [tag if made.index(tag) == i else f"{tag}_{i + 1}" for i, tag in enumerate(made)]


def _tag(required: Requirement) -> str:
    least, most = required.ranks
    upper = "up" if most is None else "" if most == least else f"to{most}"
    rank = "" if required.ranks == _ANY_RANK else f"rank{least}{upper}"
    return "_".join(filter(None, [*map(str, required.types), rank])) or "any"


def _assigned(
    level: Mapping[Signature, str],
    backwards: Sequence[Signature],
    order: Sequence[Signature],
    place: Callable[[Signature], str],
) -> dict[Signature, str]:
    """Return the backwards with the tags of the alternatives that they belong to.

    A backward belongs to the alternative that it fits; of several, to the last one above it that has none yet.
    """
    given: dict[str, Signature] = {}
    for backward in backwards:
        fitting = [forward for forward in level if not _misfit(forward, backward)]
        if not fitting:
            reasons = "".join(f"\n  not for:    {f}\n    {_misfit(f, backward)}" for f in level)
            raise SignatureError(
                f"{place(backward)}{backward.name} fits none of the {len(level)} alternatives of its forward\n"
                f"  signature:  {backward}{reasons}"
            )
        free = [forward for forward in fitting if level[forward] not in given]
        if not free:
            other = given[level[fitting[0]]]
            raise SignatureError(
                f"{place(backward)}{backward.name} is the backward of an alternative that has one\n"
                f"  signature:  {backward}\n  the other:  {other}\n  its own:    {fitting[0]}\n"
                f"  likely fix: leave out one of them"
            )
        above = [forward for forward in free if order.index(forward) < order.index(backward)]
        given[level[(above or free[::-1])[-1]]] = backward
    return {backward: tag for tag, backward in given.items()}


def _misfit(forward: Signature, backward: Signature) -> str:
    """Return the first line of why a backward doesn't belong to an operator; empty if it does."""
    try:
        derivative(forward, inherit(forward, backward))
    except SignatureError as error:
        return str(error).partition("\n")[0]
    return ""


def as_alternative(signature: Signature, found: Mapping[Signature, str]) -> Signature:
    """Return a signature with the name that it has as an alternative, if it is one of `found`."""
    tag = found.get(signature.operator)
    return signature if tag is None else signature.replaced(name=f"{signature.name}.{tag}", alternative=tag)


def renamed(written: Sequence[Signature]) -> list[Signature]:
    """Return signatures as they were written, of one source, with the names of alternatives."""
    names = [signature.name for signature in written]
    found = tags(written, dict.fromkeys(name for name in names if names.count(name) > 1))
    return [as_alternative(signature, found) for signature in written]
