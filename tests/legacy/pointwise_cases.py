"""TH's functions of each element by itself, and what PyTorch says that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.legacy.case import ALL, FLOATING, Case, in_shape, wrapped
from tests.legacy.drawing import Draw, Out, not_zero


# Pointwise, of one tensor.
def _unary(
    name: str, f: Callable[[Tensor], Tensor], inside: Callable[[Tensor], Tensor] = lambda x: x, dtypes: Any = FLOATING
) -> Case:
    return Case(name, lambda d: [Out(), d.laid_out(inside(d.values(d.shape())))], f, dtypes)


def _positive(x: Tensor) -> Tensor:
    return x.abs() + 0.25


UNARY = [
    _unary("neg", torch.neg, dtypes=ALL),
    _unary("sign", torch.sign, dtypes=ALL),
    _unary("abs", torch.abs, dtypes=ALL),
    _unary(
        "cinv",
        lambda x: torch.div(torch.ones_like(x), x, rounding_mode=None if x.is_floating_point() else "trunc"),
        not_zero,
        ALL,
    ),
    *(
        _unary(name, getattr(torch, name), _positive)
        for name in ("log", "log10", "log1p", "log2", "lgamma", "digamma", "sqrt", "rsqrt")
    ),
    *(_unary(name, getattr(torch, name), torch.tanh) for name in ("acos", "asin", "erfinv")),
    *(
        _unary(name, getattr(torch, name))
        for name in (
            *("sigmoid", "exp", "expm1", "cos", "cosh", "sin", "sinh", "tan", "atan", "tanh", "erf", "erfc"),
            *("ceil", "floor", "round", "trunc", "frac"),
        )
    ),
    _unary("trigamma", lambda x: torch.polygamma(1, x), _positive),
    Case(
        "polygamma",
        lambda d: [Out(), d.random.randrange(4), d.laid_out(_positive(d.values(d.shape())))],
        torch.polygamma,
        FLOATING,
    ),
]


# Pointwise, of a tensor and a number.
def _number(
    name: str, f: Callable[[Tensor, Any], Tensor], value: Callable[[Draw], Any] = Draw.value, dtypes: Any = ALL
) -> Case:
    return Case(name, lambda d: [Out(), d.tensor(), value(d)], f, dtypes)


def _quotient(x: Tensor, y: Any) -> Tensor:
    return torch.div(x, y, rounding_mode=None if x.is_floating_point() else "trunc")


def _left(x: Tensor, y: Any) -> Tensor:
    return torch.mul(x, 2.0**y) if x.is_floating_point() else torch.bitwise_left_shift(x, y)


def _right(x: Tensor, y: Any) -> Tensor:
    if x.is_floating_point():
        return torch.div(x, 2.0**y)
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
    Case(
        "add_scaled",
        lambda d: [Out(), d.tensor(), d.value(), d.value()],
        lambda x, v, a: x + torch.tensor(v * a).to(x.dtype),
    ),
    Case(
        "sub_scaled",
        lambda d: [Out(), d.tensor(), d.value(), d.value()],
        lambda x, v, a: x - torch.tensor(v * a).to(x.dtype),
    ),
    Case(
        "clamp", lambda d: [Out(), d.tensor(), *sorted((d.value(), d.value()))], lambda x, low, high: x.clamp(low, high)
    ),
    Case("pow", lambda d: [Out(), d.laid_out(_positive(d.values(d.shape()))), d.value()], torch.pow, FLOATING),
    Case("tpow", lambda d: [Out(), abs(d.value()) + 0.5, d.tensor()], torch.pow, FLOATING),
]


# Pointwise, of two tensors and three.
def _binary(
    name: str,
    f: Callable[[Tensor, Tensor], Tensor],
    second: Callable[[Tensor], Tensor] = lambda y: y,
    dtypes: Any = ALL,
) -> Case:
    return Case(name, lambda d: [Out(), x := d.tensor(), d.like(x, second)], lambda x, y: f(x, in_shape(x, y)), dtypes)


def _shifts(y: Tensor) -> Tensor:
    return y.abs().round()


def _integer_power(x: Tensor, y: Tensor) -> Tensor:
    return torch.pow(x, y)


def _add_quotient(t: Tensor, value: float, a: Tensor, b: Tensor) -> Tensor:
    a, b = in_shape(t, a), in_shape(t, b)
    if t.is_floating_point():
        return t + value * (a / b)
    return wrapped(t.long() + torch.div(a.long() * value, b.long(), rounding_mode="trunc"), t.dtype)


BINARY = [
    *(_binary(name, getattr(torch, f)) for name, f in (("cmul", "mul"), ("cmax", "maximum"), ("cmin", "minimum"))),
    *(
        _binary(name, getattr(torch, f))
        for name, f in (("cbitand", "bitwise_and"), ("cbitor", "bitwise_or"), ("cbitxor", "bitwise_xor"))
    ),
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
    Case(
        "cadd",
        lambda d: [Out(), x := d.tensor(), d.value(), d.like(x)],
        lambda x, v, y: torch.add(x, in_shape(x, y), alpha=v),
    ),
    Case(
        "csub",
        lambda d: [Out(), x := d.tensor(), d.value(), d.like(x)],
        lambda x, v, y: torch.sub(x, in_shape(x, y), alpha=v),
    ),
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

    def number(result: torch.dtype | None) -> Callable[[Draw], list[Any]]:
        return lambda d: [Out(result), d.tensor(), d.value()]

    def tensors(result: torch.dtype | None) -> Callable[[Draw], list[Any]]:
        return lambda d: [Out(result), x := d.tensor(), d.like(x)]

    return [
        Case(f"{name}Value", number(torch.uint8), lambda x, y: f(x, y).byte()),
        Case(f"{name}ValueT", number(None), lambda x, y: f(x, y).to(x.dtype)),
        Case(f"{name}Tensor", tensors(torch.uint8), lambda x, y: f(x, in_shape(x, y)).byte()),
        Case(f"{name}TensorT", tensors(None), lambda x, y: f(x, in_shape(x, y)).to(x.dtype)),
    ]


COMPARISONS = [case for name in ("lt", "le", "gt", "ge", "ne", "eq") for case in _comparisons(name)]


POINTWISE = [*UNARY, *NUMBER, *BINARY, *COMPARISONS]
