"""One of four processes that call operators with DTensors on meshes of two dimensions and of one.

``python -m tests.runtime.sharding.four``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributed.tensor import Shard

import opwright
from tests.runtime.sharding.parts import (
    KERNELS,
    SPLIT,
    SUMMED,
    WHOLE,
    Placements,
    assert_same,
    conv_of_torch,
    error_of,
    mesh,
    norm_of_torch,
    on,
    rand,
)
from tests.runtime.sharding.processes import run

MAPPED, SHARDED = (opwright.load(KERNELS / f"{name}_ops.cpp") for name in ("mapped", "shard"))
WHOLES = (WHOLE, WHOLE)
ROWS_AND_COLUMNS: Placements = (SPLIT, Shard(1))


def several_dimensions_of_a_mesh() -> None:
    """One axis over both dimensions, one over each, one over one of them."""
    square, w = mesh(2, 2), rand(2)
    for rows in (8, 9, 5):  # of 5 rows the last process has none
        assert_same(
            square, MAPPED.conv, conv_of_torch, (rand(rows, 7), w), ((SPLIT, SPLIT), WHOLES),
            ((SPLIT, SPLIT), (SPLIT, SPLIT), (SUMMED, SUMMED)),
        )  # fmt: skip
    assert_same(
        square, MAPPED.conv, conv_of_torch, (rand(4, 7), w), ((WHOLE, SPLIT), WHOLES),
        ((WHOLE, SPLIT), (WHOLE, SPLIT), (WHOLE, SUMMED)),
    )  # fmt: skip
    assert_same(
        square,
        MAPPED.total,
        lambda x: x.sum(0),
        (rand(5, 6),),
        (ROWS_AND_COLUMNS,),
        ((SUMMED, SPLIT), (WHOLE, Shard(1))),
    )
    x, y = rand(5, 6), rand(6)
    assert_same(
        square, SHARDED.curve, lambda x, y: x * y.tanh(), (x, x + 1), (ROWS_AND_COLUMNS,) * 2, (ROWS_AND_COLUMNS,) * 3
    )
    got = SHARDED.curve(on(square, x, *ROWS_AND_COLUMNS), on(square, y, WHOLE, SPLIT))
    assert got.placements == ROWS_AND_COLUMNS
    torch.testing.assert_close(got.full_tensor(), x * y.tanh())
    assert_same(square, SHARDED.norm, norm_of_torch, (x, x + 1), ((SPLIT, SPLIT),) * 2, ((SPLIT, SPLIT),) * 3)


def what_has_no_word_is_gathered() -> None:
    """Along the other dimension of the mesh what is sharded stays so."""
    square, w = mesh(2, 2), rand(2)
    due = ((SPLIT, WHOLE), (SPLIT, WHOLE), (SUMMED, WHOLE))
    assert_same(
        square, MAPPED.conv, conv_of_torch, (rand(4, 7), w), (ROWS_AND_COLUMNS, WHOLES), due, forward=1, backward=1
    )
    x = rand(4, 5)
    assert_same(
        square, lambda x: MAPPED.centred(x, None, 2.0), lambda x: 2 * (x - x.mean(0)), (x,), (ROWS_AND_COLUMNS,),
        (WHOLES, WHOLES), forward=2, backward=2,
    )  # fmt: skip


def few_rows_or_none() -> None:
    """An axis that is shorter than the mesh is gathered, also an empty one."""
    row, w = mesh(), rand(2)
    for rows in (1, 0):
        assert_same(
            row,
            MAPPED.conv,
            conv_of_torch,
            (rand(rows, 4), w),
            ((SPLIT,), (WHOLE,)),
            ((WHOLE,),) * 3,
            forward=1,
            backward=1,
        )
    for rows in (5, 6):  # 2, 2, 1, 0 and 2, 2, 2, 0
        x, placements = rand(rows, 3), (SPLIT,)
        assert_same(
            row, MAPPED.conv, conv_of_torch, (x, w), (placements, (WHOLE,)), (placements, placements, (SUMMED,))
        )
        assert_same(
            row, lambda x: SHARDED.margins(x)[0], lambda x: x.sum(1), (x,), (placements,), (placements, placements)
        )
        assert_same(
            row, SHARDED.spread, torch.mul, (x, rand(3)), (placements, (WHOLE,)), (placements, placements, (SUMMED,))
        )


def sizes_of_the_forward() -> None:
    """Each of two sizes is made local by the argument that has the axis; both, one, or none is there."""
    square = mesh(2, 2)
    for shape in ((6, 4), (5, 7)):
        x = rand(*shape)
        for op, expected, due in (
            (lambda x: SHARDED.margins(x)[0], lambda x: x.sum(1), ((SPLIT, SUMMED), (SPLIT, WHOLE))),
            (lambda x: SHARDED.margins(x)[1], lambda x: x.sum(0), ((SUMMED, SPLIT), (WHOLE, Shard(1)))),
        ):
            assert_same(square, op, expected, (x,), (ROWS_AND_COLUMNS,), due)
        part, whole = on(square, x, *ROWS_AND_COLUMNS), x.clone().requires_grad_()
        rows, columns = SHARDED.margins(part)
        rows, columns = rows.redistribute(square, (SPLIT, WHOLE)), columns.redistribute(square, (WHOLE, SPLIT))
        (got,) = torch.autograd.grad(rows.square().sum() + columns.exp().sum(), part)
        (due_,) = torch.autograd.grad(whole.sum(1).square().sum() + whole.sum(0).exp().sum(), whole)
        assert got.placements == ROWS_AND_COLUMNS  # type: ignore[attr-defined]
        torch.testing.assert_close(got.full_tensor(), due_)  # type: ignore[attr-defined]


def absent_arguments_and_masks() -> None:
    square, x, w = mesh(2, 2), rand(6, 4), rand(4)
    for given in (None, w):
        args = [on(square, x, *ROWS_AND_COLUMNS), given if given is None else on(square, w, WHOLE, SPLIT)]
        y = SHARDED.shifted(*args)
        assert y.placements == ROWS_AND_COLUMNS
        torch.testing.assert_close(y.full_tensor(), x if given is None else x + w)
        asked = [each for each in args if each is not None]
        gradients = torch.autograd.grad(y, asked, torch.ones_like(y))
        assert [g.placements for g in gradients] == [ROWS_AND_COLUMNS, (SUMMED, SPLIT)][: len(asked)]  # type: ignore[attr-defined]
        for gradient, due in zip(gradients, (torch.ones(6, 4), torch.full((4,), 6.0)), strict=False):
            torch.testing.assert_close(gradient.full_tensor(), due.double())  # type: ignore[attr-defined]
    fixed = on(square, w, WHOLE, SPLIT).detach()
    part = on(square, x, *ROWS_AND_COLUMNS)
    (gradient,) = torch.autograd.grad(SHARDED.shifted(part, fixed), part, torch.ones_like(part))
    assert gradient.placements == ROWS_AND_COLUMNS  # type: ignore[attr-defined]


def compiled() -> None:
    """Graphs of fixed and of symbolic sizes, forward and backward, with parts of different lengths."""
    row, w = mesh(), rand(2)
    functions: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
        (lambda x, w: MAPPED.conv(2 * x, w).sin(), lambda x, w: conv_of_torch(2 * x, w).sin()),
        (lambda x, w: SHARDED.margins(2 * x)[0] * w.sum(), lambda x, w: 2 * x.sum(1) * w.sum()),
        (lambda x, w: SHARDED.shifted(x, None).tanh() * w.sum(), lambda x, w: x.tanh() * w.sum()),
    )
    for op, expected in functions:
        for dynamic, lengths in ((False, (9,)), (True, (8, 12, 9))):
            torch._dynamo.reset()
            graph = torch.compile(op, backend="aot_eager", fullgraph=True, dynamic=dynamic)
            for rows in lengths:
                x = rand(rows, 6)
                parts, whole = (
                    (on(row, x, SPLIT), on(row, w, WHOLE)),
                    (x.clone().requires_grad_(), w.clone().requires_grad_()),
                )
                y: Any = graph(*parts)
                z = expected(*whole)
                assert y.placements == (SPLIT,)
                torch.testing.assert_close(y.full_tensor(), z)
                got, due = torch.autograd.grad(y, parts, torch.ones_like(y)), torch.autograd.grad(z.sum(), whole)
                assert [each.placements for each in got] == [(SPLIT,), (SUMMED,)]  # type: ignore[attr-defined]
                for gradient, other in zip(got, due, strict=True):
                    torch.testing.assert_close(gradient.full_tensor(), other)  # type: ignore[attr-defined]


def refused() -> None:
    square, x = mesh(2, 2), rand(4, 4)
    for placements in ((SPLIT, SPLIT), ROWS_AND_COLUMNS, WHOLES):
        text = error_of(SHARDED.noise, on(square, x[0], *(p if p == SPLIT else WHOLE for p in placements)).detach())
        assert "noise(): it draws random numbers" in text, text
    error = error_of(SHARDED.add_to, on(square, x, *ROWS_AND_COLUMNS).detach(), on(square, x[0], WHOLE, SPLIT).detach())
    assert "add_to(): it overwrites x with (Shard(dim=0), Shard(dim=1))" in error, error


PARTS = (
    several_dimensions_of_a_mesh,
    what_has_no_word_is_gathered,
    few_rows_or_none,
    sizes_of_the_forward,
    absent_arguments_and_masks,
    compiled,
    refused,
)

if __name__ == "__main__":
    run(PARTS)
