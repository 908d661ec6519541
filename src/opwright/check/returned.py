"""What an operator or its reference returns, and whether that is what the signature says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from opwright.check.report import Finding
from opwright.signature import DType, Signature


class BadReferenceError(Exception):
    """A reference raises, or gives no results of the kind that its operator's signature says: it can't judge."""


class WrongResultsError(Exception):
    """An operator returns another number of results than its signature says, or no tensors."""


def of_operator(made: Any, signature: Signature, overwritten: Sequence[Any] = ()) -> tuple[torch.Tensor, ...]:
    """An operator's results, as many as its signature says.

    Args:
        made: what it returned; an operator that works in place, as PyTorch's, may return what it has overwritten.
        signature: its own.
        overwritten: the arguments that it overwrites.

    Raises:
        WrongResultsError: there are more or fewer, or they are no tensors.
    """
    results, count = as_tuple(made), len(signature.outputs)
    if len(results) > count:
        results = tuple(result for result in results if not any(result is each for each in overwritten))
    if len(results) == count and all(isinstance(result, torch.Tensor) for result in results):
        return results
    raise WrongResultsError(f"{signature.name} returned {_in_words(made)}, expected {names_of(signature)}")


def other_type(signature: Signature, results: Sequence[torch.Tensor], types: Mapping[str, DType]) -> Finding | None:
    """A result of an operator whose element type isn't the signature's; `types`: what type variables stand for."""
    for output, result in zip(signature.outputs, results, strict=False):  # behind them stands what is overwritten
        if result.dtype != (expected := getattr(torch, output.type.resolve(types).torch_name)):
            return Finding("wrong-dtype", f"{output.name} is {_short(result.dtype)}, expected {_short(expected)}")
    return None


def of_reference(reference: Any, signature: Signature, given: Sequence[Any], written: int = 0) -> tuple[Any, ...]:
    """What a reference returns: as many tensors as the operator, or `written` more, which it overwrites.

    Raises:
        BadReferenceError: it raises, or returns something else.
    """
    name = getattr(reference, "__name__", None) or repr(reference).partition("\n")[0]
    said = f"the reference {name}, called with {called_with(signature, given)},"
    try:
        made = reference(*given)
    except Exception as error:
        raise BadReferenceError(f"{said} raised {type(error).__name__}: {error}") from error
    results, count = as_tuple(made), len(signature.outputs)
    if len(results) in (count, count + written) and all(isinstance(result, torch.Tensor) for result in results):
        return results
    fix = "\n  likely fix: it has no `return`" if made is None else ""
    raise BadReferenceError(f"{said} returned {_in_words(made)}, expected {names_of(signature)}{fix}")


def as_tuple(made: Any) -> tuple[Any, ...]:
    """A function's result as a tuple: of tensors, where the function does as it should."""
    if made is None:
        return ()
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def names_of(signature: Signature) -> str:
    """The results that a signature names, in words."""
    names = [output.name for output in signature.outputs]
    tensors = "1 tensor" if len(names) == 1 else f"{len(names)} tensors"
    return f"{tensors}, {', '.join(names)}" if names else "nothing"


def called_with(signature: Signature, given: Sequence[Any]) -> str:
    """A call's arguments in words: names, element types and shapes, or values."""
    names = [param.name for param in signature.inputs]
    return ", ".join(f"{name}: {_argument(value)}" for name, value in zip(names, given, strict=False)) or "nothing"


def _in_words(made: Any) -> str:
    if isinstance(made, (tuple, list)):
        return f"{len(made)} results ({', '.join(type(each).__name__ for each in made) or 'none'})"
    return "None" if made is None else "1 tensor" if isinstance(made, torch.Tensor) else f"a {type(made).__name__}"


def _argument(value: Any) -> str:
    return f"{_short(value.dtype)} of shape {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
