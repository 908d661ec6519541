"""TH's random numbers: those of PyTorch's generators, in the same order where the algorithm is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.legacy.case import FLOATING
from tests.legacy.th import DTYPES, TH, Held, THError, th

# fills a tensor: arguments after the generator, and PyTorch's function
FILLS: dict[str, tuple[tuple[Any, ...], Callable[[Tensor, torch.Generator], Tensor]]] = {
    "random": ((), lambda x, g: x.random_(generator=g)),
    "clampedRandom": ((3, 90), lambda x, g: x.random_(3, 90, generator=g)),
    "cappedRandom": ((50,), lambda x, g: x.random_(0, 50, generator=g)),
    "geometric": ((0.25,), lambda x, g: x.geometric_(0.75, generator=g)),
    "bernoulli": ((0.25,), lambda x, g: x.bernoulli_(0.25, generator=g)),
}
FLOATING_FILLS: dict[str, tuple[tuple[Any, ...], Callable[[Tensor, torch.Generator], Tensor]]] = {
    "uniform": ((-1.0, 3.0), lambda x, g: x.uniform_(-1, 3, generator=g)),
    "normal": ((1.0, 2.0), lambda x, g: x.normal_(1, 2, generator=g)),
    "exponential": ((2.0,), lambda x, g: x.exponential_(2, generator=g)),
    "cauchy": ((1.0, 0.5), lambda x, g: x.cauchy_(1, 0.5, generator=g)),
    "logNormal": ((0.5, 0.25), lambda x, g: x.log_normal_(0.5, 0.25, generator=g)),
}
FUNCTIONS = {
    *(*FILLS, *FLOATING_FILLS, "randperm", "rand", "randn", "dirichlet_grad", "getRNGState", "setRNGState"),
    *("bernoulli_FloatTensor", "bernoulli_DoubleTensor", "bernoulli_Tensor", "normal_means", "normal_stddevs"),
    *(
        "normal_means_stddevs",
        "standard_gamma",
        "poisson",
        "multinomial",
        "multinomialAliasSetup",
        "multinomialAliasDraw",
    ),
}
DTYPE = pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.values())
FLOAT = pytest.mark.parametrize("dtype", FLOATING, ids=str)
SEED = 12345


@pytest.fixture(scope="module")
def lib() -> TH:
    return th()


@pytest.fixture
def generator(lib: TH) -> Any:
    made = lib.call("THGenerator_new")
    lib.call("THRandom_manualSeed", made, SEED)
    yield made
    lib.call("THGenerator_free", made)


def twin() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


def held(lib: TH, dtype: torch.dtype, *shape: int) -> Held:
    return lib.tensor(torch.zeros(shape, dtype=dtype))


def call(lib: TH, tensor: Held, name: str, *arguments: Any) -> None:
    lib.call(f"{tensor.name}_{name}", tensor, *arguments)


@DTYPE
@pytest.mark.parametrize("name", FILLS)
def test_fills(lib: TH, generator: Any, dtype: torch.dtype, name: str) -> None:
    arguments, f = FILLS[name]
    tensor = held(lib, dtype, 5, 7)
    call(lib, tensor, name, generator, *arguments)
    assert torch.equal(tensor.value(), f(torch.zeros(5, 7, dtype=dtype), twin()))


@FLOAT
@pytest.mark.parametrize("name", FLOATING_FILLS)
def test_floating_fills(lib: TH, generator: Any, dtype: torch.dtype, name: str) -> None:
    arguments, f = FLOATING_FILLS[name]
    tensor = lib.tensor(torch.zeros(9, 5, dtype=dtype).t())
    call(lib, tensor, name, generator, *arguments)
    assert torch.equal(tensor.value(), f(torch.zeros(9, 5, dtype=dtype).t(), twin()))


@FLOAT
def test_the_default_generator_is_pytorchs(lib: TH, dtype: torch.dtype) -> None:
    tensor = held(lib, dtype, 20)
    torch.manual_seed(3)
    call(lib, tensor, "uniform", None, 0.0, 1.0)
    after = torch.rand(3)
    torch.manual_seed(3)
    assert torch.equal(tensor.value(), torch.rand(20, dtype=dtype))
    assert torch.equal(after, torch.rand(3))
    assert lib.call("THRandom_initialSeed", None) == 3


@DTYPE
def test_permutations(lib: TH, generator: Any, dtype: torch.dtype) -> None:
    tensor = Held(lib, None, dtype=dtype)
    call(lib, tensor, "randperm", generator, 20)
    assert torch.equal(tensor.value(), torch.randperm(20, generator=twin(), dtype=dtype))


@FLOAT
def test_made_anew(lib: TH, generator: Any, dtype: torch.dtype) -> None:
    tensor = held(lib, dtype, 2)
    call(lib, tensor, "rand", generator, lib.sizes((4, 5)))
    assert torch.equal(tensor.value(), torch.rand(4, 5, generator=twin(), dtype=dtype))
    lib.call("THRandom_manualSeed", generator, SEED)
    call(lib, tensor, "randn", generator, lib.sizes((20,)))
    assert torch.equal(tensor.value(), torch.randn(20, generator=twin(), dtype=dtype))


@DTYPE
@pytest.mark.parametrize("kind", FLOATING, ids=str)
def test_a_probability_for_each(lib: TH, generator: Any, dtype: torch.dtype, kind: torch.dtype) -> None:
    tensor, p = held(lib, dtype, 4, 6), torch.rand(24, generator=twin(), dtype=kind)
    call(lib, tensor, f"bernoulli_{DTYPES[kind]}Tensor", generator, lib.tensor(p))
    expected = torch.zeros(4, 6, dtype=dtype).bernoulli_(p.reshape(4, 6), generator=twin())
    assert torch.equal(tensor.value(), expected)


@FLOAT
def test_a_parameter_for_each(lib: TH, generator: Any, dtype: torch.dtype) -> None:
    a = torch.rand(4, 6, generator=twin(), dtype=dtype) + 0.5
    b = a.flatten().flip(0)
    cases: list[tuple[str, tuple[Any, ...], Callable[[torch.Generator], Tensor]]] = [
        ("bernoulli_Tensor", (a / 2,), lambda g: torch.zeros_like(a).bernoulli_(a / 2, generator=g)),
        ("normal_means", (a, 2.0), lambda g: torch.normal(a, 2.0, generator=g)),
        ("normal_stddevs", (1.0, a), lambda g: torch.normal(1.0, a, generator=g)),
        ("normal_means_stddevs", (a, b), lambda g: torch.normal(a, b.reshape(4, 6), generator=g)),
        ("standard_gamma", (a,), lambda g: torch._standard_gamma(a, generator=g)),
        ("poisson", (a * 4,), lambda g: torch.poisson(a * 4, generator=g)),
    ]
    for name, arguments, expected in cases:
        tensor = held(lib, dtype, 4, 6)
        lib.call("THRandom_manualSeed", generator, SEED)
        call(
            lib,
            tensor,
            name,
            generator,
            *(lib.tensor(each) if isinstance(each, Tensor) else each for each in arguments),
        )
        assert torch.equal(tensor.value(), expected(twin())), name


@FLOAT
@pytest.mark.parametrize("replacement", [0, 1])
def test_samples(lib: TH, generator: Any, dtype: torch.dtype, replacement: int) -> None:
    weights = torch.rand(3, 6, generator=twin(), dtype=dtype)
    tensor = Held(lib, None, dtype=torch.int64)
    lib.call(f"TH{DTYPES[dtype]}Tensor_multinomial", tensor, generator, lib.tensor(weights), 4, replacement)
    assert torch.equal(tensor.value(), torch.multinomial(weights, 4, bool(replacement), generator=twin()))


@FLOAT
def test_the_alias_method(lib: TH, generator: Any, dtype: torch.dtype) -> None:
    weights = torch.tensor([1.0, 0.0, 3.0, 4.0, 8.0], dtype=dtype)
    aliases, q, drawn = (
        Held(lib, None, dtype=torch.int64),
        Held(lib, None, dtype=dtype),
        held(lib, torch.int64, 200, 100),
    )
    name = f"TH{DTYPES[dtype]}Tensor_multinomialAlias"
    lib.call(f"{name}Setup", lib.tensor(weights), aliases, q)
    share = q.value() / 5
    exact = share.index_add(0, aliases.value(), (1 - q.value()) / 5)
    torch.testing.assert_close(exact, weights / 16)
    lib.call(f"{name}Draw", drawn, generator, aliases, q)
    counts = torch.bincount(drawn.value().flatten(), minlength=5).double() / 20000
    torch.testing.assert_close(counts, weights.double() / 16, rtol=0, atol=0.015)


@FLOAT
def test_the_gradient_of_dirichlet(lib: TH, dtype: torch.dtype) -> None:
    x = torch.tensor([[0.2, 0.3, 0.5]], dtype=dtype)
    alpha, total = torch.tensor([[1.5, 0.5, 2.0]], dtype=dtype), torch.full((1, 3), 4.0, dtype=dtype)
    tensor = Held(lib, None, dtype=dtype)
    call(lib, tensor, "dirichlet_grad", lib.tensor(x), lib.tensor(alpha), lib.tensor(total))
    assert torch.equal(tensor.value(), torch._dirichlet_grad(x, alpha, total))


def test_the_state(lib: TH, generator: Any) -> None:
    state = Held(lib, None, dtype=torch.uint8)
    lib.call("THByteTensor_getRNGState", generator, state)
    assert torch.equal(state.value(), twin().get_state())
    first = [lib.call("THRandom_random", generator) for _ in range(5)]
    lib.call("THByteTensor_setRNGState", generator, state)
    assert [lib.call("THRandom_random", generator) for _ in range(5)] == first
    with pytest.raises(THError):
        lib.call("THByteTensor_setRNGState", generator, held(lib, torch.uint8, 3))


# THRandom: one number at a time
def test_generators(lib: TH, generator: Any) -> None:
    assert lib.call("THGenerator_isValid", generator) == 1
    assert lib.call("THRandom_initialSeed", generator) == SEED
    other = lib.call("THGenerator_new")
    lib.call("THGenerator_copy", other, generator)
    for name in ("random", "random64"):
        assert [lib.call(f"THRandom_{name}", other) for _ in range(9)] == [
            lib.call(f"THRandom_{name}", generator) for _ in range(9)
        ]
    seeds = {lib.call("THRandom_seed", other), lib.call("THRandom_seed", generator)}
    assert len(seeds) == 2
    assert lib.call("THRandom_initialSeed", generator) in seeds
    lib.call("THGenerator_free", other)
    lib.call("THGenerator_free", None)


def test_bits_are_pytorchs(lib: TH, generator: Any) -> None:
    state = torch.Generator().manual_seed(SEED)
    assert lib.call("THRandom_random", generator) < 2**32
    lib.call("THRandom_manualSeed", generator, SEED)
    expected = torch.rand(4, generator=state, dtype=torch.float64)
    assert [lib.call("THRandom_uniform", generator, 0.0, 1.0) for _ in range(4)] == expected.tolist()


# arguments, mean and standard deviation
MOMENTS: dict[str, tuple[tuple[float, ...], float, float]] = {
    "uniform": ((-1.0, 3.0), 1.0, 4 / 12**0.5),
    "uniformFloat": ((-1.0, 3.0), 1.0, 4 / 12**0.5),
    "normal": ((1.0, 2.0), 1.0, 2.0),
    "exponential": ((2.0,), 0.5, 0.5),
    "standard_gamma": ((3.0,), 3.0, 3.0**0.5),
    "logNormal": ((0.0, 0.5), 1.1331484530668263, 0.6039005332108811),
    "poisson": ((4.0,), 4.0, 2.0),
    "geometric": ((0.75,), 4.0, 12**0.5),
    "bernoulli": ((0.25,), 0.25, 0.1875**0.5),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(lib: TH, generator: Any, name: str) -> None:
    arguments, mean, deviation = MOMENTS[name]
    drawn = torch.tensor(
        [float(lib.call(f"THRandom_{name}", generator, *arguments)) for _ in range(4000)], dtype=torch.float64
    )
    assert abs(drawn.mean().item() - mean) < 4 * deviation / 4000**0.5
    assert abs(drawn.std().item() / deviation - 1) < 0.12


def test_the_median_of_cauchy(lib: TH, generator: Any) -> None:
    drawn = torch.tensor([lib.call("THRandom_cauchy", generator, 2.0, 0.5) for _ in range(4001)], dtype=torch.float64)
    assert abs(drawn.median().item() - 2) < 0.06
    assert abs((drawn - 2).abs().median().item() - 0.5) < 0.06


BAD: list[tuple[str, tuple[Any, ...], str]] = [
    ("THRandom_normal", (0.0, -1.0), "invalid argument 2: standard deviation must be strictly positive"),
    ("THRandom_exponential", (0.0,), "invalid argument 2: must be > 0"),
    ("THRandom_cauchy", (0.0, 0.0), "invalid argument 3: must be > 0"),
    ("THRandom_logNormal", (0.0, 0.0), "invalid argument 2: standard deviation must be strictly positive"),
    ("THRandom_standard_gamma", (0.0,), "invalid argument 2: must be > 0"),
    ("THRandom_poisson", (-1.0,), "invalid argument 2: must be >= 0"),
    ("THRandom_geometric", (1.0,), "invalid argument 1: must be > 0 and < 1"),
    ("THRandom_bernoulli", (1.5,), "invalid argument 1: must be >= 0 and <= 1"),
]


@pytest.mark.parametrize(("name", "arguments", "text"), BAD)
def test_bad_parameters(lib: TH, generator: Any, name: str, arguments: tuple[Any, ...], text: str) -> None:
    with pytest.raises(THError, match=text):
        lib.call(name, generator, *arguments)


BAD_FILLS: list[tuple[str, tuple[Any, ...]]] = [
    ("geometric", (0.0,)),
    ("bernoulli", (-0.1,)),
    ("clampedRandom", (5, 5)),
    ("cappedRandom", (0,)),
    ("uniform", (2.0, 1.0)),
    ("normal", (0.0, -1.0)),
    ("exponential", (-1.0,)),
    ("logNormal", (0.0, -1.0)),
    ("cauchy", (0.0, -1.0)),
]


@FLOAT
@pytest.mark.parametrize(("name", "arguments"), BAD_FILLS)
def test_bad_fills(lib: TH, generator: Any, dtype: torch.dtype, name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(THError):
        call(lib, held(lib, dtype, 4), name, generator, *arguments)


@FLOAT
def test_bad_weights(lib: TH, generator: Any, dtype: torch.dtype) -> None:
    name, out = f"TH{DTYPES[dtype]}Tensor_multinomial", Held(lib, None, dtype=torch.int64)
    q = Held(lib, None, dtype=dtype)
    for weights, count in (
        (torch.zeros(3), 1),
        (torch.tensor([1.0, -1.0]), 1),
        (torch.ones(3), 4),
        (torch.ones(2, 2, 2), 1),
    ):
        with pytest.raises(THError):
            lib.call(name, out, generator, lib.tensor(weights.to(dtype)), count, 0)
    for weights in (torch.zeros(3), torch.tensor([1.0, -1.0]), torch.zeros(0), torch.tensor([float("nan")])):
        with pytest.raises(THError):
            lib.call(f"{name}AliasSetup", lib.tensor(weights.to(dtype)), out, q)
    with pytest.raises(THError):
        lib.call(f"{name}AliasDraw", out, generator, out, q)
