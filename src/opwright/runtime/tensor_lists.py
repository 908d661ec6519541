"""Arguments and results that are lists, as PyTorch passes them, and each of their tensors, as kernels are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError
from opwright.runtime import messages
from opwright.runtime.arguments import check_mask
from opwright.signature import Signature, TensorParam
from opwright.signature.tensor_lists.calls import Elements, flat, pack_call, packed, split_call


class ListConvention:
    """How an operator with lists of tensors takes its arguments and returns its results."""

    def __init__(self, signature: Signature, *, residuals: bool, mask: bool) -> None:
        """Describe an operator; `residuals`: it also returns the residuals; `mask`: it takes an output mask."""
        self.signature, self._mask = signature, mask
        self._returned = len(signature.results if residuals else signature.outputs)

    def split(self, values: Sequence[Any]) -> tuple[Elements, list[Any]]:
        """Return the signature of a call, and its arguments, each tensor one; the mask has an element for each result.

        Raises:
            ArgumentError: the lengths of lists don't fit, or there is no tensor.
        """
        refuse_nested(self.signature, values)
        made, given = split_call(self.signature, values)
        if not any(isinstance(value, torch.Tensor) for value in given):
            raise ArgumentError(messages.EMPTY_LISTS.format(name=self.signature.shown_name))
        if self._mask:
            check_mask(self.signature, given[-1])
            outputs = made.result_counts[: len(self.signature.outputs)]
            given[-1] = [want for want, n in zip(given[-1], outputs, strict=True) for _ in range(1 if n is None else n)]
        return made, given

    def join(self, made: Elements, values: Sequence[Any]) -> list[Any]:
        """Return arguments as the operator takes them: the inverse of `split`."""
        given = pack_call(made, values)
        if self._mask:
            outputs = made.result_counts[: len(self.signature.outputs)]
            wanted = [each if isinstance(each, list) else [each] for each in packed(outputs, given[-1])]
            counts = [1 if n is None else n for n in outputs]
            given[-1] = [not n or any(each) for each, n in zip(wanted, counts, strict=True)]
        return given

    def split_results(self, made: Elements, answer: Any) -> list[Any]:
        """Return the tensors of what the operator returned."""
        results = [answer] if self._returned == 1 else list(answer) if self._returned else []
        return list(flat(made.result_counts[: self._returned], results))

    def join_results(self, made: Elements, results: Sequence[Any]) -> Any:
        """Return results as the operator returns them: the inverse of `split_results`."""
        joined = list(packed(made.result_counts[: self._returned], results))
        if len(joined) == 1:
            return joined[0]
        return tuple(joined) if joined else None


def refuse_nested(signature: Signature, values: Sequence[Any]) -> None:
    """Raise ArgumentError for the first nested tensor among a call's arguments; there is no one shape for it."""
    for param, value in zip(signature.inputs, values, strict=False):
        listed = isinstance(param, TensorParam) and param.listed
        for place, tensor in enumerate(value if listed else [value]):
            if isinstance(tensor, torch.Tensor) and tensor.is_nested:
                argument = f"{signature.shown_name}(): {param.name}{f'[{place}]' if listed else ''}"
                raise ArgumentError(messages.NOT_DENSE.format(argument=argument, layout="nested", fix="to_dense()"))


def over_elements(
    signature: Signature, rule: Callable[[Elements], Callable[..., Any]], *, residuals: bool, mask: bool
) -> Callable[..., Any]:
    """Return a function with the arguments of an operator with lists.

    It calls ``rule(elements)``, which takes the arguments of a call, each tensor one, and returns the results likewise.
    """
    convention = ListConvention(signature, residuals=residuals, mask=mask)
    defaults = {scalar.name: scalar.default for scalar in signature.scalars}

    def kernel(*args: Any, **kwargs: Any) -> Any:
        """Split the lists among the arguments, and join those among the results."""
        names = [param.name for param in signature.inputs]
        values = list(args)
        values += [kwargs[name] if name in kwargs else defaults.get(name) for name in names[len(args) :]]
        if mask and (len(args) <= len(names) or not isinstance(args[-1], list)):
            values.append(kwargs.get("output_mask", [True] * len(signature.outputs)))
        made, given = convention.split(values)
        answer = rule(made)(*given)
        results = list(answer) if isinstance(answer, tuple) else [] if answer is None else [answer]
        return convention.join_results(made, results)

    return kernel
