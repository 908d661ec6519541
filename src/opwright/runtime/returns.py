"""The form in which an operator returns its results.

One result is returned as such, several as a tuple, and those in square brackets as a list. An operator that says which
of its arguments it returns, ``-> (x)``, has no results of its own. The form with residuals has always a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.signature import Signature


def pack(signature: Signature, results: Sequence[Any], arguments: Sequence[Any]) -> Any:
    """Return results in the form that callers get; `arguments`: those of the signature, in its order."""
    if signature.returned:
        results = [arguments[place] for place in returned_places(signature)]
    elif signature.listed:
        return list(results)
    if len(results) == 1:
        return results[0]
    return tuple(results) if results else None


def unpack(signature: Signature, answer: Any) -> tuple[Any, ...]:
    """Return the results of the operator's own as a tuple: the inverse of `pack`."""
    if signature.returned:
        return ()
    if len(signature.outputs) == 1 and not signature.listed:
        return (answer,)
    return tuple(answer) if signature.outputs else ()


def returned_places(signature: Signature) -> list[int]:
    """Return the places of the arguments that an operator returns."""
    names = [param.name for param in signature.inputs]
    return [names.index(name) for name in signature.returned]


def returns_first(signature: Signature) -> bool:
    """Return whether an operator overwrites its first argument alone, and returns it, which graphs can have."""
    names = [tensor.name for tensor in signature.mutated]
    return bool(names) and list(signature.returned) == names == [param.name for param in signature.inputs[:1]]


def is_traceable(signature: Signature) -> bool:
    """Return whether PyTorch can put the operator into a graph.

    Beside arguments that it overwrites, results have to be new tensors, each by itself. PyTorch 2.13 takes one that
    returns its first argument, too.
    """
    if not signature.mutated:
        return True
    if signature.returned:
        return returns_first(signature) and hasattr(torch.Tag, "inplace")
    return not signature.listed and not any(output.is_count or output.condition for output in signature.outputs)


def without_results(op: Callable[..., Any]) -> Callable[..., None]:
    """Return a function that calls `op` for what it overwrites."""

    def call(*args: Any, **kwargs: Any) -> None:
        op(*args, **kwargs)

    return call


def is_plain(signature: Signature) -> bool:
    """Return whether results are returned as such, or as a tuple."""
    return not (signature.returned or signature.listed)


def returning(rule: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a fake kernel whose results have the operator's form; `rule` returns one as such, several as a tuple."""
    if is_plain(signature):
        return rule

    def kernel(*args: Any, **kwargs: Any) -> Any:
        answer = rule(*args, **kwargs)
        results = answer if isinstance(answer, tuple) else () if answer is None else (answer,)
        return pack(signature, results, _with_named(signature, args, kwargs))

    return kernel


def returning_batches(rule: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a batching rule whose results, and their batch axes, have the operator's form."""
    if is_plain(signature):
        return rule

    def batched(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        answer, axes = rule(info, in_dims, *args, **kwargs)
        if signature.listed and not isinstance(answer, tuple | list):
            answer, axes = (answer,), (axes,)
        given, dims = _with_named(signature, args, kwargs), [*in_dims, *[None] * len(kwargs)]
        if signature.returned:  # what the rule has made of them isn't needed
            answer = axes = ()
        return pack(signature, answer, given), pack(signature, axes, dims)

    return batched


def _with_named(signature: Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    return [*args, *(kwargs.get(param.name) for param in signature.inputs[len(args) :])]
