"""Lists of tensors: which have the same length, and the signature of a call, in which each tensor is named.

A call of ``f(xs: list[T[each N]]) -> (ys: list[T[each N]])`` with three tensors is one of
``f(xs[0]: T[N[0]], xs[1]: T[N[1]], xs[2]: T[N[2]]) -> (ys[0]: T[N[0]], ...)``: the checks of calls, shapes, samples and
derivatives know this form only, and an error names ``xs[2]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from opwright.record import record
from opwright.signature.binding import Report
from opwright.signature.expr import Axis, Each, Shape, renamed
from opwright.signature.model import Signature
from opwright.signature.parameters import Param, TensorParam

_LEADING = "..."
_MOST_REMEMBERED = 256


@record
class Groups:
    """The lists of a signature that have the same length, because they share an axis that each tensor has for itself.

    Attributes:
        count: how many groups there are.
        of: the group of each list, by name and whether it is a result; -1 for one that nothing tells the length of.
        axes: the group of each such axis; that of ``each ...`` is called ``...``.
    """

    count: int
    of: Mapping[tuple[str, bool], int]
    axes: Mapping[str, int]


@record
class Lengths:
    """The lengths of a call's lists, one for each group; and how many axes ``each ...`` is, of each tensor."""

    counts: tuple[int, ...]
    ranks: tuple[int, ...] = ()


def own_axes(param: TensorParam) -> frozenset[str]:
    """Return the axes that each tensor of a list has for itself; ``...`` for ``each ...``."""
    names = {name for dim in param.dims if isinstance(dim, Each) for name in dim.names()}
    return frozenset(names | ({_LEADING} if param.shape is not None and param.shape.each_leading else set()))


def groups(sig: Signature) -> Groups:
    """Return which lists have the same length.

    Results without such an axis have the length of the arguments' lists, if these have one.
    """
    inputs = [(tensor.name, False, own_axes(tensor)) for tensor in sig.tensors if tensor.listed]
    results = [(tensor.name, True, own_axes(tensor)) for tensor in sig.results if tensor.listed]
    scalars = {*sig.ints, *sig.computed}
    joined: list[tuple[set[tuple[str, bool]], set[str]]] = []
    for name, is_result, axes in inputs + [entry for entry in results if entry[2]]:
        own = axes - scalars
        same = [group for group in joined if group[1] & own]
        members, together = {(name, is_result)}, set(own)
        for group in same:
            members |= group[0]
            together |= group[1]
        place = joined.index(same[0]) if same else len(joined)
        joined = [group for group in joined if group not in same[1:]]
        joined[place : place + 1] = [(members, together)]
    of = {member: number for number, group in enumerate(joined) for member in group[0]}
    of_axes = {axis: number for number, group in enumerate(joined) for axis in group[1]}
    of_arguments = {of[name, False] for name, _, _ in inputs}
    only = next(iter(of_arguments)) if len(of_arguments) == 1 else -1
    return Groups(len(joined), {**{(name, True): only for name, _, own in results if not own}, **of}, of_axes)


def lengths_of(sig: Signature, values: Sequence[Any]) -> Lengths:
    """Return the lengths of the lists in a call.

    Args:
        sig: the signature.
        values: the arguments in order; of a list, something with a ``shape`` (or None) for each tensor.

    Raises:
        ArgumentError: lists that have the same length have two; or of ``each ...`` the numbers of axes differ.
    """
    found = groups(sig)
    counts, origins, ranks = dict[int, int](), dict[int, str](), dict[int, tuple[int, str]]()
    for param, value in zip(sig.inputs, values, strict=False):
        if not (isinstance(param, TensorParam) and param.listed):
            continue
        group, length = found.of[param.name, False], len(value)
        if counts.setdefault(group, length) != length:
            raise Report(sig).error(_two_lengths(param, length, origins[group], counts[group], found))
        origins.setdefault(group, param.name)
        if param.shape is not None and param.shape.each_leading:
            for place, tensor in enumerate(value):
                _learn_rank(sig, param, place, tensor, ranks)
    # A group that no argument tells has no tensors: its results are a backward's without arguments.
    return Lengths(tuple(counts.get(g, 0) for g in range(found.count)), tuple(ranks[p][0] for p in sorted(ranks)))


def _learn_rank(sig: Signature, param: TensorParam, place: int, tensor: Any, ranks: dict[int, tuple[int, str]]) -> None:
    name, axes = f"{param.name}[{place}]", len(param.dims)
    rank = 0 if tensor is None else len(tensor.shape) - axes
    if rank < 0:
        expected = f"{param.shape}: at least {axes} {'axis' if axes == 1 else 'axes'}"
        raise Report(sig).error(f"{name} has shape {_shown(tensor)}, expected {expected}")
    known, origin = ranks.setdefault(place, (rank, name))
    if known != rank:
        expected = f"{known} {'axis' if known == 1 else 'axes'} for 'each ...', as {origin} has, not {rank}"
        raise Report(sig).error(f"{name} has shape {_shown(tensor)}, expected {expected}")


def _shown(tensor: Any) -> str:
    return str(tuple(tensor.shape))


def _two_lengths(param: TensorParam, length: int, other: str, expected: int, found: Groups) -> str:
    shared = [axis for axis, group in found.axes.items() if group == found.of[param.name, False]]
    why = f": both have each {', each '.join(sorted(shared))}" if shared else ""
    return f"{param.name} has {length} tensor{'s' * (length != 1)}, expected {expected}, as {other} has{why}"


class Elements(Signature):
    """The signature of a call, with the tensors of lists; ``str()`` is the notation of the signature with the lists.

    Attributes:
        of: the signature with the lists.
        lengths: the lengths of the lists.
        input_counts: for each input of `of`, the length of the list, or None for what is no list.
        result_counts: the same for the results.
    """

    of: Signature
    lengths: Lengths
    input_counts: tuple[int | None, ...]
    result_counts: tuple[int | None, ...]

    def __str__(self) -> str:
        """Return the notation with the lists."""
        return str(self.of)


def elements(sig: Signature, lengths: Lengths) -> Elements:
    """Return the signature of a call with lists of these lengths; the last ones are remembered."""
    key, known = (lengths.counts, lengths.ranks), vars(sig).setdefault("_calls", {})
    if key not in known:
        while len(known) >= _MOST_REMEMBERED:
            known.pop(next(iter(known)), None)
        known[key] = _expanded(sig, lengths)
    found: Elements = known[key]
    return found


def _expanded(sig: Signature, lengths: Lengths) -> Elements:
    found = groups(sig)

    def count(tensor: TensorParam, is_result: bool) -> int | None:
        return lengths.counts[found.of[tensor.name, is_result]] if tensor.listed else None

    def members(param: Param, is_result: bool) -> Iterable[Any]:
        if not (isinstance(param, TensorParam) and param.listed):
            return (param,)
        return (_element(param, place, found, lengths) for place in range(count(param, is_result) or 0))

    outputs = tuple(chain.from_iterable(members(tensor, True) for tensor in sig.outputs))
    residuals = tuple(chain.from_iterable(members(tensor, True) for tensor in sig.residuals))
    made = Elements(
        sig.name,
        tuple(chain.from_iterable(members(param, False) for param in sig.inputs)),
        outputs,
        residuals,
        sig.where,
        sig.batched,
        sig.autocast,
        sig.flops,
        sig.launch,
        sig.named_sizes,
        sig.combinations,
        alternative=sig.alternative,
    )
    counts = tuple(count(param, False) if isinstance(param, TensorParam) else None for param in sig.inputs)
    result_counts = tuple(count(tensor, True) for tensor in sig.results)
    vars(made).update(of=sig, lengths=lengths, input_counts=counts, result_counts=result_counts)
    return made


def _element(param: TensorParam, place: int, found: Groups, lengths: Lengths) -> TensorParam:
    assert param.shape is not None  # noqa: S101 - lists have shapes
    names = {axis: f"{axis}[{place}]" for axis in found.axes}
    leading = lengths.ranks[place] if param.shape.each_leading else 0
    dims = [Axis(f"...[{place}][{axis}]") for axis in range(leading)]
    own = (renamed(dim.expr, names) if isinstance(dim, Each) else dim for dim in param.dims)
    shape = Shape(param.shape.ellipsis, (*dims, *own))
    return TensorParam(f"{param.name}[{place}]", param.type, shape, mutated=param.mutated)


def flat(counts: Sequence[int | None], values: Iterable[Any]) -> Iterator[Any]:
    """Yield values with the elements of lists in their place; a list that is empty against its count has Nones."""
    for count, value in zip(counts, values, strict=False):
        if count is None:
            yield value
        else:
            yield from value or [None] * count


def packed(counts: Sequence[int | None], values: Iterable[Any]) -> Iterator[Any]:
    """Yield values with lists of elements: the inverse of `flat`. A list of Nones becomes an empty one."""
    rest = iter(values)
    for count in counts:
        if count is None:
            yield next(rest)
        else:
            members = list(islice(rest, count))
            yield members if any(member is not None for member in members) else []


def split_call(sig: Signature, values: Sequence[Any]) -> tuple[Elements, list[Any]]:
    """Return the signature of a call and its arguments, each tensor one; those after the inputs stay as they are.

    Raises:
        ArgumentError: see `lengths_of`.
    """
    made = elements(sig, lengths_of(sig, values))
    inputs = len(sig.inputs)
    return made, [*flat(made.input_counts, values[:inputs]), *values[inputs:]]


def pack_call(sig: Elements, values: Sequence[Any]) -> list[Any]:
    """Return arguments as the operator takes them: the inverse of `split_call`."""
    inputs = len(sig.inputs)
    return [*packed(sig.input_counts, values[:inputs]), *values[inputs:]]
