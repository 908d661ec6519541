"""Every function of ``opwright/math/math.h``, ``special.h`` and ``activations.h``, beside what PyTorch has for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


class Function(NamedTuple):
    """A function of x, or of x and y.

    Attributes:
        text: C++, for a type T.
        torch: the same in PyTorch.
        at: where to look besides everywhere: kinks and limits.
    """

    text: str
    torch: Callable[..., Tensor]
    at: tuple[float, ...] = ()


def _same(name: str, at: tuple[float, ...] = ()) -> Function:
    return Function(f"{name}(x)", getattr(torch, name, None) or getattr(F, name), at)


ONE: dict[str, Function] = {
    **{name: _same(name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt")},
    **{name: _same(name) for name in ("sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh")},
    **{name: _same(name, (1, -1)) for name in ("asin", "acos", "acosh", "atanh", "erfinv")},
    **{name: _same(name) for name in ("erf", "erfc", "lgamma", "digamma", "sinc", "square", "reciprocal")},
    **{name: _same(name, (0.5, 1.5, 2.5, -0.5, -1.5)) for name in ("floor", "ceil", "trunc", "round", "frac")},
    **{name: _same(name) for name in ("sign", "abs", "deg2rad", "rad2deg", "nan_to_num")},
    **{name: _same(name) for name in ("sigmoid", "logsigmoid", "silu", "mish", "gelu", "softsign", "tanhshrink")},
    **{name: _same(name) for name in ("relu", "leaky_relu", "elu", "celu", "selu")},
    "hardswish": _same("hardswish", (3, -3)),
    "hardsigmoid": Function("hardsigmoid(x)", lambda x: F.relu6(x + 3) / 6, (3, -3)),
    **{name: _same(name, (0.5, -0.5)) for name in ("hardshrink", "softshrink")},
    "relu6": _same("relu6", (6,)),
    "hardtanh": _same("hardtanh", (1, -1)),
    "softplus": _same("softplus", (19.999, 20.001)),
    "fabs": Function("fabs(x)", torch.abs),
    "rint": Function("rint(x)", torch.round, (0.5, 1.5, 2.5)),
    "nearbyint": Function("nearbyint(x)", torch.round, (0.5, 1.5, 2.5)),
    "trigamma": Function("trigamma(x)", lambda x: torch.polygamma(1, x)),
    "cbrt": Function("cbrt(x)", lambda x: x.sign() * x.abs().pow(1 / 3)),
    "gelu_tanh": Function("gelu_tanh(x)", lambda x: F.gelu(x, approximate="tanh")),
    "leaky_relu_slope": Function("leaky_relu(x, 0.3)", lambda x: F.leaky_relu(x, 0.3)),
    "elu_alpha": Function("elu(x, 0.7)", lambda x: F.elu(x, 0.7)),
    "celu_alpha": Function("celu(x, 0.7)", lambda x: F.celu(x, 0.7)),
    "softplus_beta": Function("softplus(x, 2, 7)", lambda x: F.softplus(x, 2, 7), (3.499, 3.501)),
    "hardshrink_lambda": Function("hardshrink(x, 0.25)", lambda x: F.hardshrink(x, 0.25), (0.25, -0.25)),
    "softshrink_lambda": Function("softshrink(x, 0.25)", lambda x: F.softshrink(x, 0.25), (0.25, -0.25)),
    "hardtanh_bounds": Function("hardtanh(x, -0.5, 2)", lambda x: F.hardtanh(x, -0.5, 2), (-0.5, 2)),
    "clamp": Function("clamp(x, -0.5, 2)", lambda x: x.clamp(-0.5, 2), (-0.5, 2)),
    "pow_square": Function("pow(x, 2)", lambda x: x**2),
    "pow_half": Function("pow(x, 0.5)", lambda x: torch.pow(x, torch.full_like(x, 0.5))),
    "pow_cube": Function("pow(x, -3)", lambda x: x**-3),
    "power_of_two": Function("pow(2.0, x)", lambda x: 2.0**x),
    "reflected": Function("1 - 2 / x + (x - 1) * 0.25", lambda x: 1 - 2 / x + (x - 1) * 0.25),
    "polynomial": Function("-x * x * x + x / 3 - +x", lambda x: -x * x * x + x / 3 - +x),
}

TWO: dict[str, Function] = {
    "add": Function("x + y", torch.add),
    "sub": Function("x - y", torch.sub),
    "mul": Function("x * y", torch.mul),
    "div": Function("x / y", torch.div),
    **{
        name: Function(f"{name}(x, y)", getattr(torch, name))
        for name in ("pow", "atan2", "hypot", "fmod", "remainder", "copysign", "fmin", "fmax", "xlogy", "logaddexp")
    },
    "min": Function("min(x, y)", torch.minimum),
    "max": Function("max(x, y)", torch.maximum),
    "xlog1py": Function("xlog1py(x, y)", torch.special.xlog1py),
    "where": Function("where(x > y, x, y * 2)", lambda x, y: torch.where(x > y, x, y * 2)),
    "ternary": Function("x > y ? x : 0.1 * y", lambda x, y: torch.where(x > y, x, 0.1 * y)),
    "clamp_below": Function("clamp(x, y, 2.5)", lambda x, y: torch.clamp(x, y, torch.full_like(x, 2.5))),
    "prelu": Function("leaky_relu(x, y)", lambda x, y: torch.where(x > 0, x, x * y)),
    "lerp": Function("lerp(x, y, 0.3)", lambda x, y: torch.lerp(x, y, 0.3)),
    "fma": Function("fma(x, y, 2)", lambda x, y: torch.addcmul(torch.full_like(x, 2), x, y)),
    "stopped": Function("x * stop_gradient(y * x)", lambda x, y: x * (y * x).detach()),
    "apart": Function("x + sqrt(y)", lambda x, y: x + y.sqrt()),
}


def _kernel(name: str, function: Function, variables: str, ctype: str) -> str:
    """A C function that writes the value, then the first derivatives, then the rows of the second ones."""
    count = len(variables)
    outputs = ["z.value.value", *(f"z.partial[{a}].value" for a in range(count))]
    outputs += [f"z.partial[{a}].partial[{b}]" for a in range(count) for b in range(count)]
    seeds = (f"{v}.value.partial[{i}] = 1; {v}.partial[{i}] = 1;" for i, v in enumerate(variables))
    return f"""
template <class T> T {name}_body({", ".join(f"T {v}" for v in variables)}) {{ return {function.text}; }}
extern "C" __attribute__((flatten)) void {name}_run(const {ctype} *const *in, {ctype} *out, long n) {{
  using T = Dual<Dual<{ctype}, {count}>, {count}>;
  for (long i = 0; i < n; ++i) {{
    {" ".join(f"T {v}(in[{i}][i]);" for i, v in enumerate(variables))}
    {" ".join(seeds)}
    const T z = {name}_body({", ".join(variables)});
    {" ".join(f"out[{i} * n + i] = {each};" for i, each in enumerate(outputs))}
  }}
}}"""


def source(ctype: str) -> str:
    """C++ that has ``<name>_run`` for every function, computed in ``ctype``."""
    kernels = [_kernel(f"one_{name}", each, "x", ctype) for name, each in ONE.items()]
    kernels += [_kernel(f"two_{name}", each, "xy", ctype) for name, each in TWO.items()]
    return "\n".join(["#include <opwright.h>", "#include <opwright/dual.h>", *kernels])


def run(library: ctypes.CDLL, name: str, *inputs: Tensor) -> Tensor:
    """The rows that a kernel of ``source`` writes."""
    count, size = len(inputs), inputs[0].numel()
    out = torch.empty(1 + count + count**2, size, dtype=inputs[0].dtype)
    pointers = (ctypes.c_void_p * count)(*(each.data_ptr() for each in inputs))
    library[f"{name}_run"](pointers, ctypes.c_void_p(out.data_ptr()), ctypes.c_long(size))
    return out


def reference(function: Callable[..., Tensor], *inputs: Tensor, second: bool = True) -> Tensor:
    """The same rows by PyTorch's autograd."""
    leaves = [each.clone().requires_grad_() for each in inputs]
    value = function(*leaves)
    firsts = _gradients(value, leaves)
    seconds = [row for first in firsts for row in _gradients(first, leaves)] if second else []
    return torch.stack([value, *firsts, *seconds]).detach()


def _gradients(value: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    if not value.requires_grad:
        return [torch.zeros_like(each) for each in leaves]
    return list(torch.autograd.grad(value.sum(), leaves, create_graph=True, materialize_grads=True))
