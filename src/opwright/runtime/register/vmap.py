"""The batching rules of operators in Python, for ``torch.vmap``; the native runtime has those of most (csrc/vmap).

Pointwise and batched operators need one call, with the batch axis before the leading axes. This is exact: the result of
such an operator for one index of the leading axes depends on nothing else. So is one call with the batch before the
slices along an independent axis, if all that has the batch has the axis. Otherwise the signature doesn't guarantee
independence: there is one call for each element of the batch, as in torch's own fallback, but without its warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from opwright.errors import UnsupportedError
from opwright.runtime.binding import TORCH_TYPES, bind_call, check_sizes, leading, tensor_info
from opwright.runtime.messages import OVERWRITTEN_WITHOUT_BATCH
from opwright.runtime.returns import pack
from opwright.runtime.tensor_lists import ListConvention
from opwright.runtime.torch_internals import OpOverload, VmapLevel
from opwright.signature import Signature, TensorInfo, TensorParam
from opwright.signature.clauses.independent import Slices, slices
from opwright.signature.tensor_lists.calls import elements, flat, lengths_of, packed

Call = Callable[..., Any]


class _Vmap(NamedTuple):
    """The settings of a ``torch.vmap`` around a call."""

    randomness: str
    batch_size: int
    in_dims: Sequence[int | None]


def looped(op: Call, signature: Signature, fake: Call) -> Call:
    """Return the batching rule of `op`, for ``torch.library.register_vmap``."""

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _loop(op, fake, signature, _Vmap(info.randomness, info.batch_size, in_dims), args, kwargs)

    return rule


def folded(op: Call, signature: Signature, axes: Sequence[str], otherwise: Call) -> Call:
    """Return the batching rule of an operator with independent axes; `axes`: axes that its schema takes.

    The batch goes before the slices along an axis that all batched arguments and all wanted results have. If there is
    none, the rule is `otherwise`.
    """
    along = () if signature.mutated else slices(signature)

    def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Call the operator once, if an axis takes the batch."""
        places = [i for i, param in enumerate(signature.inputs) if isinstance(param, TensorParam)]
        batched_places = [i for i in places if i < len(args) and isinstance(in_dims[i], int)]
        mask = args[-1] if args and isinstance(args[-1], list) else None
        for each in along:
            found = dict(zip(places, each.inputs, strict=True))
            wanted = [place for i, place in enumerate(each.results) if mask is None or i >= len(mask) or mask[i]]
            if all(found[i] for i in batched_places) and all(wanted):
                return _folded(op, info, each, found, _Folding(signature, axes, in_dims, args, kwargs))
        results, dims = otherwise(info, in_dims, *args, **kwargs)
        return results, dims

    return rule


class _Folding(NamedTuple):
    """A call whose batch becomes part of an axis."""

    signature: Signature
    axes: Sequence[str]
    in_dims: Sequence[Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]


def _folded(op: Call, info: Any, along: Slices, places: Mapping[int, int], call: _Folding) -> tuple[Any, Any]:
    values, size, number = list(call.args), info.batch_size, 0
    for i, place in places.items():
        if not place or i >= len(values) or values[i] is None:
            continue
        tensor, dim = values[i], call.in_dims[i]
        before = tensor.dim() - place - isinstance(dim, int)
        if isinstance(dim, int):
            tensor = tensor.movedim(dim, before)
        else:
            shape = [*tensor.shape[:before], size, *tensor.shape[before:]]
            tensor = tensor.unsqueeze(before).expand(shape)
        number = tensor.shape[before + 1]
        values[i] = tensor.reshape([*tensor.shape[:before], size * number, *tensor.shape[before + 2 :]])
    for i, axis in enumerate(call.axes, len(call.signature.inputs)):
        if axis == along.axis:
            number, values[i] = values[i], size * values[i]
    results = op(*values, **call.kwargs)
    several = isinstance(results, tuple | list)
    made, dims = [], []
    for result, place in zip(results if several else [results], along.results, strict=False):
        before = None if result is None else result.dim() - place
        dims.append(before)
        made.append(result if before is None else result.unflatten(before, (size, number)))
    return (tuple(made), tuple(dims)) if several else (made[0], dims[0])


class _Logical(NamedTuple):
    """What one call sees of a tensor: its shape without the batch axis."""

    shape: tuple[int, ...]


def over_lists(op: OpOverload, signature: Signature, fake: Call, convention: ListConvention) -> Call:
    """Return the batching rule of an operator with lists of tensors: one call for each element of the batch."""

    def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Call the operator for each element of the batch."""
        names = [param.name for param in signature.inputs]
        values = [*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs)]
        dims = [*in_dims, *[None] * (len(values) - len(in_dims))]
        made = elements(signature, lengths_of(signature, [_logical(*pair) for pair in zip(values, dims, strict=True)]))
        given, rest = values[: len(names)], values[len(names) :]
        tensors = [*flat(made.input_counts, given), *rest]
        flat_dims = [*flat(made.input_counts, dims[: len(names)]), *dims[len(names) :]]

        def of(call: Call) -> Call:
            """Return `call` with each tensor as an argument; sizes and the mask stay as they are."""
            inputs = len(made.inputs)
            return lambda *each: tuple(
                convention.split_results(made, call(*packed(made.input_counts, each[:inputs]), *each[inputs:]))
            )

        vmap = _Vmap(info.randomness, info.batch_size, flat_dims)
        results, result_dims = _loop(of(op), of(fake), made, vmap, tensors, {})
        if results is None:
            return None, None
        return convention.join_results(made, results), convention.join_results(made, result_dims)

    return rule


def _logical(value: Any, dim: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _Logical(tuple(size for axis, size in enumerate(value.shape) if axis != dim))
    is_list = isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor)
    return [_logical(*pair) for pair in zip(value, dim or [None] * len(value), strict=True)] if is_list else value


def drawing(op: OpOverload, signature: Signature, fake: Call, *, public: bool) -> Call:
    """Return the kernel of a random operator for the dispatch key that vmap makes active for any arguments.

    A batching rule is called only if an argument has the batch axis. But even without one, ``randomness=`` specifies
    whether each element of the batch draws separately. PyTorch's own random operators have a kernel at this key, too.
    """

    def kernel(_keys: Any, *args: Any, **kwargs: Any) -> Any:
        """Draw for each element of the batch, or once, as ``randomness=`` says."""
        level = VmapLevel()
        plain, in_dims = zip(*map(level.without_axis, args), strict=True) if args else ((), ())
        vmap = _Vmap(level.randomness, level.batch_size, in_dims)
        results, dims = _loop(partial(op.redispatch, _outside_vmap()), fake, signature, vmap, plain, kwargs)
        several = isinstance(results, tuple)
        pairs = zip(results, dims, strict=True) if several else [(results, dims)] * (results is not None)
        made = tuple(level.with_axis(*pair) for pair in pairs)
        return pack(signature, made, args) if public else made if several else made[0]

    return kernel


def _outside_vmap() -> torch.DispatchKeySet:
    """Return the key through which a kernel leaves vmap: to the transform around it or to the device."""
    return torch.DispatchKeySet(torch.DispatchKey.FuncTorchDynamicLayerBackMode)


def _loop(
    call: Call, fake: Call, signature: Signature, vmap: _Vmap, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return the results of one call for each element of the batch, and their batch axes."""
    in_dims = vmap.in_dims

    # An argument without a batch axis has None for it; the output mask, a list, has a list of Nones.
    def at(index: int) -> Any:
        return call(
            *(a.select(d, index) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)), **kwargs
        )

    if vmap.randomness == "same" and not any(isinstance(dim, int) for dim in in_dims):  # all elements share one draw
        results = call(*args, **kwargs)
        return results, [None] * len(results) if isinstance(results, tuple) else None
    _check(signature, vmap, args)
    if vmap.batch_size == 0:
        one = [_one_of_none(a, d) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)]
        recorded = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in one)
        return _stacked([(call if recorded else fake)(*one, **kwargs)], 0, signature)
    again = _again(signature, vmap.randomness, [*args, *kwargs.values()])
    return _stacked([again(at, index) for index in range(vmap.batch_size)], vmap.batch_size, signature)


def _check(signature: Signature, vmap: _Vmap, args: Sequence[Any]) -> None:
    """Refuse the calls that torch.vmap also refuses for PyTorch's own operators."""
    if signature.generator and vmap.randomness == "error":
        raise UnsupportedError(
            f"{signature.shown_name}(): vmap over a random operator has to be told what to draw\n"
            "  likely fix: vmap(..., randomness='different'), or 'same'"
        )
    if signature.counts:
        name = signature.counts[0].name
        raise UnsupportedError(
            f"{signature.shown_name}(): vmap can't stack counts, and each element of the batch has its own {name}\n"
            f"  likely fix: a loop in Python over the batch, or a tensor in the signature: {name}: i64[]"
        )
    check_overwritten(signature, vmap.in_dims, args)


def check_overwritten(signature: Signature, in_dims: Sequence[int | None], args: Sequence[Any]) -> None:
    """Refuse to overwrite an argument that has no batch axis."""
    for param, arg, dim in zip(signature.inputs, args, in_dims, strict=False):
        if param in signature.mutated and arg is not None and dim is None:
            raise UnsupportedError(OVERWRITTEN_WITHOUT_BATCH.format(name=signature.shown_name, argument=param.name))


def _again(signature: Signature, randomness: str, args: Sequence[Any]) -> Callable[[Callable[[int], Any], int], Any]:
    """Return a function that makes one call of the loop.

    With ``randomness='same'``, it first restores the generator's state, so that all calls draw the same numbers.
    """
    if not signature.generator or randomness != "same":
        return lambda call, index: call(index)
    generator = next((arg for arg in args if isinstance(arg, torch.Generator)), torch.default_generator)
    state = generator.get_state()

    def call_again(call: Callable[[int], Any], index: int) -> Any:
        generator.set_state(state)
        return call(index)

    return call_again


def _one_of_none(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return zeros with the shape of one element of an empty batch, and its history."""
    if tensor.requires_grad:
        return tensor.sum(dim)
    return tensor.new_zeros([size for d, size in enumerate(tensor.shape) if d != dim])


def _stacked(results: list[Any], size: int, signature: Signature) -> tuple[Any, Any]:
    if results[0] is None or results[0] == ():  # an operator that only overwrites
        return None, None
    single = not isinstance(results[0], tuple | list)
    rows = [[r] for r in results] if single else [list(r) for r in results]
    columns = list(zip(*rows, strict=True))
    lengths = {tuple(r.shape) for r in columns[0] if r is not None}
    if signature.data_axes and len(lengths) > 1:
        listed = ", ".join(map(str, sorted(lengths)))
        raise UnsupportedError(
            f"{signature.shown_name}(): vmap can't stack results of different lengths, {listed}\n"
            "  likely fix: a loop in Python over the batch"
        )
    stacked = [None if column[0] is None else torch.stack(column)[:size] for column in columns]
    dims = [None if column is None else 0 for column in stacked]
    return (stacked[0], dims[0]) if single else (tuple(stacked), tuple(dims))


class _Operand(NamedTuple):
    """A tensor argument of one call, and its axis that vmap maps over, if any."""

    place: int
    param: TensorParam
    tensor: torch.Tensor
    dim: int | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes without the batch axis."""
        return tuple(size for axis, size in enumerate(self.tensor.shape) if axis != self.dim)


def batched(op: OpOverload, signature: Signature, axes: Sequence[str]) -> Callable[..., Any]:
    """Return the batching rule of `op`, for ``torch.library.register_vmap``; `axes`: axes that its schema takes."""

    def rule(_info: Any, in_dims: Sequence[int | None], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Call the operator once, with the batched axis as a further leading axis."""
        check_overwritten(signature, in_dims, args)
        parameters = zip(range(len(args)), signature.inputs, args, in_dims, strict=False)
        operands = [
            _Operand(i, p, t, dim) for i, p, t, dim in parameters if isinstance(p, TensorParam) and t is not None
        ]
        known_axes = dict(zip(axes, args[len(signature.inputs) :], strict=False))
        casts = _casts(signature, operands, known_axes)
        rank = max(len(leading(operand.param, operand.shape)) for operand in operands)
        values = list(args)
        for operand in operands:
            tensor = operand.tensor.to(casts.get(operand.param.name, operand.tensor.dtype))
            values[operand.place] = _batch_first(tensor, operand, rank)
        results = op(*values, **kwargs)
        if isinstance(results, tuple | list):
            return results, tuple(None if result is None else 0 for result in results)
        return results, None if results is None else 0

    return rule


def _casts(signature: Signature, operands: Sequence[_Operand], axes: dict[str, int]) -> dict[str, torch.dtype]:
    """Return the element types to cast arguments to, by name.

    Without a cast, type promotion would change: a 0-dim tensor has one axis more with the batch axis.

    Raises:
        ArgumentError: the call doesn't fit the signature; the message shows the shapes without the batch axis.
    """
    infos: dict[str, TensorInfo | None] = {
        o.param.name: tensor_info(signature, o.param.name, o.tensor, o.shape) for o in operands
    }
    types = bind_call(signature, infos, axes=axes, check=check_sizes).types
    if not signature.pointwise:
        return {}
    free = [o.param for o in operands if o.param.type.kind == "var" and not o.param.mutated]
    mixed = {
        variable
        for variable in types
        if len({o.tensor.dtype for o in operands if (o.param.type.kind, o.param.type.name) == ("var", variable)}) > 1
    }
    return {param.name: TORCH_TYPES[types[param.type.name]] for param in free if param.type.name in mixed}


def _batch_first(tensor: torch.Tensor, operand: _Operand, rank: int) -> torch.Tensor:
    """Move the batch axis to the front, and pad the leading axes to `rank` axes."""
    if operand.dim is None:
        return tensor
    moved = tensor.movedim(operand.dim, 0)
    missing = rank - len(leading(operand.param, operand.shape))
    return moved[(slice(None),) + (None,) * missing] if missing else moved
