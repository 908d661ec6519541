"""vmap for operators whose signature says nothing about independence: one call for each element of the batch.

The same as torch's own fallback, without its warning: there is no faster rule that would be sound (rule 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.errors import UnsupportedError
from opwright.signature import Signature


def looped(op: torch._ops.OpOverload, signature: Signature, fake: Callable[..., Any]) -> Callable[..., Any]:
    """The batching rule of `op`, for ``torch.library.register_vmap``."""

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        # An argument without a batch axis has None for it; the output mask, a list, has a list of Nones.
        def at(index: int) -> Any:
            return op(
                *(a.select(d, index) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)), **kwargs
            )

        _check(signature, info.randomness, args, in_dims)
        if info.batch_size == 0:
            one = [_without(a, d) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)]
            return _stacked([fake(*one, **kwargs)], 0, signature)
        again = _again(signature, info.randomness, args)
        return _stacked([again(at, index) for index in range(info.batch_size)], info.batch_size, signature)

    return rule


def _check(signature: Signature, randomness: str, args: Sequence[Any], in_dims: Sequence[int | None]) -> None:
    """What torch.vmap refuses of its own operators, too."""
    name = signature.name
    if signature.generator and randomness == "error":
        raise UnsupportedError(
            f"{name}(): vmap over a random operator has to be told what to draw\n"
            "  likely fix: vmap(..., randomness='different'), or 'same'"
        )
    for param, arg, dim in zip(signature.inputs, args, in_dims, strict=False):
        if param in signature.mutated and arg is not None and dim is None:
            raise UnsupportedError(
                f"{name}(): {param.name} is overwritten, but it isn't one of what vmap goes over: each call would "
                f"overwrite the one before\n  likely fix: give vmap a {param.name} with the batch axis, too"
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


def _without(tensor: torch.Tensor, dim: int) -> torch.Tensor:
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
