"""One call of a function of TH beside what PyTorch gives for the same arguments."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.legacy.case import Case
from tests.legacy.drawing import Array, Draw, InOut, Out, Sizes
from tests.legacy.th import DTYPES, TH, Held, THError

TOLERANCE = {torch.float32: (1e-4, 1e-5), torch.float64: (1e-9, 1e-10)}
STARTS = ("new", "fitting", "fitting", "other", "alias")
"""What a result is before the call."""


class Arguments:
    """A function's arguments in C and what they must be afterwards."""

    def __init__(self, th: TH, draw: Draw, given: list[Any]) -> None:
        self.th, self.draw, self.given = th, draw, given
        self.held: list[Any] = []
        self.kept: list[tuple[Held, Tensor]] = []  # what must be as it was
        self.outs: list[tuple[Held, Tensor, Tensor | None]] = []  # expected, and all memory where it is known

    def prepare(self, expected: list[Tensor]) -> list[Any]:
        """The arguments as C gets them; `expected` is what each result will be."""
        remaining = iter(expected)
        inputs = {i: self._held(value) for i, value in enumerate(self.given) if isinstance(value, Tensor)}
        aliased: set[int] = set()
        for position, value in enumerate(self.given):
            if isinstance(value, Out):
                self.held.append(self._result(value, next(remaining), inputs, aliased))
            elif isinstance(value, InOut):
                made = self._held(value.value)
                self._expect(made, next(remaining), value.value)
                self.held.append(made)
            else:
                self.held.append(inputs.get(position, value) if isinstance(value, Tensor) else self._plain(value))
        self.kept = [(made, self.given[i]) for i, made in inputs.items() if i not in aliased]
        return [each.pointer if isinstance(each, Held) else each for each in self.held]

    def _held(self, value: Tensor) -> Held:
        return self.th.tensor(value)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Sizes):
            return self.th.sizes(value.sizes)
        if isinstance(value, Array):
            self.parts = [self._held(each) for each in value.tensors]
            self.array = self.th.ffi.new("void *[]", [each.pointer for each in self.parts])
            return self.array
        return value

    def _result(self, out: Out, expected: Tensor, inputs: dict[int, Held], aliased: set[int]) -> Held:
        dtype = out.dtype or self.draw.dtype
        start = self.draw.random.choice(STARTS)
        same = [i for i, made in inputs.items() if made.dtype == dtype and i not in aliased]
        if start == "alias" and same:
            aliased.add(same[0])
            made = inputs[same[0]]
            self.outs.append((made, expected, None))
            return made
        if start == "fitting" and expected.dim():
            before = self.draw.laid_out(self.draw.values(expected.shape, dtype))
            made = self._held(before)
            self._expect(made, expected, before)
            return made
        made = self._held(self.draw.tensor(dtype=dtype)) if start == "other" else Held(self.th, None, dtype=dtype)
        self.outs.append((made, expected, None))
        return made

    def _expect(self, made: Held, expected: Tensor, before: Tensor) -> None:
        """Nothing but the view's own elements may change."""
        memory = torch.empty(0, dtype=before.dtype)
        if before.numel() and expected.shape == before.shape:
            storage = before.untyped_storage().clone()
            twin = torch.empty(0, dtype=before.dtype).set_(
                storage, before.storage_offset(), before.shape, before.stride()
            )
            twin.copy_(expected)
            memory = torch.empty(0, dtype=before.dtype).set_(storage)
        self.outs.append((made, expected, memory if memory.numel() else None))

    def check(self, *, flat: bool) -> None:
        """Compare; `flat`: without the shapes of results."""
        for made, expected, memory in self.outs:
            value = made.value().flatten() if flat else made.value()
            assert_same(value, expected.flatten() if flat else expected.reshape(expected.shape or (1,)), made.dtype)
            if memory is not None:
                assert_same(made.memory(), memory, made.dtype)
        for made, before in self.kept:
            torch.testing.assert_close(
                made.value(), before, rtol=0, atol=0, equal_nan=True, check_stride=before.numel() > 0
            )


def assert_same(value: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    """Equal, up to how a type rounds."""
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    torch.testing.assert_close(value, expected.to(dtype), rtol=rtol, atol=atol, equal_nan=True)


def _clones(given: list[Any]) -> list[Any]:
    plain: list[Any] = []
    for value in given:
        if isinstance(value, Out):
            continue
        if isinstance(value, InOut):
            plain.append(value.value.clone())
        elif isinstance(value, Tensor):
            plain.append(value.clone(memory_format=torch.contiguous_format))
        else:
            plain.append(value[0] if isinstance(value, (Sizes, Array)) else value)
    return plain


def check_call(th: TH, case: Case, dtype: torch.dtype, seed: int) -> None:
    """One call with arguments of this seed; an error where PyTorch has one."""
    draw = Draw(seed, dtype)
    given = case.make(draw)
    results = [value for value in given if isinstance(value, (Out, InOut))]
    try:
        expected = case.expect(*_clones(given))
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        expected = error
    name = f"TH{DTYPES[dtype]}Tensor_{case.name}"
    arguments = Arguments(th, draw, given)
    if isinstance(expected, Exception):
        values = arguments.prepare([torch.empty(0, dtype=dtype)] * len(results))
        try:
            th.call(name, *values)
        except THError:
            return
        raise AssertionError(f"{name} took what PyTorch refuses: {expected}")
    outcomes = list(expected) if isinstance(expected, tuple) else [expected]
    returned = th.call(name, *arguments.prepare(outcomes if results else []))
    arguments.check(flat=case.flat)
    if not results:
        torch.testing.assert_close(float(returned), float(outcomes[0]), rtol=1e-5, atol=1e-6, equal_nan=True)
