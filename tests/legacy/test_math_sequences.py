"""Random sequences of operations on tensors that share memory, each beside PyTorch's; results may be any of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.legacy.extensions import Extension, extension, prototypes

KINDS = {torch.float64: "THDoubleTensor", torch.int64: "THLongTensor", torch.uint8: "THByteTensor"}
MOST = 400
"""Elements, beyond which a sequence grows no further."""


class Step(NamedTuple):
    """An operation, the places of its tensors, and a number for whatever it needs."""

    name: str
    result: int
    first: int
    second: int
    number: int


def _dim(x: Tensor, number: int) -> int:
    return number % x.dim()


def _written(x: Tensor, value: Tensor) -> None:
    """As TH gives a result: in place where the shape fits, otherwise resized."""
    value = value.reshape(value.shape or (1,)).clone()
    if x.shape != value.shape:
        x.resize_(value.shape)
    x.copy_(value)


# Made of the tensors: what C is given after the result, and what PyTorch gives. None: not for these tensors.
Made = tuple[tuple[Any, ...], Tensor]
Operation = Callable[[Tensor, Tensor, int], "Made | None"]


def _one(f: Callable[[Tensor], Tensor]) -> Operation:
    return lambda x, _y, _n: ((x,), f(x))


def _pair(f: Callable[[Tensor, Tensor], Tensor]) -> Operation:
    return lambda x, y, _n: ((x, y), f(x, y.reshape(x.shape))) if x.numel() == y.numel() else None


def _along(f: Callable[[Tensor, int], Tensor], *more: int) -> Operation:
    return lambda x, _y, n: ((x, _dim(x, n), *more), f(x, _dim(x, n)))


def _matrix(f: Callable[[Tensor, int], Tensor]) -> Operation:
    return lambda x, _y, n: ((x, n % 5 - 2), f(x, n % 5 - 2)) if x.dim() == 2 else None


def _cat(x: Tensor, y: Tensor, n: int) -> Made | None:
    d = _dim(x, n)
    fits = x.dim() == y.dim() and all(a == b for i, (a, b) in enumerate(zip(x.shape, y.shape, strict=True)) if i != d)
    return ((x, y, d), torch.cat([x, y], d)) if fits else None


def _select_index(x: Tensor, _y: Tensor, n: int) -> Made:
    d = _dim(x, n)
    index = torch.tensor([n % x.shape[d], 0, (n // 3) % x.shape[d]])
    return (x, d, index), x.index_select(d, index)


def _cadd(x: Tensor, y: Tensor, n: int) -> Made | None:
    return ((x, n % 3, y), torch.add(x, y.reshape(x.shape), alpha=n % 3)) if x.numel() == y.numel() else None


def _addmm(x: Tensor, y: Tensor, n: int) -> Made | None:
    if x.dim() != 2 or y.dim() != 2 or x.shape[0] != y.shape[0]:
        return None
    square, left = x @ x.t(), x.t().clone()
    return (n % 3, square, 1, x, left), torch.addmm(square, x, left, beta=n % 3)


RESULTS: dict[str, Operation] = {
    "neg": _one(torch.neg),
    "sign": _one(torch.sign),
    "add": lambda x, _y, n: ((x, n % 7), x + n % 7),
    "mul": lambda x, _y, n: ((x, n % 3), x * (n % 3)),
    "clamp": lambda x, _y, n: ((x, 1, 3 + n % 5), x.clamp(1, 3 + n % 5)),
    "cadd": _cadd,
    "cmax": _pair(torch.maximum),
    "cmul": _pair(torch.mul),
    "geTensorT": _pair(lambda x, y: (x >= y).to(x.dtype)),
    "sum": _along(lambda x, d: x.sum(d, keepdim=True, dtype=x.dtype), 1),
    "prod": _along(lambda x, d: x.prod(d, keepdim=x.dim() == 1, dtype=x.dtype), 0),
    "cumsum": _along(lambda x, d: x.cumsum(d, dtype=x.dtype)),
    "tril": _matrix(torch.tril),
    "triu": _matrix(torch.triu),
    "diag": _matrix(lambda x, k: x.diagonal(k)),
    "cat": _cat,
    "indexSelect": _select_index,
    "zerosLike": _one(torch.zeros_like),
    "addmm": _addmm,
}


def _transpose(x: Tensor, n: int) -> Made:
    d = _dim(x, n), _dim(x, n // 2)
    return d, x.transpose(*d)


def _narrow(x: Tensor, n: int) -> Made:
    d = _dim(x, n)
    first = (n // 5) % x.shape[d]
    length = 1 + (n // 7) % (x.shape[d] - first)
    return (d, first, length), x.narrow(d, first, length)


# Of one tensor: the result looks at its memory.
VIEWS: dict[str, Callable[[Tensor, int], Made]] = {"transpose": _transpose, "narrow": _narrow}


def _fill_index(x: Tensor, n: int) -> tuple[Any, ...]:
    return _dim(x, n), torch.tensor([n % x.shape[_dim(x, n)]]), n % 9


def _mask(x: Tensor, n: int) -> Tensor:
    return (torch.arange(x.numel()) % (2 + n % 3) == 0).byte().reshape(x.shape)


# In place: what C is given, and the same on PyTorch's tensor.
IN_PLACE: dict[str, tuple[Callable[[Tensor, int], tuple[Any, ...]], Callable[..., Any]]] = {
    "fill": (lambda _x, n: (n % 9,), lambda x, v: x.fill_(v)),
    "indexFill": (_fill_index, lambda x, d, i, v: x.index_fill_(d, i, v)),
    "maskedFill": (lambda x, n: (_mask(x, n), n % 9), lambda x, m, v: x.masked_fill_(m.bool(), v)),
}


class Pool:
    """Tensors in C's hands, and the same in PyTorch's."""

    def __init__(self, th: Extension, dtype: torch.dtype) -> None:
        self.th, self.name = th, KINDS[dtype]
        self.ours, self.theirs = self._tensors(dtype), self._tensors(dtype)

    @staticmethod
    def _tensors(dtype: torch.dtype) -> list[Tensor]:
        x = (torch.arange(24) % 11).to(dtype).reshape(2, 3, 4)
        y = (torch.arange(12) % 7).to(dtype).reshape(3, 4)
        return [x, x.transpose(0, 2), x[1], y, y.t(), y[:, 1:3], torch.ones(5, dtype=dtype)]

    def take(self, step: Step) -> None:
        r, i, j = step.result % len(self.ours), step.first % len(self.ours), step.second % len(self.ours)
        call = getattr(self.th, f"{self.name}_{step.name}")
        if step.name in RESULTS:
            self._result(call, RESULTS[step.name], r, i, j, step.number)
        elif step.name in VIEWS:
            arguments, value = VIEWS[step.name](self.theirs[i], step.number)
            call(self.ours[r], self.ours[i], *arguments)
            self.theirs[r].set_(value.untyped_storage(), value.storage_offset(), value.shape, value.stride())
        else:
            make, same = IN_PLACE[step.name]
            arguments = make(self.theirs[r], step.number)
            call(self.ours[r], *arguments)
            same(self.theirs[r], *arguments)

    def _result(self, call: Callable[..., Any], operation: Operation, r: int, i: int, j: int, number: int) -> None:
        made = operation(self.theirs[i], self.theirs[j], number)
        if made is None or made[1].numel() > MOST or made[1].numel() == 0:
            return
        ours = {id(self.theirs[i]): self.ours[i], id(self.theirs[j]): self.ours[j]}
        arguments = [ours.get(id(value), value) if isinstance(value, Tensor) else value for value in made[0]]
        call(self.ours[r], *arguments)
        _written(self.theirs[r], made[1])

    def check(self) -> None:
        for number, (ours, theirs) in enumerate(zip(self.ours, self.theirs, strict=True)):
            torch.testing.assert_close(
                ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True, msg=f"tensor {number} differs"
            )


NAMES = (*RESULTS, *VIEWS, *IN_PLACE)
STEPS = st.lists(
    st.builds(Step, st.sampled_from(NAMES), *[st.integers(0, 6)] * 3, st.integers(0, 1000)), min_size=1, max_size=14
)


@pytest.fixture(scope="module")
def functions() -> Extension:
    """Only what the sequences are made of: it is to be compiled."""
    wanted = prototypes()
    return extension("\n".join(wanted[f"{kind}_{name}"] for kind in KINDS.values() for name in NAMES))


def _property(th: Extension, dtype: torch.dtype, examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(STEPS)
    def run(steps: list[Step]) -> None:
        pool = Pool(th, dtype)
        for step in steps:
            pool.take(step)
            pool.check()

    run()


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_sequences(functions: Extension, dtype: torch.dtype) -> None:
    _property(functions, dtype, 120)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_many_sequences(functions: Extension, dtype: torch.dtype) -> None:
    _property(functions, dtype, 3000)
