"""Float's functions in units of the last place, over all exponents, vectorised and not."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.include.functions import ONE, TWO

Compile = Callable[..., ctypes.CDLL]
_BUILDS: dict[str, tuple[str, ...]] = {"native": ("-march=native",)}
if platform.machine() == "x86_64":
    _BUILDS = {"native, libmvec": ("-march=native", "-DOPWRIGHT_LIBMVEC"), "baseline": ("-march=x86-64-v2",)}
_NUMPYS = {"cbrt": np.cbrt}
_ELEMENTARY = [
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin"),
    *("acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sigmoid", "logsigmoid"),
    *("digamma", "erfinv"),
]
_OF_TWO = ["pow", "atan2", "hypot", "fmod", "logaddexp", "xlogy", "copysign"]
_COMPOSITE = [
    *("softplus", "elu", "celu", "selu", "gelu", "gelu_tanh", "silu", "mish", "hardswish", "hardsigmoid", "softsign"),
    *("tanhshrink", "sinc", "deg2rad", "rad2deg", "square", "reciprocal", "lgamma"),
]


@pytest.fixture(scope="module", params=_BUILDS)
def library(request: pytest.FixtureRequest, compile_once: Compile) -> ctypes.CDLL:
    text = "\n".join(
        f'extern "C" void {name}_{ctype}(const {ctype} *x, {ctype} *y, long n) {{\n'
        f"  for (long i = 0; i < n; ++i) y[i] = {name}(x[i]);\n}}"
        for name in [*_ELEMENTARY, *_COMPOSITE]
        for ctype in ("float", "double")
    )
    text += "".join(
        f'extern "C" void {name}_of_two(const float *x, const float *y, float *z, long n) {{\n'
        f"  for (long i = 0; i < n; ++i) z[i] = {name}(x[i], y[i]);\n}}\n"
        for name in _OF_TWO
    )
    flags = ("-O3", "-fno-math-errno", "-fno-trapping-math", *_BUILDS[request.param])
    return compile_once(f"#include <opwright.h>\n{text}", *flags)


def call(library: ctypes.CDLL, name: str, x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    ctype = "float" if x.dtype == torch.float32 else "double"
    library[f"{name}_{ctype}"](ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel()))
    return y


def exact(name: str, x: Tensor) -> Tensor:
    if name in _NUMPYS:
        return torch.from_numpy(_NUMPYS[name](x.double().numpy()))
    return ONE[name].torch(x.double())


def sweep(dtype: torch.dtype) -> Tensor:
    """Bit patterns over the whole range, and more where functions live."""
    special = [0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1, -1, 88.72, 88.73, -87.4, -103.9, -104, 709.78, 709.79]
    generator = torch.Generator().manual_seed(0)
    near = [torch.randn(10_000, generator=generator, dtype=dtype), torch.rand(10_000, generator=generator, dtype=dtype)]
    wide = torch.rand(10_000, generator=generator, dtype=dtype) * 1500 - 750
    if dtype == torch.float32:
        bits = torch.arange(-(2**31), 2**31, 100003).to(torch.int32).view(dtype)
    else:
        bits = (torch.arange(-(2**13), 2**13) * (2**50 - 12345)).view(dtype)
    return torch.cat([torch.tensor(special, dtype=dtype), bits, *near, wide / 7, wide])


def ulps(got: Tensor, expected: Tensor) -> Tensor:
    """The error of finite results; what isn't finite has to be the same."""
    digits, smallest = (24, -148) if got.dtype == torch.float32 else (53, -1073)
    rounded = expected.to(got.dtype)
    _, exponents = torch.frexp(rounded.double())
    unit = torch.ldexp(torch.ones_like(expected), (exponents - digits).clamp(min=smallest - 1))
    error = (got.double() - expected).abs() / unit
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    return torch.where(got.isfinite() & rounded.isfinite(), error, torch.where(same, 0.0, torch.inf))


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", _ELEMENTARY)
def test_elementary_functions(library: ctypes.CDLL, name: str) -> None:
    x = sweep(torch.float32)
    got, expected = call(library, name, x), exact(name, x)
    error = ulps(got, expected)
    worst = int(error.argmax())
    assert error[worst] <= 4, (x[worst], got[worst], expected[worst])
    zeros = (got == 0) & (expected == 0)
    assert torch.equal(got.signbit()[zeros], expected.signbit()[zeros])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "sin", "atan"])
def test_elementary_functions_of_doubles(library: ctypes.CDLL, name: str) -> None:
    """PyTorch's own are within an ulp."""
    x = sweep(torch.float64)
    x = x[~(x.abs() > 1e9)] if name == "sin" else x
    got, expected = call(library, name, x), exact(name, x)
    error = ulps(got, expected)
    worst = int(error.argmax())
    assert error[worst] <= 5, (x[worst], got[worst], expected[worst])


@pytest.mark.slow
@pytest.mark.parametrize("name", _OF_TWO)
def test_functions_of_two(library: ctypes.CDLL, name: str) -> None:
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1, -1, 2, -2, 3, 0.5, 1e-40, 1e30])
    a, b = torch.meshgrid(special, special, indexing="ij")
    x = sweep(torch.float32)
    x = x[~x.isnan()]  # among the patterns there are signalling ones
    y = x.roll(4321) % 9 if name == "pow" else x.roll(4321)
    x, y = torch.cat([a.flatten(), x]), torch.cat([b.flatten(), y])
    z = torch.empty_like(x)
    library[f"{name}_of_two"](*(ctypes.c_void_p(t.data_ptr()) for t in (x, y, z)), ctypes.c_long(x.numel()))
    expected = TWO[name].torch(x.double(), y.double())
    error = ulps(z, expected)
    if name == "logaddexp":  # a sum: exact to the larger part's last place
        error /= torch.stack([x.double(), y.double(), torch.ones_like(expected)]).abs().amax(0) / expected.abs()
    if name == "fmod":  # PyTorch's is NaN where the quotient overflows
        error[(x / y).isinf()] = 0
    worst = int(error.nan_to_num(0, torch.inf).argmax())
    limit = 9 if name == "xlogy" else 4  # a product with a logarithm that is within 4
    assert error[worst] <= limit, (x[worst], y[worst], z[worst], expected[worst])


@pytest.mark.slow
@pytest.mark.parametrize("name", _COMPOSITE)
def test_composites_are_no_worse_than_pytorchs(library: ctypes.CDLL, name: str) -> None:
    """By more than 4 ulp, in any eighth of an octave."""
    x = sweep(torch.float32)
    function, x = ONE[name].torch, x[x.isfinite()]
    expected = function(x.double())
    ours, theirs = (ulps(got, expected).clamp(max=1e9) for got in (call(library, name, x), function(x)))
    bins = (x.view(torch.int32) >> 20).long() + 2048
    worst = torch.zeros(2, 4096, dtype=torch.float64)
    worst[0].scatter_reduce_(0, bins, ours, "amax")
    worst[1].scatter_reduce_(0, bins, theirs, "amax")
    bad = (worst[0] > worst[1] + 4).nonzero().flatten()
    shown = [(x[bins == b][0].item(), *worst[:, b].tolist()) for b in bad[:5].tolist()]
    assert not shown, f"(x near, our ulps, PyTorch's) {shown}"
