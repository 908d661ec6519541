"""vmap for operators whose signature says nothing about independence: one call for each element of the batch.

The same as torch's own fallback, without its warning: there is no faster rule that would be sound (rule 6).
Pointwise and batched operators have one: :mod:`opwright.runtime.batching`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from opwright.errors import UnsupportedError
from opwright.signature import Signature

Call = Callable[..., Any]


class _Vmap(NamedTuple):
    """What ``torch.vmap`` asks of an operator."""

    randomness: str
    batch_size: int
    in_dims: Sequence[int | None]


def looped(op: torch._ops.OpOverload, signature: Signature, fake: Call) -> Call:
    """The batching rule of `op`, for ``torch.library.register_vmap``."""

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _loop(op, fake, signature, _Vmap(info.randomness, info.batch_size, in_dims), args, kwargs)

    return rule


def drawing(op: torch._ops.OpOverload, signature: Signature, fake: Call) -> Call:
    """The kernel of a random operator at the key that is met inside vmap whatever the arguments are.

    A batching rule is asked only where an argument has the batch axis; without one, too, ``randomness=`` says whether
    each element of the batch draws for itself. PyTorch's own random operators have a kernel there as well.
    """

    def kernel(_keys: Any, *args: Any, **kwargs: Any) -> Any:
        from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

        now: Any = retrieve_current_functorch_interpreter()
        level = now.level()
        plain, in_dims = zip(*(_without_axis(arg, level) for arg in args), strict=True) if args else ((), ())
        vmap = _Vmap(now.randomness(), now.batch_size(), in_dims)
        results, dims = _loop(partial(op.redispatch, _outside_vmap()), fake, signature, vmap, plain, kwargs)
        if not isinstance(results, tuple):
            return _with_axis(results, dims, level)
        return tuple(_with_axis(result, dim, level) for result, dim in zip(results, dims, strict=True))

    return kernel


def _outside_vmap() -> torch._C.DispatchKeySet:
    """The key through which a kernel of vmap's leaves it: to the transform around it or, at last, to the device."""
    return torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchDynamicLayerBackMode)  # noqa: SLF001


def _without_axis(value: Any, level: int) -> tuple[Any, int | None]:
    """A tensor without the batch axis of the vmap at that level, and where the axis was; None if it has none."""
    if not isinstance(value, torch.Tensor):
        return value, None
    tensor, dim = torch._C._functorch._unwrap_batched(value, level)  # noqa: SLF001
    return tensor, dim


def _with_axis(value: Any, dim: int | None, level: int) -> Any:
    return value if dim is None else torch._C._functorch._add_batch_dim(value, dim, level)  # noqa: SLF001


def _loop(
    call: Call, fake: Call, signature: Signature, vmap: _Vmap, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """The results of one call for each element of the batch, and their batch axes."""
    in_dims = vmap.in_dims

    # An argument without a batch axis has None for it; the output mask, a list, has a list of Nones.
    def at(index: int) -> Any:
        return call(
            *(a.select(d, index) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)), **kwargs
        )

    if vmap.randomness == "same" and not any(isinstance(dim, int) for dim in in_dims):  # what all share
        results = call(*args, **kwargs)
        return results, [None] * len(results) if isinstance(results, tuple) else None
    _check(signature, vmap, args)
    if vmap.batch_size == 0:
        one = [_one_of_none(a, d) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)]
        return _stacked([fake(*one, **kwargs)], 0, signature)
    again = _again(signature, vmap.randomness, [*args, *kwargs.values()])
    return _stacked([again(at, index) for index in range(vmap.batch_size)], vmap.batch_size, signature)


def _check(signature: Signature, vmap: _Vmap, args: Sequence[Any]) -> None:
    """What torch.vmap refuses of its own operators, too."""
    if signature.generator and vmap.randomness == "error":
        raise UnsupportedError(
            f"{signature.name}(): vmap over a random operator has to be told what to draw\n"
            "  likely fix: vmap(..., randomness='different'), or 'same'"
        )
    check_overwritten(signature, vmap.in_dims, args)


def check_overwritten(signature: Signature, in_dims: Sequence[int | None], args: Sequence[Any]) -> None:
    """UnsupportedError where something is overwritten that has no batch axis."""
    for param, arg, dim in zip(signature.inputs, args, in_dims, strict=False):
        if param in signature.mutated and arg is not None and dim is None:
            raise UnsupportedError(
                f"{signature.name}(): {param.name} is overwritten, but it isn't one of what vmap goes over: each call "
                f"would overwrite the one before\n  likely fix: give vmap a {param.name} with the batch axis, too"
            )


def _again(signature: Signature, randomness: str, args: Sequence[Any]) -> Callable[[Callable[[int], Any], int], Any]:
    """How to make one call of the loop: with ``randomness='same'`` each begins with the generator as it is now."""
    if not signature.generator or randomness != "same":
        return lambda call, index: call(index)
    given = next((arg for arg in args if isinstance(arg, torch.Generator)), torch.default_generator)
    state = given.get_state()

    def call_again(call: Callable[[int], Any], index: int) -> Any:
        given.set_state(state)
        return call(index)

    return call_again


def _one_of_none(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """An uninitialised tensor like one element of an empty batch: only its shape will be asked for."""
    return tensor.new_empty([size for d, size in enumerate(tensor.shape) if d != dim])


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
            f"{signature.name}(): vmap can't stack results of different lengths, {listed}\n"
            "  likely fix: a loop in Python over the batch"
        )
    stacked = [None if column[0] is None else torch.stack(column)[:size] for column in columns]
    dims = [None if column is None else 0 for column in stacked]
    return (stacked[0], dims[0]) if single else (tuple(stacked), tuple(dims))
