"""One of two processes that call operators with DTensors, over gloo: ``python -m tests.runtime.sharding.two``."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Partial, Shard

import opwright
from tests.runtime.sharding.parts import (
    KERNELS,
    SPLIT,
    SUMMED,
    WHOLE,
    assert_same,
    conv_of_torch,
    error_of,
    mesh,
    norm_of_torch,
    on,
    rand,
)
from tests.runtime.sharding.processes import run

MAPPED, SHARDED, RESULTS, RETURNED, LISTS = (
    opwright.load(KERNELS / f"{name}_ops.cpp") for name in ("mapped", "shard", "result", "returned", "list")
)


def along_independent_axes() -> None:
    row, x, w = mesh(), rand(4, 7), rand(2)
    split, whole, summed = (SPLIT,), (WHOLE,), (SUMMED,)
    assert_same(row, MAPPED.conv, conv_of_torch, (x, w), (split, whole), (split, split, summed))
    assert_same(row, MAPPED.conv, conv_of_torch, (rand(3, 7), w), (split, whole), (split, split, summed))  # uneven
    assert_same(row, MAPPED.conv, conv_of_torch, (x, w), (whole, whole), (whole, whole, whole))
    assert_same(row, SHARDED.spread, torch.mul, (x, rand(7)), (split, whole), (split, split, summed))
    assert_same(row, MAPPED.total, lambda x: x.sum(0), (x,), ((Shard(1),),), (split, (Shard(1),)))
    assert_same(row, MAPPED.total, lambda x: x.sum(0), (x,), (split,), (summed, whole))
    partial = DTensor.from_local(x / 2, row, [Partial("sum")])
    torch.testing.assert_close(MAPPED.conv(partial, on(row, w, WHOLE)).full_tensor(), conv_of_torch(x, w))


def pointwise_and_batched() -> None:
    row, x, y, split = mesh(), rand(4, 6), rand(6), (SPLIT,)
    assert_same(row, SHARDED.curve, lambda x, y: x * y.tanh(), (x, x + 1), (split, split), (split,) * 3)
    assert_same(row, SHARDED.norm, norm_of_torch, (x, x + 1), (split, split), (split,) * 3)
    got = SHARDED.curve(on(row, x, Shard(1)), on(row, y, SPLIT))  # the only axis of y is the last
    assert got.placements == (Shard(1),)
    torch.testing.assert_close(got.full_tensor(), x * y.tanh())
    got = SHARDED.norm(on(row, x, SPLIT), on(row, y, WHOLE))
    assert got.placements == (SPLIT,)
    torch.testing.assert_close(got.full_tensor(), norm_of_torch(x, y))


def without_a_word() -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("opwright")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    x = rand(4, 5)
    for _ in range(2):
        y = MAPPED.centred(on(mesh(), x, SPLIT), None, 2.0)
        assert y.placements == (WHOLE,)
        torch.testing.assert_close(y.full_tensor(), 2 * (x - x.mean(0)))
    said = "centred: DTensor gathers its arguments on every rank; if its slices are computed each alone, "
    assert [line for line in lines if line.startswith("centred")] == [f"{said}`independent N, M` spares it"]


def sizes_of_the_forward() -> None:
    """Sizes that the backward gets as numbers are local ones; calls that differ in a number are apart."""
    row, split, whole, summed = mesh(), (SPLIT,), (WHOLE,), (SUMMED,)
    for n in (4, 5, 7):
        for by in (1.0, 3.0):
            x = rand(n, 6)
            assert_same(
                row,
                lambda x, by=by: SHARDED.margins(x, by)[0],
                lambda x, by=by: by * x.sum(1),
                (x,),
                (split,),
                (split, split),
            )
            # Nothing that the backward gets tells that somebody shards N.
            assert_same(
                row,
                lambda x, by=by: SHARDED.margins(x, by)[1],
                lambda x, by=by: by * x.sum(0),
                (x,),
                (split,),
                (summed, whole),
            )
    x = rand(4, 6)
    assert_same(
        row,
        lambda x: SHARDED.weighed(x, [2.0, 1.0])[0],
        lambda x: 2 * x.sum(1),
        (x,),
        (split,),
        (split, whole),
        backward=1,
    )


def which_results_there_are() -> None:
    """Each wish for gradients is a call of its own for DTensor, and so is each bool that decides of a result."""
    row, x, w = mesh(), rand(5, 6), rand(2)
    expected = torch.autograd.grad(
        conv_of_torch(a := x.clone().requires_grad_(), b := w.clone().requires_grad_()).sum(), (a, b)
    )
    for wanted in ((True, False), (False, True), (True, True)):
        args = [on(row, x, SPLIT).requires_grad_(wanted[0]), on(row, w, WHOLE).requires_grad_(wanted[1])]
        asked = [each for each in args if each.requires_grad]
        got = torch.autograd.grad(MAPPED.conv(*args).sum(), asked)
        for gradient, due in zip(got, [g for g, want in zip(expected, wanted, strict=True) if want], strict=True):
            torch.testing.assert_close(gradient.full_tensor(), due)  # type: ignore[attr-defined]
    for every in (False, True, False):
        y, both = MAPPED.several(on(row, x, SPLIT), every)
        torch.testing.assert_close(y.full_tensor(), x.sum(1))
        assert (both is not None) == every
        assert not every or both.shape == (5, 2)
    for given in (None, rand(6)):
        at = given if given is None else on(row, given, WHOLE)
        y = SHARDED.shifted(on(row, x, SPLIT), at)
        assert y.placements == (SPLIT,)
        torch.testing.assert_close(y.full_tensor(), x if given is None else x + given)
        y.backward(torch.ones_like(y))
        assert given is None or (at.grad.placements == (SUMMED,) and at.grad.full_tensor().eq(5).all())  # type: ignore[union-attr]


def results_that_nobody_uses() -> None:
    """Their gradients are zeros, of distributed tensors, too."""
    row, split, due = mesh(), (SPLIT,), ((SPLIT,), (SPLIT,), (SUMMED,))
    args, placements = (rand(4, 3), rand(3)), (split, (WHOLE,))
    assert_same(row, lambda *args: SHARDED.halves(*args)[0], torch.mul, args, placements, due)
    assert_same(row, lambda *args: SHARDED.halves(*args)[1], torch.sub, args, placements, due)


def what_is_overwritten() -> None:
    row, x, y = mesh(), rand(4, 3), rand(3)
    part: Any = on(row, x, SPLIT).detach()
    SHARDED.add_to(part, on(row, y, WHOLE))
    torch.testing.assert_close(part.full_tensor(), x + y)
    part = on(row, x, SPLIT).detach()
    assert RETURNED.shift_(part, on(row, y, WHOLE)) is part
    torch.testing.assert_close(part.full_tensor(), x * y)
    whole: Any = on(row, y.clone(), WHOLE).detach()
    assert RETURNED.cumsum(on(row, y, SPLIT).detach(), whole).placements == (WHOLE,)
    torch.testing.assert_close(whole.full_tensor(), y.cumsum(0))


def refused() -> None:
    row, x, y = mesh(), rand(4, 3), rand(3)

    def part(tensor: torch.Tensor, *placements: Shard) -> torch.Tensor:
        return on(row, tensor, *placements).detach()

    for op, args, text in (
        (SHARDED.add_to, (part(x, Shard(1)), part(y, SPLIT)),
         "add_to(): it overwrites x with (Shard(dim=1),), and can't be called for such parts"),
        (RETURNED.scale_, (part(y, SPLIT), 2.0),
         "scale_(): it overwrites x with (Shard(dim=0),), and can't be called for such parts"),
        (SHARDED.noise, (part(y, SPLIT),),
         "noise(): it draws random numbers, and each rank would draw its own for its part"),
        (SHARDED.above, (part(y, SPLIT), 0.5),
         "above(): its kernel decides ?K, and DTensor has to know the results' shapes before it runs"),
        (RESULTS.above, (part(y, SPLIT), 0.5),
         "above(): its kernel decides count, and DTensor has to know the results' shapes before it runs"),
        (RETURNED.one, (part(x, SPLIT),),
         "one(): it returns its results in a list, and DTensor has one placement for a list"),
        (RESULTS.stamped, (on(row, y, WHOLE).detach(), True),
         "stamped(): its first result, z, may be absent, and DTensor then makes no DTensor of any"),
        (LISTS.axpy, ([part(y, SPLIT)], [part(y, SPLIT)], 2.0), "axpy(): lists of tensors have no sharding strategy"),
    ):  # fmt: skip
        assert text in error_of(op, *args), error_of(op, *args)


PARTS = (
    along_independent_axes,
    pointwise_and_batched,
    without_a_word,
    sizes_of_the_forward,
    which_results_there_are,
    results_that_nobody_uses,
    what_is_overwritten,
    refused,
)

if __name__ == "__main__":
    run(PARTS)
