"""Every mathematical function of TH: how to make its arguments, and what PyTorch says that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.legacy.case import ALL, FLOATING, Case, in_shape
from tests.legacy.drawing import Array, Draw, InOut, Out, Sizes
from tests.legacy.pointwise_cases import POINTWISE
from tests.legacy.th import DTYPES


# Of all elements.
def _sum_type(x: Tensor) -> torch.dtype:
    return torch.float64 if x.is_floating_point() else torch.int64


def _all(name: str, f: Callable[[Tensor], Any], dtypes: Any = ALL, *, empty: bool = False) -> Case:
    return Case(name, lambda d: [d.tensor(d.shape(0 if empty else 1, empty=empty))], f, dtypes)


NUMBERS = [
    _all("minall", lambda x: x.min()),
    _all("maxall", lambda x: x.max()),
    _all("medianall", lambda x: x.median()),
    _all("sumall", lambda x: x.sum(dtype=_sum_type(x)), empty=True),
    _all("prodall", lambda x: x.prod(dtype=_sum_type(x)), empty=True),
    _all("meanall", lambda x: x.double().mean(), FLOATING),
    _all("logicalall", lambda x: x.bool().all(), (torch.uint8,), empty=True),
    _all("logicalany", lambda x: x.bool().any(), (torch.uint8,), empty=True),
    _all("logicalAndAll", lambda x: x.bool().all(), (torch.uint8,), empty=True),
    _all("logicalAnyAll", lambda x: x.bool().any(), (torch.uint8,), empty=True),
    Case(
        "varall",
        lambda d: [d.tensor((3, *d.shape(1, 3, empty=False))), d.flag()],
        lambda x, b: x.double().var(correction=1 - b),
        FLOATING,
    ),
    Case(
        "stdall",
        lambda d: [d.tensor((3, *d.shape(1, 3, empty=False))), d.flag()],
        lambda x, b: x.double().std(correction=1 - b),
        FLOATING,
    ),
    Case(
        "normall",
        lambda d: [d.tensor(), d.random.choice((0, 1, 2, 3))],
        lambda x, p: torch.linalg.vector_norm(x.double(), p),
        FLOATING,
    ),
    Case(
        "dist",
        lambda d: [x := d.tensor(), d.like(x), d.random.choice((1, 2, 3))],
        lambda x, y, p: torch.linalg.vector_norm((x - in_shape(x, y)).double(), p),
        FLOATING,
    ),
    Case(
        "dot",
        lambda d: [x := d.tensor(), d.like(x)],
        lambda x, y: (x.to(s := _sum_type(x)) * in_shape(x, y).to(s)).sum(),
    ),
    Case("trace", lambda d: [d.tensor(d.shape(2, 2))], lambda x: x.diagonal().sum(dtype=_sum_type(x))),
    Case(
        "equal",
        lambda d: [x := d.tensor(), d.laid_out(x) if d.flag() else d.tensor(x.shape)],
        lambda x, y: int(torch.equal(x, y)),
    ),
]


# Along a dimension.
def _along(
    name: str, f: Callable[..., Tensor], dtypes: Any = ALL, *extra: Callable[[Draw], Any], empty: bool = True
) -> Case:
    """`extra` arguments stand between the dimension and keepdim."""

    def make(d: Draw) -> list[Any]:
        x = d.tensor(d.shape(1, empty=empty))
        return [Out(), x, d.dim(x), *(each(d) for each in extra), d.flag()]

    return Case(name, make, f, dtypes)


def _pair(name: str, f: Callable[..., Any], dtypes: Any = ALL) -> Case:
    def make(d: Draw) -> list[Any]:
        x = d.distinct(d.shape(1, empty=False))
        return [Out(), Out(torch.int64), x, d.dim(x), d.flag()]

    return Case(name, make, f, dtypes)


def _with_k(name: str, f: Callable[..., Any], *, flags: int, dim_first: bool = False) -> Case:
    def make(d: Draw) -> list[Any]:
        x = d.distinct(d.shape(1, empty=False))
        dim = d.dim(x)
        return [Out(), Out(torch.int64), x, d.random.randint(1, x.shape[dim]), dim, *(d.flag() for _ in range(flags))]

    return Case(name, make, f)


def _top(x: Tensor, k: int, dim: int, largest: int, _sorted: int) -> Any:
    return x.topk(k, dim, bool(largest), sorted=True)


DIMENSION = [
    _along("sum", lambda x, d, k: x.sum(d, bool(k), dtype=x.dtype)),
    _along("prod", lambda x, d, k: x.prod(d, bool(k), dtype=x.dtype)),
    _along("mean", lambda x, d, k: x.mean(d, bool(k)), FLOATING),
    _along("var", lambda x, d, b, k: x.var(d, correction=1 - b, keepdim=bool(k)), FLOATING, Draw.flag, empty=False),
    _along("std", lambda x, d, b, k: x.std(d, correction=1 - b, keepdim=bool(k)), FLOATING, Draw.flag, empty=False),
    _along("logicalAnd", lambda x, d, k: x.bool().all(d, bool(k)).byte(), (torch.uint8,)),
    _along("logicalAny", lambda x, d, k: x.bool().any(d, bool(k)).byte(), (torch.uint8,)),
    Case(
        "norm",
        lambda d: [Out(), x := d.tensor(d.shape(1, empty=False)), d.random.choice((0, 1, 2, 3)), d.dim(x), d.flag()],
        lambda x, p, d, k: torch.linalg.vector_norm(x, p, d, bool(k)),
        FLOATING,
    ),
    Case(
        "renorm",
        lambda d: [
            Out(),
            x := d.tensor(d.shape(2, empty=False)),
            d.random.choice((1, 2, 3)),
            d.dim(x),
            d.random.choice((0.5, 2.0)),
        ],
        torch.renorm,
        FLOATING,
    ),
    _pair("max", lambda x, d, k: x.max(d, bool(k))),
    _pair("min", lambda x, d, k: x.min(d, bool(k))),
    _pair("median", lambda x, d, k: x.median(d, bool(k))),
    _pair("mode", lambda x, d, k: x.mode(d, bool(k))),
    _pair("sort", lambda x, d, k: x.sort(dim=d, descending=bool(k), stable=True)),
    _with_k("kthvalue", lambda x, n, d, k: x.kthvalue(n, d, bool(k)), flags=1),
    Case("topk", lambda d: [*_with_k("", _top, flags=1).make(d), 1], _top),
    Case("cumsum", lambda d: [Out(), x := d.tensor(d.shape(1)), d.dim(x)], lambda x, d: x.cumsum(d, dtype=x.dtype)),
    Case("cumprod", lambda d: [Out(), x := d.tensor(d.shape(1)), d.dim(x)], lambda x, d: x.cumprod(d, dtype=x.dtype)),
]


# Histograms.
def _rows(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    rows = x if x.dim() == 2 else x.unsqueeze(0)
    if low == high:
        low, high = x.min().item(), x.max().item()
    return torch.stack([row.histc(bins, low, high) for row in rows])


def _range(d: Draw) -> tuple[float, float]:
    return d.random.choice(((0.0, 0.0), (-1.0, 2.0)))


HISTOGRAMS = [
    Case(
        "histc",
        lambda d: [Out(), d.tensor(d.shape(1, empty=False)), d.random.randint(1, 6), *_range(d)],
        torch.histc,
        FLOATING,
    ),
    Case(
        "bhistc",
        lambda d: [Out(), d.tensor(d.shape(1, 2, empty=False)), d.random.randint(1, 6), *_range(d)],
        _rows,
        FLOATING,
    ),
]


# Products.
def _product(
    name: str, f: Callable[..., Tensor], shapes: Callable[[int, int, int, int], list[tuple[int, ...]]]
) -> Case:
    def make(d: Draw) -> list[Any]:
        t, a, b = (d.tensor(shape) for shape in shapes(*(d.random.randint(1, 4) for _ in range(4))))
        return [Out(), d.value(), t, d.value(), a, b]

    return Case(name, make, lambda beta, t, alpha, a, b: f(t, a, b, beta=beta, alpha=alpha))


def _match(a: Tensor, b: Tensor, gain: float) -> Tensor:
    a, b = a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1)
    return ((a[:, None] - b[None]) ** 2).sum(2, dtype=a.dtype) * gain


def _three(d: Draw) -> list[Any]:
    shape = list(d.shape(1, 3, empty=False))
    dim = d.random.randrange(len(shape))
    shape[dim] = 3
    first = shape.index(3)
    return [Out(), d.tensor(shape), d.tensor(shape), -1 if first == dim and d.flag() else dim]


PRODUCTS = [
    _product("addmv", torch.addmv, lambda m, n, _k, _b: [(m,), (m, n), (n,)]),
    _product("addmm", torch.addmm, lambda m, n, k, _b: [(m, n), (m, k), (k, n)]),
    _product("addr", torch.addr, lambda m, n, _k, _b: [(m, n), (m,), (n,)]),
    _product("addbmm", torch.addbmm, lambda m, n, k, b: [(m, n), (b, m, k), (b, k, n)]),
    _product("baddbmm", torch.baddbmm, lambda m, n, k, b: [(b, m, n), (b, m, k), (b, k, n)]),
    Case("match", lambda d: [Out(), d.tensor((3, 2, 2)), d.tensor((d.random.randint(1, 4), 4)), d.value()], _match),
    Case(
        "cross",
        _three,
        lambda a, b, d: torch.linalg.cross(a, b, dim=d if d >= 0 else list(a.shape).index(3)),
    ),
]


# Made anew, and rearranged.
def _shape_of(d: Draw) -> Sizes:
    return Sizes(d.shape(1))


def _cat(d: Draw, count: int) -> tuple[list[Tensor], int]:
    shape = list(d.shape(1, 4, empty=False))
    dim = d.random.randrange(len(shape))
    parts = []
    for _ in range(count):
        shape[dim] = d.random.randint(1, 3)
        parts.append(d.tensor(shape))
    if d.random.random() < 0.2:
        parts[0 if d.flag() else -1] = d.tensor((0,))
    return parts, dim


def _cat_two(d: Draw) -> list[Any]:
    (a, b), dim = _cat(d, 2)
    return [Out(), a, b, dim]


def _cat_many(d: Draw) -> list[Any]:
    parts, dim = _cat(d, 4)
    return [Out(), Array(parts), len(parts), dim]


def _reshaped(d: Draw) -> list[Any]:
    x = d.tensor(d.shape(1, empty=False))
    return [Out(), x, Sizes((x.numel(), 1) if d.flag() else (1, x.numel()))]


def _steps(d: Draw) -> list[Any]:
    first, step, count = d.random.randint(0, 3), d.random.randint(1, 3), d.random.randint(1, 9)
    return [Out(), first, first + step * count, step]


def _in_double(f: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *arguments: f(*arguments, dtype=torch.float64)


ARRANGED = [
    Case("zeros", lambda d: [Out(), _shape_of(d)], torch.zeros),
    Case("ones", lambda d: [Out(), _shape_of(d)], torch.ones),
    Case("zerosLike", lambda d: [Out(), d.tensor()], torch.zeros_like),
    Case("onesLike", lambda d: [Out(), d.tensor()], torch.ones_like),
    Case("eye", lambda d: [Out(), d.random.randint(1, 4), d.random.randint(0, 4)], lambda n, m: torch.eye(n, m or n)),
    Case("arange", _steps, torch.arange, flat=True),
    Case("range", _steps, lambda a, b, s: torch.arange(a, b + 1, s), flat=True),
    Case(
        "linspace",
        lambda d: [Out(), d.value(), d.value() + 1, d.random.randint(2, 7)],
        _in_double(torch.linspace),
        FLOATING,
        flat=True,
    ),
    Case(
        "logspace",
        lambda d: [Out(), d.value(), d.value() + 1, d.random.randint(2, 7)],
        _in_double(torch.logspace),
        FLOATING,
        flat=True,
    ),
    Case("diag", lambda d: [Out(), d.tensor(d.shape(1, 2, empty=False)), d.random.randint(-2, 2)], torch.diag),
    Case("tril", lambda d: [Out(), d.tensor(d.shape(2, 2)), d.random.randint(-2, 2)], torch.tril),
    Case("triu", lambda d: [Out(), d.tensor(d.shape(2, 2)), d.random.randint(-2, 2)], torch.triu),
    Case("reshape", _reshaped, lambda x, s: x.reshape(s)),
    Case("cat", _cat_two, lambda a, b, d: torch.cat([a, b], d)),
    Case("catArray", _cat_many, lambda parts, _n, d: torch.cat(parts, d)),
]


# A choice of elements.
def _masked(d: Draw) -> list[Any]:
    x = d.tensor()
    return [InOut(x), d.mask(x.shape)]


def _along_index(d: Draw, *, unique: bool = False) -> tuple[Tensor, int, Tensor]:
    x = d.tensor(d.shape(1, empty=False))
    dim = d.dim(x)
    size = x.shape[dim]
    index = (
        d.laid_out(torch.randperm(size, generator=d.generator)[: d.random.randint(1, size)])
        if unique
        else d.index(size, (4,))
    )
    return x, dim, index


def _slices(d: Draw, *, unique: bool) -> list[Any]:
    x, dim, index = _along_index(d, unique=unique)
    shape = list(x.shape)
    shape[dim] = len(index)
    return [InOut(x), dim, index, d.tensor(shape)]


def _places(d: Draw, *, unique: bool = False) -> tuple[Tensor, int, Tensor]:
    x = d.tensor(d.shape(1, empty=False))
    dim = d.dim(x)
    shape = list(x.shape)
    if unique:
        order = torch.stack(
            [torch.randperm(x.shape[dim], generator=d.generator) for _ in range(x.numel() // x.shape[dim])]
        )
        rest = shape[:dim] + shape[dim + 1 :]
        return x, dim, d.laid_out(order.reshape(*rest, shape[dim]).movedim(-1, dim))
    shape[dim] = d.random.randint(1, 4)
    return x, dim, d.index(x.shape[dim], shape)


def _gathered(d: Draw) -> list[Any]:
    x, dim, index = _places(d)
    return [Out(), x, dim, index]


def _scattered(d: Draw, *, unique: bool) -> list[Any]:
    x, dim, index = _places(d, unique=unique)
    return [InOut(x), dim, index, d.tensor(index.shape)]


def _put(d: Draw) -> list[Any]:
    x = d.tensor(d.shape(1, empty=False))
    index = d.laid_out(torch.randperm(x.numel(), generator=d.generator)[: d.random.randint(1, x.numel())])
    return [InOut(x), index, d.tensor(index.shape), d.flag()]


def _copy(name: str, dtype: torch.dtype | None) -> Case:
    return Case(
        name,
        lambda d: [InOut(x := d.tensor()), d.laid_out(d.values((x.numel(),) if d.flag() else x.shape, dtype).abs())],
        lambda x, y: in_shape(x, y).to(x.dtype),
    )


ELEMENTS = [
    Case("fill", lambda d: [InOut(d.tensor()), d.value()], lambda x, v: x.fill_(v)),
    Case("zero", lambda d: [InOut(d.tensor())], lambda x: x.zero_()),
    _copy("copy", None),
    *(_copy(f"copy{name}", dtype) for dtype, name in DTYPES.items()),
    Case("maskedFill", lambda d: [*_masked(d), d.value()], lambda x, m, v: x.masked_fill_(m.bool(), v)),
    Case(
        "maskedCopy", lambda d: [*(a := _masked(d)), d.like(a[0].value)], lambda x, m, y: x.masked_scatter_(m.bool(), y)
    ),
    Case("maskedSelect", lambda d: [Out(), x := d.tensor(), d.mask(x.shape)], lambda x, m: x.masked_select(m.bool())),
    Case("nonzero", lambda d: [Out(torch.int64), d.tensor(d.shape(1))], torch.nonzero),
    Case("indexSelect", lambda d: [Out(), *_along_index(d)], torch.index_select),
    Case("indexCopy", lambda d: _slices(d, unique=True), lambda x, d, i, y: x.index_copy_(d, i, y)),
    Case("indexAdd", lambda d: _slices(d, unique=False), lambda x, d, i, y: x.index_add_(d, i, y)),
    Case("indexFill", lambda d: [*_slices(d, unique=False)[:3], d.value()], lambda x, d, i, v: x.index_fill_(d, i, v)),
    Case(
        "take", lambda d: [Out(), x := d.tensor(d.shape(1, empty=False)), d.index(x.numel(), d.shape(1, 3))], torch.take
    ),
    Case("put", _put, lambda x, i, y, a: x.put_(i, y, accumulate=bool(a))),
    Case("gather", _gathered, torch.gather),
    Case("scatter", lambda d: _scattered(d, unique=True), lambda x, d, i, y: x.scatter_(d, i, y)),
    Case("scatterAdd", lambda d: _scattered(d, unique=False), lambda x, d, i, y: x.scatter_add_(d, i, y)),
    Case(
        "scatterFill", lambda d: [*_scattered(d, unique=False)[:3], d.value()], lambda x, d, i, v: x.scatter_(d, i, v)
    ),
]

CASES = [*POINTWISE, *NUMBERS, *DIMENSION, *HISTOGRAMS, *PRODUCTS, *ARRANGED, *ELEMENTS]
