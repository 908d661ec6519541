"""Every mathematical function of TH: how to make its arguments, and what PyTorch says that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tests.legacy.drawing import Array, Draw, InOut, Out, Sizes, not_zero
from tests.legacy.th import DTYPES

FLOATING = (torch.float64, torch.float32)
ALL = tuple(DTYPES)
UNSIGNED = {torch.int64: torch.uint64, torch.int32: torch.uint32, torch.int16: torch.uint16, torch.int8: torch.uint8}


class Case(NamedTuple):
    """One function.

    Attributes:
        make: all of its arguments, results included.
        expect: what the results (and what it returns) must be, from the arguments without `Out`s.
        flat: whether a result that has as many elements already keeps its shape.
    """

    name: str
    make: Callable[[Draw], list[Any]]
    expect: Callable[..., Any]
    dtypes: tuple[torch.dtype, ...] = ALL
    flat: bool = False


def in_shape(x: Tensor, y: Tensor) -> Tensor:
    return y.reshape(x.shape)


def wrapped(value: Tensor, dtype: torch.dtype) -> Tensor:
    return value.to(dtype)


# Pointwise, of one tensor.
def _unary(name: str, f: Callable[[Tensor], Tensor], inside: Callable[[Tensor], Tensor] = lambda x: x, dtypes: Any = FLOATING) -> Case:
    return Case(name, lambda d: [Out(), d.laid_out(inside(d.values(d.shape())))], f, dtypes)


def _positive(x: Tensor) -> Tensor:
    return x.abs() + 0.25


UNARY = [
    _unary("neg", torch.neg, dtypes=ALL),
    _unary("sign", torch.sign, dtypes=ALL),
    _unary("abs", torch.abs, dtypes=ALL),
    _unary("cinv", lambda x: torch.div(torch.ones_like(x), x, rounding_mode=None if x.is_floating_point() else "trunc"), not_zero, ALL),
    *(_unary(name, getattr(torch, name), _positive) for name in ("log", "log10", "log1p", "log2", "lgamma", "digamma", "sqrt", "rsqrt")),
    *(_unary(name, getattr(torch, name), torch.tanh) for name in ("acos", "asin", "erfinv")),
    *(
        _unary(name, getattr(torch, name))
        for name in (
            *("sigmoid", "exp", "expm1", "cos", "cosh", "sin", "sinh", "tan", "atan", "tanh", "erf", "erfc"),
            *("ceil", "floor", "round", "trunc", "frac"),
        )
    ),
    _unary("trigamma", lambda x: torch.polygamma(1, x), _positive),
    Case("polygamma", lambda d: [Out(), d.random.randrange(4), d.laid_out(_positive(d.values(d.shape())))], torch.polygamma, FLOATING),
]


# Pointwise, of a tensor and a number.
def _number(name: str, f: Callable[[Tensor, Any], Tensor], value: Callable[[Draw], Any] = Draw.value, dtypes: Any = ALL) -> Case:
    return Case(name, lambda d: [Out(), d.tensor(), value(d)], f, dtypes)


def _quotient(x: Tensor, y: Any) -> Tensor:
    return torch.div(x, y, rounding_mode=None if x.is_floating_point() else "trunc")


def _left(x: Tensor, y: Any) -> Tensor:
    return x * 2.0**y if x.is_floating_point() else x << y


def _right(x: Tensor, y: Any) -> Tensor:
    if x.is_floating_point():
        return x / 2.0**y
    unsigned = x.numpy().view(f"u{x.element_size()}")
    shift = y.numpy().astype(unsigned.dtype) if isinstance(y, Tensor) else unsigned.dtype.type(y)
    return torch.from_numpy((unsigned >> shift).view(x.numpy().dtype))


def _few_bits(d: Draw) -> int:
    return d.random.randrange(8)


def _largest(x: Tensor, y: Any) -> Tensor:
    return torch.maximum(x, torch.tensor(y, dtype=x.dtype))


def _smallest(x: Tensor, y: Any) -> Tensor:
    return torch.minimum(x, torch.tensor(y, dtype=x.dtype))


NUMBER = [
    _number("add", torch.add),
    _number("sub", torch.sub),
    _number("mul", torch.mul),
    _number("div", _quotient, Draw.divisor),
    _number("fmod", torch.fmod, Draw.divisor),
    _number("remainder", torch.remainder, Draw.divisor),
    _number("lshift", _left, _few_bits),
    _number("rshift", _right, _few_bits),
    _number("bitand", torch.bitwise_and),
    _number("bitor", torch.bitwise_or),
    _number("bitxor", torch.bitwise_xor),
    _number("cmaxValue", _largest),
    _number("cminValue", _smallest),
    Case("add_scaled", lambda d: [Out(), d.tensor(), d.value(), d.value()], lambda x, v, a: x + torch.tensor(v * a).to(x.dtype)),
    Case("sub_scaled", lambda d: [Out(), d.tensor(), d.value(), d.value()], lambda x, v, a: x - torch.tensor(v * a).to(x.dtype)),
    Case("clamp", lambda d: [Out(), d.tensor(), *sorted((d.value(), d.value()))], lambda x, low, high: x.clamp(low, high)),
    Case("pow", lambda d: [Out(), d.laid_out(_positive(d.values(d.shape()))), d.value()], torch.pow, FLOATING),
    Case("tpow", lambda d: [Out(), abs(d.value()) + 0.5, d.tensor()], torch.pow, FLOATING),
]


# Pointwise, of two tensors and three.
def _binary(name: str, f: Callable[[Tensor, Tensor], Tensor], second: Callable[[Tensor], Tensor] = lambda y: y, dtypes: Any = ALL) -> Case:
    return Case(name, lambda d: [Out(), x := d.tensor(), d.like(x, second)], lambda x, y: f(x, in_shape(x, y)), dtypes)


def _shifts(y: Tensor) -> Tensor:
    return y.abs().round()


def _integer_power(x: Tensor, y: Tensor) -> Tensor:
    return torch.pow(x, y)


def _add_quotient(t: Tensor, value: Any, a: Tensor, b: Tensor) -> Tensor:
    a, b = in_shape(t, a), in_shape(t, b)
    if t.is_floating_point():
        return t + value * (a / b)
    return wrapped(t.long() + torch.div(a.long() * value, b.long(), rounding_mode="trunc"), t.dtype)


BINARY = [
    *(_binary(name, getattr(torch, f)) for name, f in (("cmul", "mul"), ("cmax", "maximum"), ("cmin", "minimum"))),
    *(_binary(name, getattr(torch, f)) for name, f in (("cbitand", "bitwise_and"), ("cbitor", "bitwise_or"), ("cbitxor", "bitwise_xor"))),
    _binary("cdiv", _quotient, not_zero),
    _binary("cfmod", torch.fmod, not_zero),
    _binary("cremainder", torch.remainder, not_zero),
    _binary("clshift", _left, _shifts),
    _binary("crshift", _right, _shifts),
    _binary("cpow", torch.pow, torch.abs, ALL[2:]),
    Case(
        "cpow",
        lambda d: [Out(), x := d.laid_out(_positive(d.values(d.shape()))), d.like(x)],
        lambda x, y: torch.pow(x, in_shape(x, y)),
        FLOATING,
    ),
    _binary("atan2", torch.atan2, dtypes=FLOATING),
    Case("cadd", lambda d: [Out(), x := d.tensor(), d.value(), d.like(x)], lambda x, v, y: torch.add(x, in_shape(x, y), alpha=v)),
    Case("csub", lambda d: [Out(), x := d.tensor(), d.value(), d.like(x)], lambda x, v, y: torch.sub(x, in_shape(x, y), alpha=v)),
    Case(
        "lerp",
        lambda d: [Out(), x := d.tensor(), d.like(x), d.value()],
        lambda x, y, w: torch.lerp(x, in_shape(x, y), w),
        FLOATING,
    ),
    Case(
        "addcmul",
        lambda d: [Out(), x := d.tensor(), d.value(), d.like(x), d.like(x)],
        lambda t, v, x, y: torch.addcmul(t, in_shape(t, x), in_shape(t, y), value=v),
    ),
    Case("addcdiv", lambda d: [Out(), x := d.tensor(), d.value(), d.like(x), d.like(x, not_zero)], _add_quotient),
]


def _comparisons(name: str) -> list[Case]:
    f = getattr(torch, name)
    number = lambda r: lambda d: [Out(r), d.tensor(), d.value()]  # noqa: E731
    tensors = lambda r: lambda d: [Out(r), x := d.tensor(), d.like(x)]  # noqa: E731
    return [
        Case(f"{name}Value", number(torch.uint8), lambda x, y: f(x, y).byte()),
        Case(f"{name}ValueT", number(None), lambda x, y: f(x, y).to(x.dtype)),
        Case(f"{name}Tensor", tensors(torch.uint8), lambda x, y: f(x, in_shape(x, y)).byte()),
        Case(f"{name}TensorT", tensors(None), lambda x, y: f(x, in_shape(x, y)).to(x.dtype)),
    ]


COMPARISONS = [case for name in ("lt", "le", "gt", "ge", "ne", "eq") for case in _comparisons(name)]


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
    Case("varall", lambda d: [d.tensor((3, *d.shape(1, 3, empty=False))), d.flag()], lambda x, b: x.double().var(correction=1 - b), FLOATING),
    Case("stdall", lambda d: [d.tensor((3, *d.shape(1, 3, empty=False))), d.flag()], lambda x, b: x.double().std(correction=1 - b), FLOATING),
    Case("normall", lambda d: [d.tensor(), d.random.choice((0, 1, 2, 3))], lambda x, p: torch.linalg.vector_norm(x.double(), p), FLOATING),
    Case(
        "dist",
        lambda d: [x := d.tensor(), d.like(x), d.random.choice((1, 2, 3))],
        lambda x, y, p: torch.linalg.vector_norm((x - in_shape(x, y)).double(), p),
        FLOATING,
    ),
    Case("dot", lambda d: [x := d.tensor(), d.like(x)], lambda x, y: (x.to(s := _sum_type(x)) * in_shape(x, y).to(s)).sum()),
    Case("trace", lambda d: [d.tensor(d.shape(2, 2))], lambda x: x.diagonal().sum(dtype=_sum_type(x))),
    Case(
        "equal",
        lambda d: [x := d.tensor(), d.laid_out(x) if d.flag() else d.tensor(x.shape)],
        lambda x, y: int(torch.equal(x, y)),
    ),
]


# Along a dimension.
def _along(name: str, f: Callable[..., Tensor], dtypes: Any = ALL, *extra: Callable[[Draw], Any], empty: bool = True) -> Case:
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
        lambda d: [Out(), x := d.tensor(d.shape(2, empty=False)), d.random.choice((1, 2, 3)), d.dim(x), d.random.choice((0.5, 2.0))],
        lambda x, p, d, m: torch.renorm(x, p, d, m),
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
    Case("histc", lambda d: [Out(), d.tensor(d.shape(1, empty=False)), d.random.randint(1, 6), *_range(d)], torch.histc, FLOATING),
    Case("bhistc", lambda d: [Out(), d.tensor(d.shape(1, 2, empty=False)), d.random.randint(1, 6), *_range(d)], _rows, FLOATING),
]


# Products.
def _product(name: str, f: Callable[..., Tensor], shapes: Callable[[int, int, int, int], list[tuple[int, ...]]]) -> Case:
    def make(d: Draw) -> list[Any]:
        t, a, b = (d.tensor(shape) for shape in shapes(*(d.random.randint(1, 4) for _ in range(4))))
        return [Out(), d.value(), t, d.value(), a, b]

    return Case(name, make, lambda beta, t, alpha, a, b: f(t, a, b, beta=beta, alpha=alpha))


def _match(a: Tensor, b: Tensor, gain: Any) -> Tensor:
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
    Case("zeros", lambda d: [Out(), _shape_of(d)], lambda s: torch.zeros(s)),
    Case("ones", lambda d: [Out(), _shape_of(d)], lambda s: torch.ones(s)),
    Case("zerosLike", lambda d: [Out(), d.tensor()], torch.zeros_like),
    Case("onesLike", lambda d: [Out(), d.tensor()], torch.ones_like),
    Case("eye", lambda d: [Out(), d.random.randint(1, 4), d.random.randint(0, 4)], lambda n, m: torch.eye(n, m or n)),
    Case("arange", _steps, lambda a, b, s: torch.arange(a, b, s), flat=True),
    Case("range", _steps, lambda a, b, s: torch.arange(a, b + 1, s), flat=True),
    Case("linspace", lambda d: [Out(), d.value(), d.value() + 1, d.random.randint(2, 7)], _in_double(torch.linspace), FLOATING, flat=True),
    Case("logspace", lambda d: [Out(), d.value(), d.value() + 1, d.random.randint(2, 7)], _in_double(torch.logspace), FLOATING, flat=True),
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
    index = d.laid_out(torch.randperm(size, generator=d.generator)[: d.random.randint(1, size)]) if unique else d.index(size, (4,))
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
        order = torch.stack([torch.randperm(x.shape[dim], generator=d.generator) for _ in range(x.numel() // x.shape[dim])])
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
    Case("maskedCopy", lambda d: [*(a := _masked(d)), d.like(a[0].value)], lambda x, m, y: x.masked_scatter_(m.bool(), y)),
    Case("maskedSelect", lambda d: [Out(), x := d.tensor(), d.mask(x.shape)], lambda x, m: x.masked_select(m.bool())),
    Case("nonzero", lambda d: [Out(torch.int64), d.tensor(d.shape(1))], torch.nonzero),
    Case("indexSelect", lambda d: [Out(), *_along_index(d)], torch.index_select),
    Case("indexCopy", lambda d: _slices(d, unique=True), lambda x, d, i, y: x.index_copy_(d, i, y)),
    Case("indexAdd", lambda d: _slices(d, unique=False), lambda x, d, i, y: x.index_add_(d, i, y)),
    Case("indexFill", lambda d: [*_slices(d, unique=False)[:3], d.value()], lambda x, d, i, v: x.index_fill_(d, i, v)),
    Case("take", lambda d: [Out(), x := d.tensor(d.shape(1, empty=False)), d.index(x.numel(), d.shape(1, 3))], torch.take),
    Case("put", _put, lambda x, i, y, a: x.put_(i, y, accumulate=bool(a))),
    Case("gather", _gathered, torch.gather),
    Case("scatter", lambda d: _scattered(d, unique=True), lambda x, d, i, y: x.scatter_(d, i, y)),
    Case("scatterAdd", lambda d: _scattered(d, unique=False), lambda x, d, i, y: x.scatter_add_(d, i, y)),
    Case("scatterFill", lambda d: [*_scattered(d, unique=False)[:3], d.value()], lambda x, d, i, v: x.scatter_(d, i, v)),
]

CASES = [
    *(*UNARY, *NUMBER, *BINARY, *COMPARISONS, *NUMBERS, *DIMENSION),
    *(*HISTOGRAMS, *PRODUCTS, *ARRANGED, *ELEMENTS),
]
