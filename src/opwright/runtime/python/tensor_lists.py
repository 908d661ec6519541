"""Operators with lists of tensors: each call is one of an operator whose arguments are the tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.runtime import abi
from opwright.runtime.arguments import CallingConvention
from opwright.runtime.interface import KernelState
from opwright.runtime.python.autograd import Differentiable
from opwright.runtime.python.data_dependent import Lengths
from opwright.runtime.python.frame import Frame
from opwright.runtime.python.operators import Autocast, Build, Operator
from opwright.runtime.tensor_lists import ListConvention
from opwright.runtime.torch_internals import OpOverload, call_of
from opwright.signature import Binding, TensorParam
from opwright.signature.tensor_lists.calls import Elements
from opwright.signature.tensor_lists.derivatives import derivative_of_call
from opwright.signature.wiring import Derivative

_MOST_REMEMBERED = 256


class ListOperator(CallingConvention):
    """One operator of the dispatcher that takes or returns lists of tensors."""

    def __init__(self, kernel: KernelState, op: OpOverload, build: Build, *, residuals: bool, mask: bool) -> None:
        """Read the schema of `op`; `build` builds and publishes missing instances."""
        super().__init__(kernel, op, residuals=residuals, mask=mask)
        self.lists = ListConvention(self.signature, residuals=residuals, mask=mask)
        self.build, self.residuals = build, residuals
        self.missing: str | None = None
        self.call: Callable[..., Any] = call_of(op)
        self._calls: dict[Any, ElementsOperator] = {}

    def of(self, made: Elements) -> ElementsOperator:
        """Return the operator for calls with these lengths."""
        key = (made.lengths.counts, made.lengths.ranks)
        if key not in self._calls:
            while len(self._calls) >= _MOST_REMEMBERED:
                self._calls.pop(next(iter(self._calls)), None)
            self._calls[key] = ElementsOperator(self, made)
        return self._calls[key]

    def run(self, body: Callable[[ElementsOperator, list[Any]], Any], given: Sequence[Any], named: Any) -> Any:
        """Return what `body` returns for the operator of a call and its arguments, with the lists."""
        arguments = self.with_defaults(given, named)
        made, values = self.lists.split(arguments)
        op = self.of(made)
        answer = self.lists.join_results(made, op.unpack(body(op, values)))
        return answer if self.residuals or not self.signature.returned else self.pack((), arguments)

    def on_device(self, *given: Any, **named: Any) -> Any:
        """See `Operator.on_device`."""
        return self.run(lambda op, values: op.on_device(*values), given, named)

    def elsewhere(self, *given: Any, **named: Any) -> Any:
        """See `Operator.elsewhere`."""
        return self.run(lambda op, values: op.elsewhere(*values), given, named)

    def overwriting(self, keys: Any, *given: Any, **named: Any) -> Any:
        """See `Operator.overwriting`."""
        return self.run(lambda op, values: op.overwriting(keys, *values), given, named)

    def resolving(self, keys: Any, *given: Any, **named: Any) -> Any:
        """See `Operator.resolving`."""
        return self.run(lambda op, values: op.resolving(keys, *values), given, named)

    def autocast(self, *given: Any, **named: Any) -> Any:
        """Run the kernel of autocast's keys."""
        return self.run(lambda op, values: Autocast(op)(*values), given, named)


class _State:
    """The state of a kernel, with the signature of a call."""

    def __init__(self, of: KernelState, signature: Elements) -> None:
        self._of, self.signature = of, signature

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def key(self, *args: Any, **kwargs: Any) -> int:
        return self._of.key(*args, **kwargs)


class _Packing:
    """The dispatcher's operator, for arguments and results that are each tensor of the lists."""

    def __init__(self, op: ElementsOperator, of: ListOperator, made: Elements) -> None:
        self._op, self._of, self._made = op, of, made

    def redispatch(self, keys: Any, *values: Any) -> Any:
        """Call the operator's kernel for the keys."""
        answer = self._of.op.redispatch(keys, *self._of.lists.join(self._made, values))
        return self._op.pack(self._of.lists.split_results(self._made, answer), values)

    def __call__(self, *values: Any) -> Any:
        answer = self._of.call(*self._of.lists.join(self._made, values))
        return self._op.pack(self._of.lists.split_results(self._made, answer), values)


class ElementsOperator(Operator):
    """The operator of calls with lists of certain lengths: each tensor is an argument or a result."""

    def __init__(self, of: ListOperator, made: Elements) -> None:
        """Take over what `of` has; `made`: the signature of the calls."""
        state: Any = _State(of.kernel, made)
        self.kernel, self.signature, self.mask = state, made, of.mask
        self.returned, self._residuals = made.results if of.residuals else made.outputs, of.residuals
        packing: Any = _Packing(self, of, made)
        self.op = self.call = packing
        self.places = [i for i, param in enumerate(made.inputs) if isinstance(param, TensorParam)]
        self._build = lambda _, key: of.build(of.kernel, key)
        self._frame = ListFrame
        self.missing = of.missing

    def with_defaults(self, given: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Return the arguments, which are all given."""
        assert not named  # noqa: S101 - all are given by their place
        return list(given)


class ListDifferentiable:
    """The kernel at the Autograd key of an operator with lists."""

    def __init__(
        self,
        op: ListOperator,
        forward: ListOperator,
        backward: Operator | ListOperator | None,
        wiring: Derivative | None,
        *,
        node: str,
        missing: str,
    ) -> None:
        """Prepare; arguments as for `Differentiable`."""
        self._op, self._forward, self._backward, self._wiring = op, forward, backward, wiring
        self._names = {"node": node, "missing": missing}
        self._calls: dict[Any, Differentiable] = {}

    def __call__(self, keys: Any, *given: Any, **named: Any) -> Any:
        """Run the Autograd kernel, with the dispatch keys of the call."""
        return self._op.run(lambda op, values: self._of(op)(keys, *values), given, named)

    def _of(self, op: ElementsOperator) -> Differentiable:
        made = op.signature
        assert isinstance(made, Elements)  # noqa: S101 - made so
        key = (made.lengths.counts, made.lengths.ranks)
        if key not in self._calls:
            while len(self._calls) >= _MOST_REMEMBERED:
                self._calls.pop(next(iter(self._calls)), None)
            wiring = derivative_of_call(self._wiring, made) if self._wiring else None
            backward: Any = self._backward
            if isinstance(backward, ListOperator) and wiring:
                backward = backward.of(wiring.backward)  # type: ignore[arg-type]
            self._calls[key] = Differentiable(op, self._forward.of(made), backward, wiring, jvp=None, **self._names)
        return self._calls[key]


class ListFrame(Frame):
    """The tensors of one call, of which the kernel gets a list as one row that points to those of its tensors."""

    def __init__(self, signature: Any, call: Any, binding: Binding, returned: int, device: torch.device) -> None:
        """See `Frame`."""
        super().__init__(signature, call, binding, returned, device)
        of = signature.of
        params = zip(of.inputs, signature.input_counts, strict=True)
        self._counts = [count for param, count in params if isinstance(param, TensorParam)]
        self._counts += signature.result_counts
        self._firsts, at = list[int](), 0
        for count in self._counts:
            self._firsts.append(at)
            at += 1 if count is None else count

    def _add_inputs(self, strided: int) -> None:
        bits, at = 0, 0
        for i, count in enumerate(self._counts):
            number = 1 if count is None else count
            bits |= ((1 << number) - 1) << at if strided >> i & 1 else 0
            at += number
        super()._add_inputs(bits)

    def _enter(self, entry: Any, rows: Any, lengths: Any) -> None:
        heads = abi.array_type(abi.TensorRow, len(self._counts))(*map(self._head(rows), self._firsts, self._counts))
        packed: Any = _PackedLengths(lengths, rows, heads, self._firsts, self._counts)
        super()._enter(entry, heads, packed)

    @staticmethod
    def _head(rows: Any) -> Callable[[int, int | None], Any]:
        start, step = ctypes.addressof(rows), ctypes.sizeof(abi.TensorRow)

        def head(first: int, count: int | None) -> Any:
            if count is None:
                return rows[first]
            present = not count or bool(rows[first].present)
            return abi.TensorRow(data=start + first * step, numel=count, present=present, is_list=1)

        return head


class _PackedLengths:
    """`Lengths` for a kernel that counts lists, and not their tensors."""

    def __init__(
        self, lengths: Lengths, rows: Any, heads: Any, firsts: Sequence[int], counts: Sequence[int | None]
    ) -> None:
        self._lengths, self._rows, self._heads, self._firsts, self._counts = lengths, rows, heads, firsts, counts

    def resize(self, context: int | None, index: int, lengths: Any) -> int:
        """Implement ``opw_call.resize``."""
        first, count = self._firsts[index], self._counts[index]
        if count is None:
            status = self._lengths.resize(context, first, lengths)
            self._heads[index] = self._rows[first]
            return status
        for place in range(first, first + count):
            if status := self._lengths.resize(context, place, None):
                return status
        self._heads[index].present = 1
        return 0
